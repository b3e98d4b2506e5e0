//! Confidence intervals of percentiles, from the slices of the window (METHOD 1.11). Such an
//! interval is the range in which a percentile would lie if the same run consisted of other
//! requests of its kind.
//!
//! Slices hold one time, by outcome. Their intervals belong to that time's percentiles. Another
//! time of the same requests takes only its support from them.

pub(super) use weir_stats::Standing;
use weir_stats::{SliceTail, guard_of, percentile_interval};

use crate::counters::{ByOutcome, Slice};
use crate::quantile::{AllOutcomes, BEYOND, Bound, PERCENTILES, count_needed, is_supported};

/// Intervals of the percentiles of one column, computed from slices.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    /// In the order of [`PERCENTILES`], the greatest excluded; empty if there are no slices, or
    /// only one has requests.
    known: Vec<Interval>,
    /// True if the document lists what the percentiles of the time need.
    pub(super) lists_needs: bool,
    /// Requests of this column per second of the window, if both are known.
    pub(super) rate_rps: Option<f64>,
}

/// Interval of one percentile, computed from slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    p: f64,
    /// Ends of the interval; none if slices hold another time.
    pub(super) ends: Option<IntervalEnds>,
    /// Number of independent requests that those beyond the percentile are worth.
    pub(super) support: f64,
    /// Reliability of the interval at this support.
    pub(super) standing: Standing,
    needed: u64,
    /// Ranks of the ends, 0 to 1.
    ranks: (f64, Option<f64>),
}

/// The ends of an interval, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalEnds {
    pub(super) low_ns: u64,
    /// None if the interval is unbounded above.
    pub(super) high_ns: Option<u64>,
}

/// Selection of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Requests that ended as `ok`.
    Ok,
    /// All requests, failures slower than every response.
    All,
}

impl Intervals {
    /// Computes the intervals of the time that slices hold. `window_s` is the window's length in
    /// seconds, 0 if unknown.
    pub(super) fn of_slices(
        by_outcome: &ByOutcome,
        slices: &[Slice],
        column: Selection,
        window_s: f64,
    ) -> Intervals {
        let whole = match column {
            Selection::Ok => AllOutcomes::of_ok(&by_outcome.ok),
            Selection::All => AllOutcomes::of(by_outcome),
        };
        let parts: Vec<SliceColumn> =
            slices.iter().map(|slice| SliceColumn::of(slice, column)).collect();
        let listed = PERCENTILES.into_iter().filter(|p| *p < 100.0);
        Intervals {
            known: listed.map_while(|p| Interval::of(&whole, p, &parts)).collect(),
            ..Intervals::of_rate(whole.count(), window_s)
        }
    }

    /// Creates the intervals of a time that no slices are kept of, but whose percentiles' needs are
    /// listed: of `count` requests in a window of `window_s` seconds.
    pub(super) fn of_rate(count: u64, window_s: f64) -> Intervals {
        let rate_rps = (window_s > 0.0 && count > 0).then(|| count as f64 / window_s);
        Intervals { known: Vec::new(), lists_needs: true, rate_rps }
    }

    /// Returns the support alone, for another time of the same requests.
    pub(super) fn support_only(&self) -> Intervals {
        let known = self.known.iter().map(|interval| Interval { ends: None, ..*interval });
        Intervals { known: known.collect(), ..*self }
    }

    /// Returns the interval of percentile `p`, in percent.
    pub(super) fn of(&self, p: f64) -> Option<Interval> {
        self.known.iter().find(|interval| interval.p == p).copied()
    }

    /// The ranks, 0 to 1, at which the interval of percentile `p` ends.
    pub(super) fn ranks_of(&self, p: f64) -> Option<(f64, Option<f64>)> {
        let supported = self.of(p).filter(|interval| interval.standing != Standing::Unsupported);
        supported.map(|interval| interval.ranks)
    }

