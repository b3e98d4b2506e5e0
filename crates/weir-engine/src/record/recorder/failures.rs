//! Times of the slots that did not end as `ok`, by class.

use weir_result::{ByOutcome, Histogram, Tally};

/// Times of the slots that did not end `ok`.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) bad: Tally,
    pub(super) failed_at: Tally,
    pub(super) censored: Tally,
}

impl Failures {
    /// Returns the times, without those of `ok` slots.
    pub(super) fn finish(&self) -> ByOutcome {
        ByOutcome {
            ok: Histogram::new(),
            bad: Histogram::from(&self.bad),
            failed_at: Histogram::from(&self.failed_at),
            censored: Histogram::from(&self.censored),
        }
    }
}
