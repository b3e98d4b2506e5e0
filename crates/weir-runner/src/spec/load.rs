//! The load model of a run and its limits in time and number.

use serde::{Deserialize, Serialize};
use weir_result::{Arrivals, ConnectionLoad, ConnectionStage, Load, Stage};

const SECOND_NS: u64 = 1_000_000_000;

/// Load model and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// When requests are due.
    pub model: Load,
    /// True if the seed of random arrivals, of a list's order or of templates was drawn and not
    /// chosen: a study draws another for each of its rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_seed_drawn: bool,
    /// Connections over all threads.
    pub connections: ConnectionLoad,
    /// Greatest number of requests in flight over all threads in an open loop: what is due beyond
    /// it is never sent. Absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<u32>,
    /// Greatest number of requests in flight on one connection, 1 to 128.
    pub pipeline: u16,
    /// Unmeasured load before the window.
    pub warmup: Warmup,
    /// Length of the measured window in nanoseconds; absent if stages have it, or only `requests`
    /// ends it, or the first signal if that is absent too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Number of measured requests after which the run ends; absent if not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Timeout of a response, in nanoseconds.
    pub timeout_ns: u64,
    /// Timeout of a connect, in nanoseconds.
    pub connect_timeout_ns: u64,
    /// Limit of the drain after the window, in nanoseconds; absent: derived from the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_ns: Option<u64>,
}

impl LoadSpec {
    /// Returns the same load in stages, with these arrivals.
    pub fn in_stages(self, stages: Vec<Stage>, arrivals: Arrivals) -> LoadSpec {
        LoadSpec {
            model: Load::in_stages(stages, arrivals),
            duration_ns: None,
            requests: None,
            ..self
        }
    }

    /// Returns the same load as a closed loop in stages of connections.
    pub fn in_connection_stages(self, stages: Vec<ConnectionStage>) -> LoadSpec {
        LoadSpec {
            model: Load::closed_loop(),
            duration_ns: None,
            requests: None,
            connections: ConnectionLoad::Stages(stages),
            in_flight_max: None,
            ..self
        }
    }

    /// True if the load changes in stages.
    pub fn has_stages(&self) -> bool {
        !self.model.stages().is_empty() || !self.connections.stages().is_empty()
    }

    /// Returns the length of the window in nanoseconds; `None` if only a number of requests, or a
    /// signal, ends it.
    pub fn length_ns(&self) -> Option<u64> {
        self.model.length_ns().or(self.connections.length_ns()).or(self.duration_ns)
    }

    /// True if neither a time nor a number of requests ends the window: the first signal does.
    pub fn is_until_signal(&self) -> bool {
        self.length_ns().is_none() && self.requests.is_none()
    }
}

/// A closed loop of 10 connections for 10 s after 2 s of warm-up.
impl Default for LoadSpec {
    fn default() -> LoadSpec {
        LoadSpec {
            model: Load::closed_loop(),
            is_seed_drawn: false,
            connections: ConnectionLoad::Fixed(10),
            in_flight_max: None,
            pipeline: 1,
            warmup: Warmup { span_ns: 2 * SECOND_NS, is_auto: false },
            duration_ns: Some(10 * SECOND_NS),
            requests: None,
            timeout_ns: 10 * SECOND_NS,
            connect_timeout_ns: 10 * SECOND_NS,
            drain_ns: None,
        }
    }
}

/// Unmeasured load before the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// Length in nanoseconds; the maximum if `is_auto`.
    pub span_ns: u64,
    /// True if the warm-up ends as soon as the load is steady.
    pub is_auto: bool,
}
