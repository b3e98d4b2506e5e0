//! Histograms in HdrHistogram's own layout: 1 ns to 1 h, three significant digits (METHOD 1.7).
//!
//! Workers record into a [`Tally`], results are read from a [`Histogram`], and a
//! [`SparseHistogram`] is sent between threads. All three keep the exact minimum, maximum and sum
//! beside the buckets.
//!
//! ```
//! use weir_stats::histogram::{Histogram, Tally};
//!
//! let mut worker = Tally::new();
//! (1..=1_000).for_each(|ms| worker.record(ms * 1_000_000));
//! let mut all = Histogram::new();
//! all.add_tally(&worker);
//! assert_eq!(all.exact().max_ns, 1_000_000_000);
//! let p99 = all.percentile(99.0).expect("there are values");
//! assert!((990_000_000..=991_000_000).contains(&p99));
//! ```

mod buckets;
mod counts;
pub mod digits;
mod encoding;
mod packed;
pub mod zlib;

use std::ops::Range;

pub use buckets::{BUCKETS, HIGHEST_NS, bucket_of, highest_in, lowest_in, middle_of};
use counts::BucketCounts;
pub use packed::{PackedHistogram, decode};
use serde::{Deserialize, Serialize};

use crate::support::rank_of;

/// Exact figures of a histogram, whose buckets hold them only approximately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ExactFigures"))]
pub struct Exact {
    /// Number of values.
    pub count: u64,
    /// Least value in nanoseconds.
    pub min_ns: u64,
    /// Greatest value in nanoseconds.
    pub max_ns: u64,
    /// Sum in nanoseconds, as decimal digits: it may be more than a JSON number holds exactly.
    #[serde(with = "digits")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sum_ns: u128,
    /// Of `count`: values beyond 1 h, which are in the last bucket.
    pub clipped: u64,
}

/// Figures of no value: the least is the greatest number there is.
impl Default for Exact {
    fn default() -> Exact {
        Exact { count: 0, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, clipped: 0 }
    }
}

impl Exact {
    /// The figures of `count` values, which are clipped if the greatest is.
    #[inline]
    fn of(min_ns: u64, max_ns: u64, count: u64, sum_ns: u128) -> Exact {
        let clipped = if max_ns > HIGHEST_NS { count } else { 0 };
        Exact { count, min_ns, max_ns, sum_ns, clipped }
    }

    #[inline]
    fn add(&mut self, other: &Exact) {
        self.count += other.count;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.clipped += other.clipped;
    }

    /// Returns the figures; `None` if there are no values.
    pub fn known(&self) -> Option<Exact> {
        Some(*self).filter(|exact| exact.count > 0)
    }

    /// Returns the value that represents a non-empty bucket: the bucket's upper edge, or the
    /// greatest value if that is less. It is never less than any value in the bucket.
    fn upper_in(&self, bucket: usize) -> u64 {
        // Clipped values have no upper edge but the greatest value.
        let is_clipped = self.clipped > 0 && bucket == bucket_of(HIGHEST_NS);
        if is_clipped { self.max_ns } else { highest_in(bucket).min(self.max_ns) }
    }

    /// Returns the one of `buckets`, which are ascending, that holds the given rank: 1 is the least
    /// value, `count` the greatest; higher ranks count as `count`.
    fn bucket_at_rank(
        &self,
        mut buckets: impl Iterator<Item = (usize, u64)>,
        rank: u64,
    ) -> Option<usize> {
        let rank = rank.clamp(1, self.count.max(1));
        let mut reached = 0;
        buckets.find_map(|(bucket, count)| {
            reached += count;
            (reached >= rank).then_some(bucket)
        })
    }

    /// Returns the range of buckets that holds all values.
    fn buckets(&self) -> Range<usize> {
        if self.count == 0 {
            return 0..0;
        }
        bucket_of(self.min_ns.min(HIGHEST_NS))..bucket_of(self.max_ns.min(HIGHEST_NS)) + 1
    }
}

/// Greatest number of values that are recorded one by one into a list.
const FEW_VALUES: u64 = 1000;

/// A worker's histogram: 32-bit counts in few bytes until there are many values, then in a table
/// whose pages are allocated at the first access.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BucketCounts<u32>,
    exact: Exact,
}

impl Tally {
    /// Creates an empty tally. Memory is allocated at the first record.
    pub fn new() -> Tally {
        Tally::default()
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_times(ns, 1);
    }

