//! When the requests of a load are due.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::rate::Rate;
use super::replay::ReplayPlan;
use super::stage::{Stage, check_stages, mean_rate, stage_at, total_ns};

/// The load of a run: when its requests are due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Due times of the requests of an open loop, independent of the server (METHOD 1.3). Absent in
    /// a closed loop: each connection sends again as soon as it has room (METHOD 1.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueTimes>,
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
    /// Returns the closed loop.
    pub const fn closed_loop() -> Load {
        Load { due: None }
    }

    /// Returns the open loop of a constant rate.
    pub fn constant(rate: Rate, arrivals: Arrivals) -> Load {
        Load::in_stages(vec![Stage::endless(rate)], arrivals)
    }

    /// Returns the open loop of a rate in stages.
    pub fn in_stages(parts: Vec<Stage>, arrivals: Arrivals) -> Load {
        Load { due: Some(DueTimes::Curve { parts, arrivals }) }
    }

    /// Returns the open loop of a log.
    pub fn of_log(log: ReplayPlan) -> Load {
        Load { due: Some(DueTimes::Log(log)) }
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

    /// Returns the length that the load has by itself, in nanoseconds: that of its stages or of its
    /// log.
    pub fn length_ns(&self) -> Option<u64> {
        match self.stages() {
            [] => self.log().map(|log| log.window_ns),
            stages => Some(total_ns(stages.iter().map(|stage| stage.duration_ns))),
        }
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

    #[test]
    fn a_constant_rate_is_a_curve_of_one_part() {
        let load = Load::constant(rate(50), Arrivals::Uniform);
        assert_eq!((load.rate(), load.constant_rate()), (Some(rate(50)), Some(rate(50))));
        assert_eq!((load.stages().len(), load.length_ns(), load.rate_at(7)), (0, None, Some(50.0)));
        let json = serde_json::to_string(&load).expect("JSON");
        let part =
            r#"{"from":{"numerator":50,"denominator":1},"to":{"numerator":50,"denominator":1}}"#;
        let expected = format!(
            r#"{{"due":{{"curve":{{"parts":[{part}],"arrivals":{{"process":"uniform"}}}}}}}}"#
        );
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Load>(&json).expect("a load"), load);
        assert!(Load::constant(rate(0), Arrivals::Uniform).check().is_err());
        // A part without an end that changes is no constant rate, and nothing that can be planned.
        for changed in [
            Stage { to: rate(9), ..Stage::endless(rate(5)) },
            Stage { burst: 2, ..Stage::endless(rate(5)) },
        ] {
            for parts in [vec![changed], vec![changed, changed]] {
                let load = Load::in_stages(parts, Arrivals::Uniform);
                assert_eq!((load.constant_rate(), load.length_ns()), (None, Some(u64::MAX)));
                assert!(load.check().is_err());
            }
        }
    }

    #[test]
    fn stages_and_logs_have_a_length_and_a_mean() {
        let stages = super::super::parse_stages("1s@100,3s@500").expect("stages");
        let load = Load::in_stages(stages, Arrivals::Uniform);
        assert_eq!((load.length_ns(), load.rate()), (Some(4_000_000_000), Some(rate(400))));
        assert_eq!(
            (load.constant_rate(), load.rate_at(-1), load.rate_at(2_000_000_000)),
            (None, Some(100.0), Some(500.0))
        );
        let log = ReplayPlan { requests: 30, window_ns: 2_000_000_000, ..ReplayPlan::default() };
        let load = Load::of_log(log);
        assert_eq!((load.length_ns(), load.rate()), (Some(2_000_000_000), Some(rate(15))));
        let closed = Load::closed_loop();
        assert_eq!((closed.length_ns(), closed.rate(), closed.rate_at(0)), (None, None, None));
    }
}
