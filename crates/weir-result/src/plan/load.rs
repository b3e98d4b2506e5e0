//! The load of a run: the due times of its requests, its connections, its limits and its end.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::connection_load::ConnectionLoad;
use super::connection_stage::{ConnectionStage, StageSpan};
use super::rate::Rate;
use super::replay::ReplayPlan;
use super::stage::{Stage, check_stages, mean_rate, stage_at, total_ns};

const SECOND_NS: u64 = 1_000_000_000;

/// The load of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Due times of the requests of an open loop, independent of the server (METHOD 1.3). Absent in
    /// a closed loop: each connection sends again as soon as it has room (METHOD 1.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueTimes>,
    /// Number of connections over all threads.
    pub connections: ConnectionLoad,
    /// Greatest number of requests in flight over all threads in an open loop, at least the number
    /// of threads. A request that is due beyond it is shed. Absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<u32>,
    /// Greatest number of requests in flight on one connection with HTTP/1, 1 to 128.
    pub pipeline: u16,
    /// Unmeasured load before the window.
    pub warmup: Warmup,
    /// Length of the measured window in nanoseconds; null if stages or a log have it, or only
    /// `requests` ends it, or the first signal if that is null too.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// Number of measured requests after which the run ends; null if not limited.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Conditions of which each ends the load early: `errors > 5% for 5s`. Absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort: Vec<String>,
    /// Timeout of a response, from the send, in nanoseconds.
    pub timeout_ns: u64,
    /// Timeout of a connect, in nanoseconds.
    pub connect_timeout_ns: u64,
    /// Limit of the drain after the window, in nanoseconds; null: the longer of 1 s and 20% of
    /// the window, but at most `timeout_ns`, which is also the limit with `requests` alone; 1 s
    /// if a signal ends the window.
    #[serde(default)]
    pub drain_ns: Option<u64>,
}

/// Unmeasured load before the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warmup {
    /// Length in nanoseconds; the maximum if `is_auto`.
    pub span_ns: u64,
    /// True if the window begins as soon as the load is steady (METHOD 1.12).
    pub is_auto: bool,
}

/// A closed loop of 10 connections for 10 s after 2 s of warm-up.
impl Default for Load {
    fn default() -> Load {
        Load {
            due: None,
            connections: ConnectionLoad::Fixed(10),
            in_flight_max: None,
            pipeline: 1,
            warmup: Warmup { span_ns: 2 * SECOND_NS, is_auto: false },
            duration_ns: Some(10 * SECOND_NS),
            requests: None,
            abort: Vec::new(),
            timeout_ns: 10 * SECOND_NS,
            connect_timeout_ns: 10 * SECOND_NS,
            drain_ns: None,
        }
    }
}

/// Due times of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DueTimes {
    /// A rate over time, over all threads.
    Curve {
        /// Parts that follow each other from the start of the window on; the warm-up has the first
        /// rate. A constant rate is one part without an end; others are stages.
        parts: Vec<Stage>,
        /// Arrival process.
        arrivals: Arrivals,
    },
    /// Times of a log, whose requests are those of the list.
    Log(ReplayPlan),
}

impl Load {
    /// Returns the same load at a rate in stages, which last as long as they say.
    #[must_use]
    pub fn in_stages(self, parts: Vec<Stage>, arrivals: Arrivals) -> Load {
        let due = Some(DueTimes::in_stages(parts, arrivals));
        Load { due, duration_ns: None, requests: None, ..self }
    }

    /// Returns the same load as a closed loop in stages of connections.
    #[must_use]
    pub fn in_connection_stages(self, stages: Vec<ConnectionStage>) -> Load {
        let connections = ConnectionLoad::Stages(stages);
        Load {
            due: None,
            connections,
            in_flight_max: None,
            duration_ns: None,
            requests: None,
            ..self
        }
    }

    /// True if requests are due at planned times.
    pub fn is_open_loop(&self) -> bool {
        self.due.is_some()
    }

