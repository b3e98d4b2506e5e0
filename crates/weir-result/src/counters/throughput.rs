//! Counts inside the window, and the rates that have them as numerators.

use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::rules;

counters! {
    /// Counts inside `[t0, t1)`, whichever slots they belong to.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    measured Window;
    #[doc = "Rates over the window, by when things happened: a response counts if it came inside \
             the window,\nwhichever request it belongs to."]
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored Throughput;

    /// Length of the window in seconds: as planned if the plan alone ended it, else from t0 to the
    /// last t1 that a worker observed.
    stored window_s: f64;
    /// Planned requests per second; null in a closed loop, which has no planned rate.
    stored offered_rps: Option<f64>;
    /// Requests sent inside the window.
    counter sent: u64 => rules::sum;
    /// Requests sent per second.
    stored sent_rps: f64;
    /// Kind of bound of the rates of responses: `lower` if the client or the connections limited
    /// them, so that the target's best rate is at least `least_rps`.
    stored bound: Bound, #[serde(default)];
    /// Lower bound of the target's best rate: the lower 95% end of `results.good_rps`; absent if
    /// `bound` is `exact`.
    stored least_rps: Option<f64>, #[serde(default, skip_serializing_if = "Option::is_none")];
    /// Bytes received inside the window, heads included.
    counter bytes_received: u64 => rules::sum;
    /// Bytes received per second.
    stored bytes_per_second: f64;
}

/// An interval of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateInterval {
    /// Lower end of the interval, per second, at least 0.
    pub low_rps: f64,
    /// Upper end of the interval, per second.
    pub high_rps: f64,
}