    /// Records one value `times` times, at least once.
    #[inline]
    pub fn record_times(&mut self, ns: u64, times: u32) {
        if self.counts.table.is_empty() || ns > HIGHEST_NS {
            return self.record_rare(ns, times);
        }
        self.counts.table[bucket_of(ns)] += times;
        self.exact.count += u64::from(times);
        self.exact.min_ns = self.exact.min_ns.min(ns);
        self.exact.max_ns = self.exact.max_ns.max(ns);
        self.exact.sum_ns += u128::from(ns) * u128::from(times);
    }

    #[cold]
    #[inline]
    fn record_rare(&mut self, ns: u64, times: u32) {
        if self.exact.count >= FEW_VALUES {
            // A table is faster for this many values, in however few buckets.
            self.counts.spread();
        }
        self.counts.add(bucket_of(ns.min(HIGHEST_NS)), times);
        let sum_ns = u128::from(ns) * u128::from(times);
        self.exact.add(&Exact::of(ns, ns, times.into(), sum_ns));
    }

    /// Returns the exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        other.buckets().for_each(|(bucket, count)| self.counts.add(bucket, count));
        self.exact.add(&other.exact);
    }

    fn buckets(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.counts.within(self.exact.buckets())
    }

    /// Returns the values recorded so far, with the buckets of [`SparseHistogram::coarsen`].
    pub fn sparse(&self, level: u32) -> SparseHistogram {
        SparseHistogram { buckets: coarse(self.hit(), level, &self.exact), exact: self.exact }
    }

    /// Returns the non-empty buckets, as a sparse histogram holds them.
    fn hit(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.buckets().map(|(bucket, count)| {
            (u16::try_from(bucket).expect("33,792 buckets fit 16 bits"), count)
        })
    }

    /// Returns the values recorded since the last call, and empties the tally.
    pub fn take_sparse(&mut self) -> SparseHistogram {
        let mut buckets: Vec<(u16, u32)> = self.hit().collect();
        // The list lives to the end of the run, so its spare capacity is released.
        buckets.shrink_to_fit();
        self.counts.forget(&buckets);
        SparseHistogram { buckets, exact: std::mem::take(&mut self.exact) }
    }
}

/// A histogram of its non-empty buckets alone: small enough to send every second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    buckets: Vec<(u16, u32)>,
    exact: Exact,
}

impl SparseHistogram {
    /// Returns the exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Returns the non-empty buckets, ascending: `(bucket, count)`.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter().map(|(bucket, count)| (usize::from(*bucket), u64::from(*count)))
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.exact.count
    }

    /// Returns the value of percentile `p`, as [`Histogram::percentile`] does.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        self.value_at_rank(rank_of(p, self.count()))
    }

    /// Returns the value of the given rank, as [`Histogram::value_at_rank`] does.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        let bucket = self.exact.bucket_at_rank(self.buckets(), rank)?;
        Some(self.exact.upper_in(bucket))
    }

    /// Converts to the form that results are read from.
    pub fn to_histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.add_sparse(self);
        histogram
    }

    /// Converts a histogram. `None` if a count needs more than 32 bits.
    pub fn from_histogram(histogram: &Histogram) -> Option<SparseHistogram> {
        let buckets = histogram
            .buckets()
            .map(|(bucket, count)| Some((u16::try_from(bucket).ok()?, u32::try_from(count).ok()?)))
            .collect::<Option<_>>()?;
        Some(SparseHistogram { buckets, exact: histogram.exact })
    }

    /// Returns the bytes that its buckets take.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<(u16, u32)>()
    }

    /// Merges `2^level` neighbouring buckets of each octave into the highest of them, so that
    /// percentiles grow by at most `2^level` thousandths and never shrink.
    pub fn coarsen(&mut self, level: u32) {
        if level == 0 || self.buckets.is_empty() {
            return;
        }
        self.buckets = coarse(self.buckets.drain(..), level, &self.exact);
        self.buckets.shrink_to_fit();
    }

    /// Adds another sparse histogram. The sum of two that are coarsened is so after
    /// [`SparseHistogram::coarsen`] with the same level.
    pub fn add(&mut self, other: &SparseHistogram) {
        if other.count() == 0 {
            return;
        }
        let mine = std::mem::take(&mut self.buckets);
        let mut left = mine.iter().peekable();
        let mut right = other.buckets.iter().peekable();
        self.buckets.reserve(mine.len().max(other.buckets.len()));
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let sum = (a.0, a.1.saturating_add(b.1));
                    left.next();
                    right.next();
                    sum
                }
                (Some(a), Some(b)) if a.0 > b.0 => *right.next().expect("peeked"),
                (Some(_), _) => *left.next().expect("peeked"),
                (None, Some(_)) => *right.next().expect("peeked"),
                (None, None) => break,
            };
            self.buckets.push(next);
        }
        self.exact.add(&other.exact);
    }
}

