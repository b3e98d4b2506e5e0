//! Waker: ends the sleep of a backend from another thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// A handle that ends the sleep of every backend created with it.
///
/// Backends watch the eventfd edge-triggered and never read it, so that one waker can serve many of
/// them: a read would consume the wake of the others.
#[derive(Clone, Debug)]
pub struct Waker {
    eventfd: Arc<File>,
}

impl Waker {
    /// Creates a waker that has not been used yet.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: eventfd takes no pointers; a non-negative result is a new descriptor.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created `fd`, and nothing else holds it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Waker { eventfd: Arc::new(File::from(fd)) })
    }

    /// Ends every sleeping `wait`, and the next `wait` of each backend that is not sleeping.
    pub fn wake(&self) {
        // The write only fails if the counter is full, after 2^64 - 2 wakes.
        let _ = (&*self.eventfd).write(&1u64.to_ne_bytes());
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.eventfd.as_raw_fd()
    }
}
