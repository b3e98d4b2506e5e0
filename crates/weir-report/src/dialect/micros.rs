//! Latencies as wrk2 keeps them: in an HdrHistogram of whole microseconds, 1 µs to 24 h, three
//! significant digits. It has the buckets of [`Histogram`], whose bounds are the same numbers in
//! any unit.

use weir_result::histogram::{bucket_of, highest_in, lowest_in};
use weir_result::{Histogram, distinct_us, quantile, summed};

/// Greatest value kept, in microseconds; greater ones count as this one.
const HIGHEST_US: u64 = 86_400_000_000;

/// A histogram of whole microseconds.
pub(super) struct Micros {
    /// Non-empty buckets, ascending, each with its count.
    buckets: Vec<(usize, u64)>,
    count: u64,
}

impl Micros {
    /// Converts the values to microseconds, rounded up.
    pub(super) fn of(latency: &Histogram) -> Micros {
        let values = distinct_us(latency).into_iter();
        let buckets = values.map(|(us, count)| (bucket_of(us.min(HIGHEST_US)), count));
        Micros { buckets: summed(buckets), count: latency.count() }
    }

    /// Number of values.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the non-empty buckets, ascending: the greatest value equivalent to those in each,
    /// and its count.
    pub(super) fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|(bucket, count)| (highest_in(*bucket), *count))
    }

    /// Returns the greatest value equivalent to percentile `p`; 0 if there is none.
    pub(super) fn percentile(&self, p: f64) -> u64 {
        let rank = quantile::rank_of(p, self.count);
        let mut reached = 0;
        let found = self.values().find(|(_, count)| {
            reached += count;
            reached >= rank
        });
        found.map_or(0, |(us, _)| us)
    }
}

/// Returns the least value in the same bucket of an HdrHistogram of three digits.
pub(super) fn lowest_equivalent(value: u64) -> u64 {
    lowest_in(bucket_of(value.min(HIGHEST_US)))
}
