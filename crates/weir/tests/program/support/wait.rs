//! Waiting: for events, with a guard against hanging that no machine is slow enough to meet.

use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Whatever takes longer than this hangs.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Lets `span` pass: for servers whose slowness is what a test is about, never to wait for
/// something.
pub(crate) fn let_pass(span: Duration) {
    // Nobody ever sends, so only the time ends it.
    let (_sender, receiver) = mpsc::channel::<()>();
    let _timeout = receiver.recv_timeout(span);
}

/// Looks again and again whether something outside this process has come to be, which nothing
/// announces.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(GUARD, look).unwrap_or_else(|| panic!("in vain for {GUARD:?}: {what}"))
}

/// The same, for at most `span`.
pub(crate) fn within<T>(span: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    while started.elapsed() < span {
        if let Some(found) = look() {
            return Some(found);
        }
        let_pass(Duration::from_millis(1));
    }
    None
}
