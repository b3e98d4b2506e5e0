//! Counters over time: slices of the window by planned time, for statistics, and the series by when
//! things happened, for display.

use serde::{Deserialize, Serialize};

use super::NamedSlice;
use crate::absent::is_default;
#[cfg(feature = "schema")]
use crate::histogram::PackedHistogram;
use crate::histogram::{Histogram, SparseHistogram};
use crate::rules::{self, Merge};

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
    /// Of the requests of `not_ok`: those with a response that does not count as success.
    counter bad_response: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Those that ended without a complete response.
    counter transport_error: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Those without a complete response within the timeout.
    counter timed_out: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Those sent, and still without a response when the run ended.
    counter in_flight_at_end: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
    /// Those never sent.
    counter never_sent: u64 => rules::sum,
        #[serde(default, skip_serializing_if = "is_default")];
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

    /// Returns its end, in nanoseconds from t0.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.length_ns)
    }
}

/// Merges intervals by their start; workers may have different ones.
pub(crate) fn merge_intervals(mine: &mut Vec<Interval>, theirs: &[Interval]) {
    for interval in theirs {
        match mine.binary_search_by_key(&interval.start_ns, |known| known.start_ns) {
            Ok(index) => mine[index].add(interval),
            Err(index) => mine.insert(index, interval.clone()),
        }
    }
}