/// Merges `2^level` neighbouring buckets of each octave into the highest of them.
fn coarse(buckets: impl Iterator<Item = (u16, u32)>, level: u32, exact: &Exact) -> Vec<(u16, u32)> {
    let highest = bucket_of(exact.max_ns.min(HIGHEST_NS));
    let among = |bucket: u16| (usize::from(bucket) | ((1 << level) - 1)).min(highest) as u16;
    let mut coarse: Vec<(u16, u32)> = Vec::new();
    for (bucket, count) in buckets {
        match coarse.last_mut() {
            Some((last, sum)) if *last == among(bucket) => *sum = sum.saturating_add(count),
            _ => coarse.push((among(bucket), count)),
        }
    }
    coarse
}

/// A histogram that results are read from, with 64-bit counts.
#[derive(Debug, Default)]
pub struct Histogram {
    counts: BucketCounts<u64>,
    exact: Exact,
}

impl Clone for Histogram {
    /// Copies the values into the least memory: a document keeps hundreds of histograms.
    fn clone(&self) -> Histogram {
        Histogram { counts: self.counts.compact(self.exact.buckets()), exact: self.exact }
    }
}

impl PartialEq for Histogram {
    /// Compares values and exact figures, however the counts are stored.
    fn eq(&self, other: &Histogram) -> bool {
        self.exact == other.exact && self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

impl From<&Tally> for Histogram {
    fn from(tally: &Tally) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.add_tally(tally);
        histogram
    }
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Returns the exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.exact.count
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.exact.count == 0
    }

    /// Adds a worker's tally.
    pub fn add_tally(&mut self, tally: &Tally) {
        tally.buckets().for_each(|(bucket, count)| self.counts.add(bucket, count.into()));
        self.exact.add(&tally.exact);
    }

    /// Adds a sparse histogram.
    pub fn add_sparse(&mut self, sparse: &SparseHistogram) {
        sparse.buckets().for_each(|(bucket, count)| self.counts.add(bucket, count));
        self.exact.add(&sparse.exact);
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Histogram) {
        other.buckets().for_each(|(bucket, count)| self.counts.add(bucket, count));
        self.exact.add(&other.exact);
    }

    /// Records `times` values that lie evenly in one bucket or are all `ns`, with their exact sum:
    /// the bucket arithmetic for ranges of slots that were never sent.
    pub fn record_range(&mut self, least_ns: u64, greatest_ns: u64, times: u64, sum_ns: u128) {
        debug_assert!(least_ns <= greatest_ns);
        let bucket = bucket_of(greatest_ns.min(HIGHEST_NS));
        self.counts.add(bucket, times);
        self.exact.add(&Exact::of(least_ns, greatest_ns, times, sum_ns));
    }

    /// Records one value.
    pub fn record(&mut self, ns: u64) {
        self.record_range(ns, ns, 1, u128::from(ns));
    }

