//! The limits of a wait beside the load: its time, and a signal of the user. Waits look at both at
//! least every 50 ms. Nothing here waits by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_text::units;

/// Longest time between two looks at the limits.
const SLICE: Duration = Duration::from_millis(50);

/// A user's wish that waits end. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hurry(Arc<AtomicBool>);

impl Hurry {
    /// Sets it, and returns true if it was set before.
    pub(crate) fn set(&self) -> bool {
        self.0.swap(true, Ordering::AcqRel)
    }

    /// Resets it: what comes next may wait again.
    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The limits of one wait.
#[derive(Clone, Debug)]
pub struct Patience {
    until: Instant,
    /// The time as it is written.
    limit: Duration,
    hurry: Hurry,
}

/// The limit that a wait has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Over {
    /// This time has passed.
    #[error("it took longer than {}", text_of(*.0))]
    Late(Duration),
    /// A signal came.
    #[error("a signal ended the wait")]
    Signal,
}

impl Patience {
    /// Returns the patience for a wait of `limit`.
    pub(crate) fn new(limit: Duration, hurry: &Hurry) -> Patience {
        Patience { until: Instant::now() + limit, limit, hurry: hurry.clone() }
    }

    /// Sets the latest end.
    pub(crate) fn capped(mut self, until: Option<Instant>) -> Patience {
        self.until = until.map_or(self.until, |until| self.until.min(until));
        self
    }

    /// Returns the time left, at least a millisecond.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn left(&self) -> Result<Duration, Over> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.hurry.is_set() {
            true => Err(Over::Signal),
            false if left.is_zero() => Err(Over::Late(self.limit)),
            // A timeout of zero is none for a socket.
            false => Ok(left.max(Duration::from_millis(1))),
        }
    }

    /// Returns the time until the next look at the limits.
    ///
    /// # Errors
    /// When a limit is reached.
    pub fn slice(&self) -> Result<Duration, Over> {
        self.left().map(|left| left.min(SLICE))
    }
}

/// Formats a limit: `2 s`.
pub(crate) fn text_of(limit: Duration) -> String {
    units::exact_duration(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_two_limits() {
        let hurry = Hurry::default();
        let patience = Patience::new(Duration::from_secs(90), &hurry);
        assert_eq!(patience.slice(), Ok(SLICE));
        assert!(patience.left().is_ok_and(|left| left > SLICE));
        assert_eq!((hurry.set(), hurry.set()), (false, true));
        assert_eq!(patience.slice(), Err(Over::Signal));
        hurry.reset();
        let capped = patience.capped(Some(Instant::now()));
        let over = capped.slice().expect_err("no time is left");
        assert_eq!(over.to_string(), "it took longer than 90 s");
    }
}
