//! Threads that run beside the load: their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_io::{Clock, Nanos};

use crate::errors::NoThread;

/// A thread that ends once it is dropped, or finished.
#[derive(Debug)]
pub(crate) struct Beside<T> {
    thread: Option<JoinHandle<T>>,
    end: End,
}

/// The end of a thread's work. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl<T: Send + 'static> Beside<T> {
    /// Starts a thread with this name, which looks at its end.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(End) -> T + Send + 'static,
    ) -> Result<Beside<T>, NoThread> {
        let end = End::default();
        let its_end = end.clone();
        let builder = thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || work(its_end)).map_err(NoThread)?;
        Ok(Beside { thread: Some(thread), end })
    }

    /// Ends the thread and returns its result; `None` if it panicked.
    pub(crate) fn finish(mut self) -> Option<T> {
        self.stop();
        self.thread.take()?.join().ok()
    }
}

impl<T> Beside<T> {
    fn stop(&self) {
        self.end.0.store(true, Ordering::Release);
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl End {
    /// True if the thread should end.
    pub(crate) fn has_come(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Lets the calling thread sleep until `due_at`, or until its end has come.
    pub(crate) fn sleep_until(&self, clock: Clock, due_at: Nanos) {
        loop {
            let left_ns = due_at.since(clock.now());
            if left_ns == 0 || self.has_come() {
                return;
            }
            thread::park_timeout(Duration::from_nanos(left_ns));
        }
    }
}
