//! Readings of one source over time: values, failures, and the first error.

use std::fmt::Display;
use std::time::Instant;

use anyhow::{Result, bail};
use weir_io::{Clock, Nanos};
use weir_result::document::Polls;

/// Maximum readings that are kept: more than a day of one per second.
const KEPT_MAX: usize = 100_000;

/// Readings of a source.
#[derive(Debug, Default)]
pub(super) struct Readings<T> {
    pub(super) polls: Polls,
    pub(super) values: Vec<(Nanos, T)>,
    /// The last reading, if it did not fail.
    pub(super) last: Option<T>,
    /// End of the last reading.
    pub(super) ended_at: Option<Instant>,
}

impl<T: Clone + Default> Readings<T> {
    /// Reads for the first time, and forgets an earlier attempt.
    ///
    /// # Errors
    /// When that fails; the message names the `source` and the `remedy`.
    pub(super) fn begin(
        &mut self,
        clock: Clock,
        source: impl Display,
        remedy: &str,
        read: impl FnOnce() -> Result<T, String>,
    ) -> Result<()> {
        *self = Readings::default();
        self.record(clock, read);
        let error = self.polls.error.take();
        error.map_or(Ok(()), |error| bail!("{source}: {error}; {remedy}"))
    }

    /// Reads, and records the reading at the time at which it began.
    pub(super) fn record(&mut self, clock: Clock, read: impl FnOnce() -> Result<T, String>) {
        let at = clock.now();
        let reading = read();
        self.ended_at = Some(Instant::now());
        self.polls.begun += 1;
        self.last = reading.as_ref().ok().cloned();
        match reading {
            Ok(value) if self.values.len() < KEPT_MAX => self.values.push((at, value)),
            Ok(_) => {}
            Err(error) => {
                self.polls.failed += 1;
                self.polls.error.get_or_insert(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_and_the_first_error_is_kept() {
        let mut readings = Readings::default();
        let clock = Clock::start();
        for reading in [Ok(1), Err("one".to_owned()), Ok(2), Err("two".to_owned())] {
            readings.record(clock, || reading);
        }
        let expected = Polls { begun: 4, failed: 2, error: Some("one".to_owned()) };
        assert_eq!(readings.polls, expected);
        let values: Vec<i32> = readings.values.iter().map(|(_, value)| *value).collect();
        assert_eq!((values, readings.last), (vec![1, 2], None));
        assert!(readings.values.is_sorted_by_key(|(at, _)| *at));
    }
}