    /// True if enough independent requests lie beyond percentile `p` for its interval to hold.
    pub(super) fn support(&self, p: f64, count: u64) -> bool {
        match self.of(p) {
            Some(interval) => interval.standing == Standing::Supported,
            None => is_supported(p, count),
        }
    }

    /// Number of requests that would support percentile `p`.
    pub(super) fn needed(&self, p: f64) -> u64 {
        self.of(p).map_or_else(|| count_needed(p), |interval| interval.needed)
    }
}

impl Interval {
    /// Computes the interval of percentile `p`, in percent, of the column over the whole window;
    /// `None` if fewer than two parts have requests.
    fn of(whole: &AllOutcomes<'_>, p: f64, parts: &[SliceColumn]) -> Option<Interval> {
        let tails_at = |p: f64| {
            let bucket = whole.bucket_of_percentile(p)?;
            Some(tails(bucket, 1.0 - p / 100.0, parts))
        };
        let guard = guard_of(p / 100.0).and_then(|guard| tails_at(100.0 * guard));
        let interval = percentile_interval(p / 100.0, &tails_at(p)?, guard.as_deref())?;
        let count = whole.count();
        // Ranks are rounded outwards.
        let low = (interval.low_p * count as f64).floor() as u64;
        let high = interval.high_p.map(|high_p| (high_p * count as f64).ceil() as u64);
        let low_ns = whole.least_at_rank(low.clamp(1, count))?;
        // A rank that falls on a failure has no upper limit: its full duration is unknown.
        let high = high.and_then(|rank| whole.value_at_rank(rank.clamp(1, count)));
        let high_ns = high.filter(|high| high.bound == Bound::Exact).map(|high| high.ns);
        Some(Interval {
            p,
            ends: Some(IntervalEnds { low_ns, high_ns }),
            support: interval.support,
            standing: interval.standing,
            needed: interval.needed,
            ranks: (interval.low_p, interval.high_p),
        })
    }
}

/// The column in one slice: its non-empty buckets, ascending, each with the requests in it and in
/// those before. Failures are behind all times.
struct SliceColumn {
    upto: Vec<(usize, u64)>,
    count: u64,
}

impl SliceColumn {
    fn of(slice: &Slice, column: Selection) -> SliceColumn {
        let failed = match column {
            Selection::Ok => 0,
            Selection::All => slice.not_ok.count(),
        };
        let mut count = 0;
        let buckets = slice.ok.buckets().chain((failed > 0).then_some((BEYOND, failed)));
        let buckets = buckets.map(|(bucket, times)| {
            count += times;
            (bucket, count)
        });
        SliceColumn { upto: buckets.collect(), count }
    }

    /// Counts the requests beyond a bucket, or in it and beyond.
    fn beyond(&self, bucket: usize, is_included: bool) -> u64 {
        let before = self.upto.partition_point(|(hit, _)| match is_included {
            true => *hit < bucket,
            false => *hit <= bucket,
        });
        let below = before.checked_sub(1).map_or(0, |last| self.upto[last].1);
        self.count - below
    }
}

