//! Waker: ends the sleep of a backend from another thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_machine::sys::check;

/// A handle that ends the sleep of every backend created with it.
///
/// Backends watch the eventfd edge-triggered and never read it, so that one waker can serve many of
/// them: a read would consume the wake of the others. A backend that watches no descriptors polls
/// [`wakes`](Waker::wakes) instead.
#[derive(Clone, Debug)]
pub struct Waker {
    shared: Arc<WakerState>,
}

#[derive(Debug)]
struct WakerState {
    eventfd: File,
    wakes: AtomicU64,
}

impl Waker {
    /// Creates a waker that has not been used yet.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: eventfd takes no pointers.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the kernel has just created `fd`, and nothing else holds it.
        let eventfd = unsafe { File::from_raw_fd(fd) };
        let shared = WakerState { eventfd, wakes: AtomicU64::new(0) };
        Ok(Waker { shared: Arc::new(shared) })
    }

    /// Ends every sleeping `wait`, and the next `wait` of each backend that is not sleeping.
    pub fn wake(&self) {
        self.shared.wakes.fetch_add(1, Ordering::Release);
        // The write only fails if the counter is full, after 2^64 - 2 wakes.
        let _ = (&self.shared.eventfd).write(&1u64.to_ne_bytes());
    }

    /// Returns the number of wakes so far.
    pub fn wakes(&self) -> u64 {
        self.shared.wakes.load(Ordering::Acquire)
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.shared.eventfd.as_raw_fd()
    }
}
