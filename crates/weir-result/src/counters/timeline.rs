//! Counters over time: slices of the window by planned time, for statistics, and the series by when
//! things happened, for display.

use serde::{Deserialize, Serialize};

use super::{MessageShare, NamedSlice, Outcomes};
use crate::absent::is_default;
use crate::rules::{self, Merge};
#[cfg(feature = "schema")]
use weir_stats::histogram::PackedHistogram;
use weir_stats::histogram::{Histogram, SparseHistogram};

counters! {
    /// One of the equal parts of the window, by `T0`.
    #[derive(Clone, Debug, Default)]
    measured Slice;
    /// One of the equal parts of the window: the requests due in it.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored SliceEntry;

    /// Start, in nanoseconds from t0.
    measured start_ns: u64 => rules::same;
    /// End, in nanoseconds from t0, exclusive.
    measured end_ns: u64 => rules::same;
    /// Start of the slice, in seconds from t0.
    stored start_s: f64;
    /// End of the slice, in seconds from t0, exclusive.
    stored end_s: f64;
    /// Response time of its `ok` requests; null if there are none.
    counter ok: Histogram => rules::merge,
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))];
    /// Response time, or age, of its other requests; null if there are none.
    counter not_ok: Histogram => rules::merge,
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))];
    /// Its requests by outcome.
    counter outcomes: Outcomes => rules::merge;
    /// Requests sent during the slice.
    counter sent: u64 => rules::sum, #[serde(default)];
    /// Complete responses during the slice, whichever requests they belong to.
    counter completed: u64 => rules::sum, #[serde(default)];
    /// Of `completed`: responses that count as success (`plan.success`).
    counter good: u64 => rules::sum, #[serde(default)];
    /// Requests in flight at the end of the slice.
    counter in_flight: u64 => rules::sum, #[serde(default)];
    /// Requests due and unsent at the end of the slice.
    counter backlog: u64 => rules::sum, #[serde(default)];
    /// Messages of the requests due in the slice, and those received during it; absent if messages
    /// are not measured.
    counter messages: Option<MessageShare> => rules::merge,
        #[serde(default, skip_serializing_if = "Option::is_none")];
    /// Shares of the names with intervals, in the order of `names_with_slices`; absent without a
    /// list.
    counter named: Vec<NamedSlice> => rules::by_position,
        #[serde(default, skip_serializing_if = "Vec::is_empty")];
}

counters! {
    /// One interval of the time series, by when things happened (not by plan).
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    measured Interval;
    /// One interval of the run, by when things happened.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored SeriesEntry;

    /// Start, in nanoseconds from t0; negative during warm-up.
    measured start_ns: i64 => rules::same;
    /// Length in nanoseconds; the last interval may be shorter.
    measured length_ns: u64 => rules::max;
    /// Phase in which the interval begins.
    stored phase: SeriesPhase;
    /// Start of the interval, in seconds from t0; negative during warm-up.
    stored start_s: f64;
    /// Length of the interval in seconds.
    stored length_s: f64;
    /// Requests sent.
    counter sent: u64 => rules::sum;
    /// Complete responses.
    counter completed: u64 => rules::sum;
    /// Of `completed`: responses that do not count as success.
    counter bad: u64 => rules::sum;
    /// Requests that ended in a transport error.
    counter errors: u64 => rules::sum;
    /// Requests that timed out.
    counter timed_out: u64 => rules::sum;
    /// Bytes received.
    counter bytes_received: u64 => rules::sum;
    /// Messages received within responses.
    counter messages: u64 => rules::sum, #[serde(default, skip_serializing_if = "is_default")];
    /// Requests in flight at the end of the interval.
    counter in_flight: u64 => rules::sum;
    /// Requests due and unsent at the end of the interval.
    counter backlog: u64 => rules::sum;
    /// Requests sent per second.
    stored sent_rps: f64;
    /// Complete responses per second.
    stored completed_rps: f64;
    /// Bytes received per second.
    stored bytes_per_second: f64;
    /// Median response time (closed loop: service time) of `completed`, in nanoseconds; null if
    /// there are none.
    stored p50_ns: Option<u64>;
    /// 90th percentile of the same time.
    stored p90_ns: Option<u64>;
    /// 99th percentile of the same time, however few the responses are.
    stored p99_ns: Option<u64>;
    /// Greatest value of the same time.
    stored max_ns: Option<u64>;
    /// Mean of the same time.
    stored mean_ns: Option<f64>;
    /// Histogram of the same time; null if there are no responses.
    counter latency: SparseHistogram => rules::merge,
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))];
}

