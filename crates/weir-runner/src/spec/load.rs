//! The load model of a run and its limits in time and number.

use serde::{Deserialize, Serialize};
use weir_result::{Arrivals, ConnectionStage, Load, Stage, most_connections};

const SECOND_NS: u64 = 1_000_000_000;

/// Load model and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// When requests are due.
    pub model: Load,
    /// Stages of a closed loop, which are the whole window; absent if the number of connections is
    /// constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connection_stages: Vec<ConnectionStage>,
    /// True if the seed of random arrivals, of a list's order or of templates was drawn and not
    /// chosen: a study draws another for each of its rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_seed_drawn: bool,
    /// Connections over all threads, at least 1: with stages of connections the greatest number,
    /// with `connections_max` those at the start.
    pub connections: u32,
    /// Greatest number of connections of an open loop, which opens a further one if none has room
    /// for a request that is due; absent if their number is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u32>,
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
            connections: most_connections(&stages),
            connections_max: None,
            in_flight_max: None,
            connection_stages: stages,
            ..self
        }
    }

    /// True if the load changes in stages.
    pub fn has_stages(&self) -> bool {
        !self.model.stages().is_empty() || !self.connection_stages.is_empty()
    }

    /// Returns the greatest number of connections.
    pub fn most_connections(&self) -> u32 {
        self.connections_max.unwrap_or(self.connections)
    }

    /// Returns the length of the window in nanoseconds; `None` if only a number of requests, or a
    /// signal, ends it.
    pub fn length_ns(&self) -> Option<u64> {
        let connections = self.connection_stages.iter().map(|stage| stage.duration_ns);
        let connections = Some(connections.sum()).filter(|_| !self.connection_stages.is_empty());
        self.model.length_ns().or(connections).or(self.duration_ns)
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
            connection_stages: Vec::new(),
            is_seed_drawn: false,
            connections: 10,
            connections_max: None,
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
