//! Counts of a list's requests by their names, for the time while the load runs, and for slices.

use serde::{Deserialize, Serialize};

use super::MessageShare;
use crate::rules::{self, Merge};
#[cfg(feature = "schema")]
use weir_stats::histogram::PackedHistogram;
use weir_stats::histogram::{Histogram, SparseHistogram};

merged! {
    /// Counts so far, while the load runs, of the slots of M whose request has one name.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct NameTotals {
        /// Complete responses that count as success.
        pub ok: u64 => rules::sum,
        /// Complete responses that do not count as success.
        pub bad: u64 => rules::sum,
        /// Transport errors.
        pub errors: u64 => rules::sum,
        /// Timeouts.
        pub timed_out: u64 => rules::sum,
        /// Response times of `ok` and `bad`; in a closed loop service times.
        pub latency: SparseHistogram => rules::merge,
    }
}

impl NameTotals {
    /// Returns the number of complete responses.
    pub fn responses(&self) -> u64 {
        self.ok + self.bad
    }

    /// Adds the counts of another worker, or of another name.
    pub fn add(&mut self, other: &NameTotals) {
        self.merge(other);
    }
}

merged! {
    /// One name's share of a slice, by `T0`.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct NamedSlice {
        /// Response time of its `ok` requests; null if there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub ok: Histogram => rules::merge,
        /// Response time, or age, of its other requests; null if there are none.
        #[cfg_attr(feature = "schema", schemars(with = "Option<PackedHistogram>"))]
        pub not_ok: Histogram => rules::merge,
        /// Complete responses during the slice.
        pub completed: u64 => rules::sum,
        /// Of `completed`: responses that count as success.
        pub good: u64 => rules::sum,
        /// Messages of its responses; absent if they are not measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub messages: Option<MessageShare> => rules::merge,
    }
}
