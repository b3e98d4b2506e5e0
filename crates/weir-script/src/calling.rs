//! The current script call, readable from another thread. This module does not read a clock: a
//! watchdog polls it and measures how long the same call lasts.

use std::sync::{Mutex, PoisonError};

/// The current call of the file, `setup`, `init`, `teardown` or `done`. Callbacks that run during
/// the load are not recorded here.
#[derive(Debug, Default)]
pub struct Calling(Mutex<Call>);

/// One script call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Sequence number.
    pub number: u64,
    /// The callback as [`ScriptError`](crate::ScriptError) names it; none between two calls.
    pub callback: Option<&'static str>,
}

impl Calling {
    /// Returns the current call.
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
