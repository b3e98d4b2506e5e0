//! Lags of sends by stage of the load. The other results by stage follow from slices.

use crate::rules;
use weir_stats::histogram::Histogram;

merged! {
    /// Lags of the slots of M that were due in one stage and sent.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct StageLags {
        /// `Ts − T0`.
        pub send_lag: Histogram => rules::merge,
        /// `Ts − max(T0, freed_at)`: the client's part of it.
        pub sched_lag: Histogram => rules::merge,
    }
}