/// Counts the requests beyond a percentile in each part. Values are distinguished by bucket only,
/// and a bucket with many of them may hold the percentile somewhere inside. It is counted to the
/// side that brings the share beyond nearer to `share`.
fn tails(bucket: usize, share: f64, parts: &[SliceColumn]) -> Vec<SliceTail> {
    let of = |is_included| {
        let tail = |part: &SliceColumn| SliceTail {
            count: part.count,
            beyond: part.beyond(bucket, is_included),
        };
        parts.iter().map(tail).collect::<Vec<_>>()
    };
    let distance = |tails: &[SliceTail]| {
        let count: u64 = tails.iter().map(|tail| tail.count).sum();
        let beyond: u64 = tails.iter().map(|tail| tail.beyond).sum();
        (beyond as f64 - share * count as f64).abs()
    };
    let with = of(true);
    let without = of(false);
    if distance(&with) < distance(&without) { with } else { without }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Builds slices of responses and failures, and the whole that they add up to.
    fn run(slices: &[(&[u64], &[u64])]) -> (ByOutcome, Vec<Slice>) {
        let mut whole = ByOutcome::default();
        let mut parts = Vec::new();
        for (ok, censored) in slices {
            let mut slice = Slice::default();
            ok.iter().for_each(|ns| slice.ok.record(*ns));
            censored.iter().for_each(|ns| slice.not_ok.record(*ns));
            whole.ok.add(&slice.ok);
            whole.censored.add(&slice.not_ok);
            parts.push(slice);
        }
        (whole, parts)
    }

    fn interval(p: f64, column: Selection, (whole, slices): &(ByOutcome, Vec<Slice>)) -> Interval {
        Intervals::of_slices(whole, slices, column, 10.0).of(p).expect("slices with requests")
    }

    /// Ten slices of 100 values each, 1 to 100 ms.
    fn even() -> (ByOutcome, Vec<Slice>) {
        let values: Vec<u64> = (1..=100).map(|k| k * MS).collect();
        run(&[(values.as_slice(), [].as_slice()); 10])
    }

    #[test]
    fn even_slices_give_an_interval_around_the_value() {
        let p50 = interval(50.0, Selection::Ok, &even());
        let ends = p50.ends.expect("slices hold this time");
        // 2.262 · √(0.25/1000) = 3.6 points on both sides, ranks rounded outwards.
        let high_ns = ends.high_ns.expect("bounded");
        assert!((45 * MS..=47 * MS).contains(&ends.low_ns), "{ends:?}");
        assert!((53 * MS..=55 * MS).contains(&high_ns), "{ends:?}");
        assert_eq!(p50.standing, Standing::Supported);
        assert_eq!(interval(99.9, Selection::Ok, &even()).standing, Standing::Unsupported);
    }

    #[test]
    fn a_slow_slice_takes_support_away() {
        let fast = [MS; 100];
        let mut slow = fast;
        slow[..20].fill(100 * MS);
        let mut slices = vec![(&fast[..], &[][..]); 9];
        slices.push((&slow[..], &[]));
        // p99 is one of the 20 slow responses, which all came in one slice.
        let p99 = interval(99.0, Selection::Ok, &run(&slices));
        assert_eq!(p99.standing, Standing::Unsupported);
        assert!(p99.support < 1.0 && p99.needed > 10_000, "{p99:?}");
    }

    #[test]
    fn what_lies_on_a_failure_is_unbounded() {
        let ok = [MS; 95];
        let failed = [2_000 * MS; 5];
        let both = run(&[(ok.as_slice(), failed.as_slice()); 10]);
        let p90 = interval(90.0, Selection::All, &both).ends.expect("ends");
        assert!(p90.low_ns <= MS && p90.high_ns.is_some_and(|ns| ns <= 2 * MS), "{p90:?}");
        // Rank 970 lies among the failures, and so does the upper end of the interval of p95.
        let p99 = interval(99.0, Selection::All, &both).ends.expect("ends");
        assert_eq!(p99.high_ns, None);
        assert!(p99.low_ns >= 2_000 * MS, "{p99:?}");
        let p95 = interval(95.0, Selection::All, &both).ends.expect("ends");
        assert_eq!(p95.high_ns, None);
        assert!(p95.low_ns <= MS);
        // Without failures the interval is bounded.
        assert!(
            interval(99.0, Selection::Ok, &both).ends.is_some_and(|ends| ends.high_ns.is_some())
        );
    }

    #[test]
    fn a_single_slice_has_no_interval_and_the_plain_rule() {
        let (whole, slices) = run(&[(&[MS; 100], &[]), (&[], &[])]);
        let intervals = Intervals::of_slices(&whole, &slices, Selection::Ok, 10.0);
        assert!(intervals.of(50.0).is_none());
        assert!(intervals.support(90.0, 100) && !intervals.support(95.0, 100));
        assert_eq!((intervals.needed(99.0), intervals.rate_rps), (1_000, Some(10.0)));
    }
}
