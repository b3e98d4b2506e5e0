//! The call of the script that is under way, for another thread to see. It knows no time: whoever
//! looks twice and sees the same call knows how long it has lasted.

use std::sync::{Mutex, PoisonError};

/// The call under way in the thread that sets up and sums up; not those made while the load runs.
#[derive(Debug, Default)]
pub struct Calling(Mutex<Call>);

/// A call of a callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Calls until this one.
    pub number: u64,
    /// The callback, named as in [`ScriptError`](crate::ScriptError); none between two calls.
    pub callback: Option<&'static str>,
}

impl Calling {
    /// The call now.
    pub fn now(&self) -> Call {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, callback: &'static str) {
        let mut call = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *call = Call { number: call.number + 1, callback: Some(callback) };
    }

    pub(crate) fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).callback = None;
    }
}