    /// Returns the rate of an open loop over all threads: of stages and of a log their mean, to a
    /// thousandth per second and at least one. `None` in a closed loop.
    pub fn rate(&self) -> Option<Rate> {
        Some(match self.due.as_ref()? {
            DueTimes::Curve { parts, .. } => match constant(parts) {
                Some(rate) => rate,
                None => mean_rate(parts),
            },
            DueTimes::Log(log) => log.mean_rate(),
        })
    }

    /// Returns the rate if it is the same all the time.
    pub fn constant_rate(&self) -> Option<Rate> {
        match self.due.as_ref()? {
            DueTimes::Curve { parts, .. } => constant(parts),
            DueTimes::Log(_) => None,
        }
    }

    /// Returns the rate at an instant, in nanoseconds from the start of the window, in requests per
    /// second; of a log its mean. `None` in a closed loop.
    pub fn rate_at(&self, at_ns: i64) -> Option<f64> {
        match self.stages() {
            [] => self.rate().map(Rate::rps),
            stages => Some(stage_at(stages, at_ns).1),
        }
    }

    /// Returns the arrival process of a rate; `None` in a closed loop and of a log.
    pub fn arrivals(&self) -> Option<Arrivals> {
        match self.due.as_ref()? {
            DueTimes::Curve { arrivals, .. } => Some(*arrivals),
            DueTimes::Log(_) => None,
        }
    }

    /// Returns the seed of random arrivals.
    pub fn seed_mut(&mut self) -> Option<&mut u64> {
        match self.due.as_mut()? {
            DueTimes::Curve { arrivals: Arrivals::Poisson { seed }, .. } => Some(seed),
            _ => None,
        }
    }

    /// Returns the stages of a rate; none if it is constant.
    pub fn stages(&self) -> &[Stage] {
        match &self.due {
            Some(DueTimes::Curve { parts, .. }) if constant(parts).is_none() => parts,
            _ => &[],
        }
    }

    /// Returns the log whose times are those of the requests.
    pub fn log(&self) -> Option<&ReplayPlan> {
        match &self.due {
            Some(DueTimes::Log(log)) => Some(log),
            _ => None,
        }
    }

    /// Returns the stages of the window; none if its load is one.
    pub fn stage_spans(&self) -> Vec<StageSpan> {
        let rates = self.stages().iter().map(StageSpan::from);
        rates.chain(self.connections.stages().iter().map(StageSpan::from)).collect()
    }

    /// Returns the number of stages; 0 if the load of the window is one.
    pub fn stage_count(&self) -> usize {
        self.stages().len() + self.connections.stages().len()
    }

    /// True if the load is the same in the whole window: neither in stages nor a replayed log.
    pub fn is_one_load(&self) -> bool {
        self.stage_count() == 0 && self.log().is_none()
    }

    /// Returns the length that the load has by itself, in nanoseconds: that of its stages or of its
    /// log.
    pub fn own_length_ns(&self) -> Option<u64> {
        let of_rate = match self.stages() {
            [] => self.log().map(|log| log.window_ns),
            stages => Some(total_ns(stages.iter().map(|stage| stage.duration_ns))),
        };
        of_rate.or(self.connections.length_ns())
    }

    /// Returns the length of the window in nanoseconds; `None` if only a number of requests, or a
    /// signal, ends it.
    pub fn length_ns(&self) -> Option<u64> {
        self.own_length_ns().or(self.duration_ns)
    }

    /// True if neither a time nor a number of requests ends the window: the first signal does,
    /// unless a list ends before.
    pub fn is_until_signal(&self) -> bool {
        self.length_ns().is_none() && self.requests.is_none()
    }

    /// Checks that the load can be planned.
    ///
    /// # Errors
    /// If a rate is 0, or the stages are none, too many or too long; the text says which.
    pub fn check(&self) -> Result<(), String> {
        let Some(DueTimes::Curve { parts, .. }) = &self.due else { return Ok(()) };
        let is_zero = |rate: Rate| rate.numerator == 0 || rate.denominator == 0;
        match constant(parts) {
            Some(rate) if is_zero(rate) => Err("its rate is 0: give one above 0".to_owned()),
            Some(_) => Ok(()),
            None => check_stages(parts),
        }
    }
}