/// A phase of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeriesPhase {
    /// Before t0.
    #[default]
    Warmup,
    /// From t0 to t1.
    Measured,
    /// From t1 on.
    Tail,
}

impl Slice {
    /// Adds the shares of names of another slice.
    pub fn add_named(&mut self, named: &[NamedSlice]) {
        rules::by_position(&mut self.named, named);
    }
}

impl Interval {
    /// Adds the same interval of another worker.
    pub fn add(&mut self, other: &Interval) {
        self.merge(other);
    }

    /// Adds the interval that follows this one in time.
    pub fn append(&mut self, next: &Interval) {
        let in_flight = next.in_flight;
        let backlog = next.backlog;
        let span = next.end_ns().saturating_sub(self.start_ns);
        let next = Interval { start_ns: self.start_ns, ..next.clone() };
        self.merge(&next);
        self.length_ns = u64::try_from(span).unwrap_or(self.length_ns);
        (self.in_flight, self.backlog) = (in_flight, backlog);
    }

    /// Returns its end, in nanoseconds from t0.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.length_ns)
    }

    /// Returns its place on a grid through t0 with spaces of `length_ns`.
    pub fn place(&self, length_ns: u64) -> i64 {
        self.start_ns.div_euclid(i64::try_from(length_ns.max(1)).unwrap_or(i64::MAX))
    }
}

/// Joins intervals in order of time that begin in one space of a grid through t0, whose spaces are
/// `length_ns` long.
pub fn coarsen_intervals(intervals: &mut Vec<Interval>, length_ns: u64) {
    intervals.dedup_by(|next, kept| {
        let is_one = next.place(length_ns) == kept.place(length_ns);
        if is_one {
            kept.append(next);
        }
        is_one
    });
}

/// Merges intervals by their start; workers may have different ones. If one of both has longer
/// intervals, because its series is long, the other's are joined first.
pub(crate) fn merge_intervals(mine: &mut Vec<Interval>, theirs: &[Interval]) {
    let longest = |all: &[Interval]| all.iter().map(|interval| interval.length_ns).max();
    let mut joined;
    let mut theirs = theirs;
    match (longest(mine), longest(theirs)) {
        (Some(own), Some(other)) if own < other => coarsen_intervals(mine, other),
        (Some(own), Some(other)) if own > other => {
            joined = theirs.to_vec();
            coarsen_intervals(&mut joined, own);
            theirs = &joined;
        }
        _ => {}
    }
    for interval in theirs {
        match mine.binary_search_by_key(&interval.start_ns, |known| known.start_ns) {
            Ok(index) => mine[index].add(interval),
            Err(index) => mine.insert(index, interval.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns intervals with one response per second, from their starts and lengths in seconds.
    fn intervals(spans: &[(i64, u64)]) -> Vec<Interval> {
        const SECOND: u64 = 1_000_000_000;
        let of = |(start_s, length_s): &(i64, u64)| Interval {
            start_ns: start_s * SECOND as i64,
            length_ns: length_s * SECOND,
            completed: *length_s,
            in_flight: start_s.unsigned_abs() + length_s,
            ..Interval::default()
        };
        spans.iter().map(of).collect()
    }

    #[test]
    fn intervals_are_joined_on_a_grid_through_t0() {
        let mut joined = intervals(&[(-3, 1), (-2, 1), (-1, 1), (0, 1), (1, 1), (2, 2), (4, 1)]);
        coarsen_intervals(&mut joined, 4_000_000_000);
        let expected = intervals(&[(-3, 3), (0, 4), (4, 1)]);
        let figures = |all: &[Interval]| -> Vec<_> {
            all.iter().map(|it| (it.start_ns, it.length_ns, it.completed)).collect()
        };
        assert_eq!(figures(&joined), figures(&expected));
        assert_eq!(joined[1].in_flight, 4, "that of the last one");
    }

    #[test]
    fn series_of_different_lengths_merge_to_the_longer_one() {
        let fine = [(-1, 1), (0, 1), (1, 1), (2, 1)];
        let coarse = [(-1, 1), (0, 2), (2, 2)];
        for (mine, theirs) in [(&fine[..], &coarse[..]), (&coarse, &fine)] {
            let mut merged = intervals(mine);
            merge_intervals(&mut merged, &intervals(theirs));
            let found: Vec<_> = merged.iter().map(|it| (it.start_ns, it.completed)).collect();
            assert_eq!(found, [(-1_000_000_000, 2), (0, 4), (2_000_000_000, 3)]);
        }
    }
}
