//! Percentiles over slots with failures, which count as slower than any response (METHOD 1.6): a
//! rank among the responses has a value, a rank beyond them a lower bound.
//!
//! Two columns come from one [`ByOutcome`]: its `ok` histogram alone, and [`AllOutcomes`], in which
//! every failure counts as slower than any response.

pub use weir_stats::{count_needed, has_beyond, is_supported, least_count, rank_of};

pub use crate::bound::Bound;
use crate::counters::ByOutcome;
use weir_stats::histogram::{Histogram, lowest_in};

/// Percentiles that a document lists, in percent, as far as there are enough samples.
pub const PERCENTILES: [f64; 13] =
    [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999, 99.9999, 100.0];

/// The bucket of failures, which is behind those of all times.
pub(crate) const BEYOND: usize = usize::MAX;

/// Value of a certain rank, or a bound of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Value in nanoseconds.
    pub ns: u64,
    /// Relation of `ns` to the true value: the value itself or a lower bound of it.
    pub bound: Bound,
}

/// All slots of a [`ByOutcome`] as one distribution, with failures slower than every response.
pub struct AllOutcomes<'h> {
    ok: &'h Histogram,
    failures: Vec<&'h Histogram>,
    /// All classes together, failures at the age that they reached.
    merged: Histogram,
}

