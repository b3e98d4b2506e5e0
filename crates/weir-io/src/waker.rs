//! Ends the sleep of a backend from another thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Ends the sleep of every backend that was made with it.
///
/// Backends watch the eventfd inside for edges and never read it, so that one waker may serve many
/// of them: reading would take the wake away from the others.
#[derive(Clone, Debug)]
pub struct Waker {
    eventfd: Arc<File>,
}

impl Waker {
    /// A waker that has not woken anybody yet.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: eventfd takes no pointers; a non-negative result is a new descriptor.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made `fd` for us, and nothing else holds it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Waker { eventfd: Arc::new(File::from(fd)) })
    }

    /// Makes every `wait` that sleeps return, and the next one of every backend that does not.
    pub fn wake(&self) {
        // It can only fail when the counter is full, after 2^64 - 2 wakes.
        let _ = (&*self.eventfd).write(&1u64.to_ne_bytes());
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.eventfd.as_raw_fd()
    }
}