    /// Returns the non-empty buckets, ascending: `(bucket, count)`.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.within(self.exact.buckets())
    }

    /// Makes a histogram of these buckets and exact figures, which must fit each other. The error
    /// names the fault.
    pub fn from_buckets(
        buckets: impl IntoIterator<Item = (usize, u64)>,
        exact: Exact,
    ) -> Result<Histogram, &'static str> {
        let mut counts = BucketCounts::default();
        counts.spread();
        let mut total = 0_u64;
        let mut first = None;
        let mut last = 0;
        for (bucket, count) in buckets.into_iter().filter(|(_, count)| *count > 0) {
            let slot: &mut u64 = counts.table.get_mut(bucket).ok_or("a value is out of range")?;
            *slot = slot.checked_add(count).ok_or("a count is out of range")?;
            total = total.checked_add(count).ok_or("a count is out of range")?;
            first = Some(first.unwrap_or(bucket).min(bucket));
            last = last.max(bucket);
        }
        if total != exact.count || exact.clipped > exact.count {
            return Err("its buckets do not add up to its count");
        }
        let Some(first) = first else {
            let is_plain = exact == Exact::default();
            return is_plain.then(Histogram::new).ok_or("an empty histogram has a sum");
        };
        let fits = exact.min_ns <= exact.max_ns
            && bucket_of(exact.min_ns.min(HIGHEST_NS)) <= first
            && last <= bucket_of(exact.max_ns.min(HIGHEST_NS));
        if !fits {
            return Err("its least or greatest value does not fit its buckets");
        }
        Ok(Histogram { counts: counts.compact(exact.buckets()), exact })
    }

    /// Returns the value of percentile `p` (0 to 100), never less than the true one. `None` if
    /// nothing was recorded.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        self.value_at_rank(rank_of(p, self.count()))
    }

    /// Returns the value of the given rank (1 is the least, `count` the greatest; higher ranks
    /// count as `count`): the upper edge of its bucket, or the exact greatest value if that is
    /// less. It is never less than the true value. `None` if nothing was recorded.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        self.bucket_at_rank(rank).map(|bucket| self.upper_in(bucket))
    }

    /// Returns the value that represents a non-empty bucket: the bucket's upper edge, or the exact
    /// greatest value if that is less. It is never less than any value in the bucket.
    pub fn upper_in(&self, bucket: usize) -> u64 {
        self.exact.upper_in(bucket)
    }

    /// Returns the bucket that holds the given rank; `None` if nothing was recorded.
    pub fn bucket_at_rank(&self, rank: u64) -> Option<usize> {
        self.exact.bucket_at_rank(self.buckets(), rank)
    }

    /// True if the bucket is not empty.
    pub fn has(&self, bucket: usize) -> bool {
        self.counts.get(bucket) > 0
    }

    /// Returns the mean in nanoseconds, from the exact sum. `None` if nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.exact.sum_ns as f64 / self.exact.count as f64)
    }

    /// Returns the standard deviation in nanoseconds, every value at the middle of its bucket:
    /// correct to the histogram's 0.1%. `None` if nothing was recorded.
    pub fn stdev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let squares: f64 = self
            .buckets()
            .map(|(bucket, count)| count as f64 * (middle_of(bucket) as f64 - mean).powi(2))
            .sum();
        // A single value may differ from its bucket's middle, but its deviation is 0.
        let is_one_value = self.exact.min_ns == self.exact.max_ns;
        Some(if is_one_value { 0.0 } else { (squares / self.exact.count as f64).sqrt() })
    }

    /// True if both hold the same values. Sums may differ by 1 ns for each value: those of ranges
    /// of slots that were never sent are rounded.
    pub fn agrees_with(&self, other: &Histogram) -> bool {
        let own = self.exact;
        let of_other = other.exact;
        own.sum_ns.abs_diff(of_other.sum_ns) <= own.count.into()
            && Exact { sum_ns: of_other.sum_ns, ..own } == of_other
            && self.buckets().eq(other.buckets())
    }

    /// Returns the sum of all values in nanoseconds, every one at the middle of its bucket, to
    /// check the exact sum.
    pub fn middle_sum_ns(&self) -> u128 {
        self.buckets().map(|(bucket, n)| u128::from(middle_of(bucket)) * u128::from(n)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_partition_the_range() {
        let mut expected = 0;
        for bucket in 0..bucket_of(HIGHEST_NS) {
            assert_eq!(lowest_in(bucket), expected, "bucket {bucket}");
            assert_eq!(bucket_of(lowest_in(bucket)), bucket);
            assert_eq!(bucket_of(highest_in(bucket)), bucket);
            expected = highest_in(bucket) + 1;
        }
        assert!(bucket_of(HIGHEST_NS) < BUCKETS);
    }

    /// Histogram of one to a thousand nanoseconds, every value in a bucket of its own.
    fn one_to_thousand() -> Histogram {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn ranks_find_their_values() {
        let histogram = one_to_thousand();
        for rank in [1, 2, 500, 999, 1000] {
            assert_eq!(histogram.value_at_rank(rank), Some(rank));
        }
        assert_eq!(Histogram::new().value_at_rank(1), None);
    }

    #[test]
    fn a_value_is_never_under_reported_nor_over_the_greatest() {
        let mut histogram = Histogram::new();
        // From 2^21 = 2,097,152 on, buckets are 2,048 wide: the first one ends at 2,099,199.
        histogram.record(2_097_153);
        histogram.record(5_000_001);
        assert_eq!(histogram.value_at_rank(1), Some(2_099_199));
        assert_eq!(histogram.value_at_rank(2), Some(5_000_001));
        histogram.record(HIGHEST_NS + 7);
        assert_eq!(histogram.value_at_rank(3), Some(HIGHEST_NS + 7));
    }

    #[test]
    fn mean_and_deviation() {
        let histogram = one_to_thousand();
        assert_eq!(histogram.mean_ns(), Some(500.5));
        // The variance of 1..=n is (n² − 1) / 12.
        let deviation = histogram.stdev_ns().expect("not empty");
        assert!((deviation - (999_999.0_f64 / 12.0).sqrt()).abs() < 1e-9);
        let mut one = Histogram::new();
        one.record(3_000_000_000);
        assert_eq!(one.stdev_ns(), Some(0.0));
        assert_eq!(Histogram::new().mean_ns(), None);
    }

    #[test]
    fn buckets_and_exact_figures_must_fit() {
        let histogram = one_to_thousand();
        let exact = *histogram.exact();
        assert_eq!(Histogram::from_buckets(histogram.buckets(), exact), Ok(histogram.clone()));
        for wrong in [
            Exact { count: 999, ..exact },
            Exact { min_ns: 2, ..exact },
            Exact { max_ns: 999, ..exact },
            Exact { clipped: 1001, ..exact },
        ] {
            assert!(Histogram::from_buckets(histogram.buckets(), wrong).is_err(), "{wrong:?}");
        }
        let huge = [(7, u64::MAX), (8, 1)];
        assert!(Histogram::from_buckets(huge, exact).is_err());
        assert!(Histogram::from_buckets([(BUCKETS, 1)], exact).is_err());
    }

    #[test]
    fn layout_is_that_of_hdrhistogram() {
        let theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3)
            .expect("the bounds are valid");
        for ns in [1, 2047, 2048, 2049, 4095, 4096, 999_999, 1_234_567_890, HIGHEST_NS] {
            assert_eq!(highest_in(bucket_of(ns)), theirs.highest_equivalent(ns), "{ns}");
            assert_eq!(lowest_in(bucket_of(ns)), theirs.lowest_equivalent(ns), "{ns}");
        }
    }

    #[test]
    fn lists_and_tables_agree() {
        #[track_caller]
        fn check(values: impl Iterator<Item = u64> + Clone, expects_table: bool) {
            let mut tally = Tally::new();
            let mut histogram = Histogram::new();
            let mut table = Histogram::new();
            table.counts.spread();
            for ns in values.clone() {
                tally.record(ns);
                histogram.record(ns);
                table.record(ns);
            }
            assert_eq!(!tally.counts.table.is_empty(), expects_table);
            assert_eq!(histogram, table);
            let mut added = Histogram::new();
            added.add_tally(&tally);
            assert_eq!(added, table);
            let mut twice = tally.clone();
            twice.add(&tally);
            added.add(&table);
            let mut coarse = twice.sparse(0);
            let coarser = twice.sparse(3);
            let sparse = twice.take_sparse();
            assert_eq!((&coarse, sparse.to_histogram()), (&sparse, added));
            coarse.coarsen(3);
            assert_eq!(coarser, coarse);
            assert_eq!(twice.take_sparse(), SparseHistogram::default());
            tally.take_sparse();
            values.clone().for_each(|ns| tally.record(ns));
            assert_eq!(tally.take_sparse().to_histogram(), table);
            assert!(values.clone().all(|ns| table.has(bucket_of(ns.min(HIGHEST_NS)))));
            assert!(values.clone().all(|ns| histogram.has(bucket_of(ns.min(HIGHEST_NS)))));
        }
        check(std::iter::empty(), false);
        check([7, 7, 3_000_000, HIGHEST_NS + 5].into_iter(), false);
        check((1..=1000).rev().map(|ns| ns * 2), false);
        check((1..=1001).map(|ns| ns * 2), true);
        check((0..1002).map(|ns| ns % 2), true);
    }
}