impl<'h> AllOutcomes<'h> {
    /// Combines all classes of these histograms.
    pub fn of(by_outcome: &'h ByOutcome) -> AllOutcomes<'h> {
        let [ok, failures @ ..] = by_outcome.by_class();
        let mut all = AllOutcomes { failures: failures.into(), ..AllOutcomes::of_ok(ok) };
        failures.iter().for_each(|class| all.merged.add(class));
        all
    }

    /// Takes `ok` slots alone, as if there were no others.
    pub fn of_ok(ok: &'h Histogram) -> AllOutcomes<'h> {
        AllOutcomes { ok, failures: Vec::new(), merged: ok.clone() }
    }

    /// Returns the number of slots over all classes.
    pub fn count(&self) -> u64 {
        self.merged.count()
    }

    /// Returns the value of the given rank (1 is the least), every failure at infinity. A rank that
    /// falls on a failure has a lower bound. `None` if there are no slots.
    pub fn value_at_rank(&self, rank: u64) -> Option<Quantile> {
        match self.falls_on_failure(rank) {
            false => self.ok.value_at_rank(rank).map(|ns| Quantile { ns, bound: Bound::Exact }),
            true => self.least_at_rank(rank).map(|ns| Quantile { ns, bound: Bound::Lower }),
        }
    }

    /// Returns a lower bound of the value of the given rank: of a response the lower edge of its
    /// bucket, of a failure the greatest response or the value with all failures at their age.
    pub(crate) fn least_at_rank(&self, rank: u64) -> Option<u64> {
        if !self.falls_on_failure(rank) {
            let bucket = self.ok.bucket_at_rank(rank)?;
            return Some(self.ok.exact().min_ns.max(lowest_in(bucket)));
        }
        let bucket = self.merged.bucket_at_rank(rank)?;
        let slowest_ns = if self.ok.is_empty() { 0 } else { self.ok.exact().max_ns };
        Some(self.least_in(bucket).max(slowest_ns))
    }

    /// True if the given rank is beyond the responses.
    fn falls_on_failure(&self, rank: u64) -> bool {
        rank > self.ok.count()
    }

    /// Returns the bucket of percentile `p`; [`BEYOND`] if it falls on a failure.
    pub(crate) fn bucket_of_percentile(&self, p: f64) -> Option<usize> {
        let rank = rank_of(p, self.count());
        match self.falls_on_failure(rank) {
            true => (self.count() > 0).then_some(BEYOND),
            false => self.ok.bucket_at_rank(rank),
        }
    }

    /// Returns the value of percentile `p`.
    pub fn percentile(&self, p: f64) -> Option<Quantile> {
        self.value_at_rank(rank_of(p, self.count()))
    }

    /// Returns the greatest value: a lower bound if there is any failure.
    pub fn max(&self) -> Option<Quantile> {
        let is_known = self.count() == self.ok.count();
        let bound = if is_known { Bound::Exact } else { Bound::Lower };
        (self.count() > 0).then_some(Quantile { ns: self.merged.exact().max_ns, bound })
    }

    /// Returns the least value that a slot in this bucket can have: the bucket's lower edge, or the
    /// least exact minimum of the classes in it if that is greater. A timeout of 2 s thus reads as
    /// at least 2 s, not as the edge a little below.
    fn least_in(&self, bucket: usize) -> u64 {
        std::iter::once(&self.ok)
            .chain(&self.failures)
            .filter(|class| class.has(bucket))
            .map(|class| class.exact().min_ns.max(lowest_in(bucket)))
            .min()
            .unwrap_or(lowest_in(bucket))
    }
}

impl ByOutcome {
    /// True if there are slots of a class other than `ok`.
    pub fn has_failures(&self) -> bool {
        !(self.bad.is_empty() && self.failed_at.is_empty() && self.censored.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn ranks_round_up() {
        for (p, count, rank) in [
            (50.0, 1000, 500),
            (99.9, 1000, 999),
            (99.9, 1001, 1000),
            (99.99, 10_000, 9_999),
            (100.0, 7, 7),
            (0.0, 7, 1),
            (50.0, 1, 1),
            (50.0, 3, 2),
            (99.9999, 1_000_000, 999_999),
        ] {
            assert_eq!(rank_of(p, count), rank, "p{p} of {count}");
        }
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        for (p, least) in
            [(50.0, 20), (90.0, 100), (99.0, 1_000), (99.9, 10_000), (99.99, 100_000), (100.0, 1)]
        {
            assert_eq!(count_needed(p), least);
            assert!(is_supported(p, least) && !is_supported(p, least - 1), "p{p}");
        }
    }

    #[test]
    fn without_failures_all_is_ok() {
        let by = ByOutcome { ok: histogram(1..=1000), ..ByOutcome::default() };
        let all = AllOutcomes::of(&by);
        assert_eq!(all.percentile(99.0), Some(Quantile { ns: 990, bound: Bound::Exact }));
        assert_eq!(all.max(), Some(Quantile { ns: 1000, bound: Bound::Exact }));
    }

    #[test]
    fn a_percentile_that_falls_on_a_timeout_is_a_bound() {
        // 98 responses of 1..=98 ns and two timeouts, at 2 s and a little more.
        let by = ByOutcome {
            ok: histogram(1..=98),
            censored: histogram([2_000_000_300, 2_000_000_900]),
            ..ByOutcome::default()
        };
        let all = AllOutcomes::of(&by);
        assert_eq!(all.percentile(98.0), Some(Quantile { ns: 98, bound: Bound::Exact }));
        // The bucket begins at 1,999,634,432; the exact least timeout is a better bound.
        let bound = Quantile { ns: 2_000_000_300, bound: Bound::Lower };
        assert_eq!(all.percentile(99.0), Some(bound));
        assert_eq!(all.max(), Some(Quantile { ns: 2_000_000_900, bound: Bound::Lower }));
    }

    #[test]
    fn a_fast_failure_is_slower_than_any_response() {
        // Ranks by age: 5 (failed), 10, 20, 30. With the failure at infinity: 10, 20, 30, ∞.
        let by = ByOutcome {
            ok: histogram([10, 20, 30]),
            failed_at: histogram([5]),
            ..ByOutcome::default()
        };
        let all = AllOutcomes::of(&by);
        let values: Vec<_> = (1..=4).filter_map(|rank| all.value_at_rank(rank)).collect();
        let exact = |ns| Quantile { ns, bound: Bound::Exact };
        let bound = Quantile { ns: 30, bound: Bound::Lower };
        assert_eq!(values, [exact(10), exact(20), exact(30), bound]);
    }

    #[test]
    fn percentiles_of_a_few_fast_failures_are_values_up_to_the_responses() {
        // 594 responses of 5 and more, six refusals at 1: rank 594 is the slowest response.
        let by =
            ByOutcome { ok: histogram(5..=598), bad: histogram([1; 6]), ..ByOutcome::default() };
        let all = AllOutcomes::of(&by);
        for (p, ns, bound) in [
            (50.0, 304, Bound::Exact),
            (90.0, 544, Bound::Exact),
            (99.0, 598, Bound::Exact),
            (99.5, 598, Bound::Lower),
        ] {
            assert_eq!(all.percentile(p), Some(Quantile { ns, bound }), "p{p}");
        }
        assert_eq!(all.max(), Some(Quantile { ns: 598, bound: Bound::Lower }));
        // A failure that lasted longer than every response is a better bound.
        let late = ByOutcome { bad: histogram([1, 900, 900, 900, 900, 900]), ..by };
        let late = AllOutcomes::of(&late).percentile(99.5);
        assert_eq!(late, Some(Quantile { ns: 900, bound: Bound::Lower }));
    }

    #[test]
    fn no_slots_no_values() {
        let by = ByOutcome::default();
        let all = AllOutcomes::of(&by);
        assert_eq!((all.count(), all.percentile(50.0), all.max()), (0, None, None));
    }
}
