//! Rates of counts, and their intervals (METHOD 1.7).

use super::RateInterval;
use crate::counters::Slice;

/// Confidence of intervals, two-sided.
const CONFIDENCE: f64 = 0.95;

impl RateInterval {
    /// Computes the interval by batch means over the slices that lie wholly in the window, to each
    /// side at least the one request that may fall beyond a border of theirs (METHOD 1.7). `None`
    /// if there are fewer than two, they do not have their counts, or they end long before the
    /// window, in which nothing happened then.
    pub(super) fn of(
        slices: &[Slice],
        window_ns: u64,
        count: fn(&Slice) -> u64,
    ) -> Option<RateInterval> {
        let last = slices.last()?;
        if window_ns.saturating_sub(last.end_ns) > last.end_ns.saturating_sub(last.start_ns) {
            return None;
        }
        let whole = slices.iter().filter(|slice| slice.end_ns <= window_ns);
        let rates: Vec<f64> = whole
            .map(|slice| per_second(count(slice), slice.end_ns.saturating_sub(slice.start_ns)))
            .collect();
        if rates.iter().all(|rate| *rate == 0.0) {
            return None;
        }
        let interval = weir_stats::mean_interval(&rates, CONFIDENCE)?;
        let whole = slices.iter().filter(|slice| slice.end_ns <= window_ns);
        let span_ns = whole.map(|slice| slice.end_ns.saturating_sub(slice.start_ns)).sum();
        let mean = interval.mean;
        let half_width = interval.half_width.max(per_second(1, span_ns));
        let is_known = mean.is_finite() && half_width.is_finite();
        is_known.then(|| RateInterval {
            low_rps: (mean - half_width).max(0.0),
            high_rps: mean + half_width,
        })
    }
}

/// Returns a count per second over a span; 0 for a span of 0.
pub(super) fn per_second(count: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { count as f64 / seconds(span_ns) }
}

/// Nanoseconds as seconds, rounded to the nearest float: exact to the nanosecond for 52 days.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