impl DueTimes {
    /// Returns the times of a constant rate.
    pub fn constant(rate: Rate, arrivals: Arrivals) -> DueTimes {
        DueTimes::in_stages(vec![Stage::endless(rate)], arrivals)
    }

    /// Returns the times of a rate in stages.
    pub fn in_stages(parts: Vec<Stage>, arrivals: Arrivals) -> DueTimes {
        DueTimes::Curve { parts, arrivals }
    }
}

/// Prints the load in words, without the seed: `500/s`, `30 s at 1,000/s, 60 s at 1,000/s to
/// 5,000/s, poisson`.
impl fmt::Display for DueTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, arrivals) = match self {
            DueTimes::Curve { parts, arrivals } => (parts, arrivals),
            DueTimes::Log(log) => return f.write_str(&log.in_words()),
        };
        match constant(parts) {
            Some(rate) => write!(f, "{rate}")?,
            None => {
                let stages: Vec<String> = parts.iter().map(Stage::to_string).collect();
                f.write_str(&stages.join(", "))?;
            }
        }
        match arrivals {
            Arrivals::Uniform => Ok(()),
            Arrivals::Poisson { .. } => f.write_str(", poisson"),
        }
    }
}

/// Returns the rate of the part without an end, if it is the only one and never changes.
fn constant(parts: &[Stage]) -> Option<Rate> {
    match parts {
        [only] if *only == Stage::endless(only.from) => Some(only.from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(numerator: u64) -> Rate {
        Rate { numerator, denominator: 1 }
    }

    fn at(rate: Rate) -> Load {
        Load { due: Some(DueTimes::constant(rate, Arrivals::Uniform)), ..unbounded() }
    }

    fn unbounded() -> Load {
        Load { duration_ns: None, ..Load::default() }
    }

    #[test]
    fn a_constant_rate_is_a_curve_of_one_part() {
        let load = at(rate(50));
        assert_eq!((load.rate(), load.constant_rate()), (Some(rate(50)), Some(rate(50))));
        assert_eq!((load.stage_count(), load.own_length_ns()), (0, None));
        assert_eq!(load.rate_at(7), Some(50.0));
        let json = serde_json::to_string(&load.due).expect("JSON");
        let part =
            r#"{"from":{"numerator":50,"denominator":1},"to":{"numerator":50,"denominator":1}}"#;
        let expected =
            format!(r#"{{"curve":{{"parts":[{part}],"arrivals":{{"process":"uniform"}}}}}}"#);
        assert_eq!(json, expected);
        let whole = serde_json::to_string(&load).expect("JSON");
        assert_eq!(serde_json::from_str::<Load>(&whole).expect("a load"), load);
        assert!(at(rate(0)).check().is_err());
        // A part without an end that changes is no constant rate, and nothing that can be planned.
        for changed in [
            Stage { to: rate(9), ..Stage::endless(rate(5)) },
            Stage { burst: 2, ..Stage::endless(rate(5)) },
        ] {
            for parts in [vec![changed], vec![changed, changed]] {
                let load = Load::default().in_stages(parts, Arrivals::Uniform);
                assert_eq!((load.constant_rate(), load.length_ns()), (None, Some(u64::MAX)));
                assert!(load.check().is_err());
            }
        }
    }

    #[test]
    fn stages_and_logs_have_a_length_and_a_mean() {
        let stages = super::super::parse_stages("1s@100,3s@500").expect("stages");
        let load = Load::default().in_stages(stages, Arrivals::Uniform);
        assert_eq!((load.length_ns(), load.rate()), (Some(4_000_000_000), Some(rate(400))));
        assert_eq!(
            (load.constant_rate(), load.rate_at(-1), load.rate_at(2_000_000_000)),
            (None, Some(100.0), Some(500.0))
        );
        let log = ReplayPlan { requests: 30, window_ns: 2_000_000_000, ..ReplayPlan::default() };
        let load = Load { due: Some(DueTimes::Log(log)), ..unbounded() };
        assert_eq!((load.length_ns(), load.rate()), (Some(2_000_000_000), Some(rate(15))));
        let closed = unbounded();
        assert_eq!((closed.length_ns(), closed.rate(), closed.rate_at(0)), (None, None, None));
    }
}
