//! A time by outcome: four histograms, since a failure's time is only a bound.

use crate::rules::{self, Merge};
use weir_stats::histogram::Histogram;

merged! {
    /// Distribution of one time over slots, by outcome.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ByOutcome {
        /// `ok` slots, exact.
        pub ok: Histogram => rules::merge,
        /// `bad_response` slots, exact.
        pub bad: Histogram => rules::merge,
        /// `transport_error` slots: their age at the failure.
        pub failed_at: Histogram => rules::merge,
        /// `timed_out`, `in_flight_at_end` and `never_sent` slots: their age, a lower bound.
        pub censored: Histogram => rules::merge,
    }
}

impl ByOutcome {
    /// Returns the histogram of each class: `ok`, `bad`, `failed_at`, `censored`.
    pub fn by_class(&self) -> [&Histogram; 4] {
        [&self.ok, &self.bad, &self.failed_at, &self.censored]
    }

    /// Adds another distribution, class by class.
    pub fn add(&mut self, other: &ByOutcome) {
        self.merge(other);
    }
}
