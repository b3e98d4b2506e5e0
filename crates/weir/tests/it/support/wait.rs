//! Waiting for events, with a timeout against hanging that no machine is slow enough to reach.

use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Timeout after which a wait counts as hanging.
pub(crate) const GUARD: Duration = Duration::from_mins(5);

/// Lets `span` pass: for servers that must be slow, never to wait for an event.
pub(crate) fn let_pass(span: Duration) {
    // The channel stays empty, so only the timeout ends the wait.
    let (_sender, receiver) = mpsc::channel::<()>();
    let _timeout = receiver.recv_timeout(span);
}

/// Polls `look` until it returns a value: for changes outside this process that cause no event.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(GUARD, look).unwrap_or_else(|| panic!("in vain for {GUARD:?}: {what}"))
}

/// Polls `look` for at most `span`; `None` if it returned no value.
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
