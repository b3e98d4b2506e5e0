//! Stages of a closed loop, with numbers of connections that change, and the parts of a window that
//! stages of both kinds make.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_text::units;

use super::stage::{Stage, parse_length, stages_fit};

/// Greatest number of connections that come and leave in all stages.
const CHANGES_MAX: u64 = 10_000_000;

/// Example for messages.
const EXAMPLE: &str = "write stages as in 30s@c=10,1m@c=10..500";

/// A stage of a closed loop. The number of connections goes in a straight line from the first to
/// the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionStage {
    /// Length in nanoseconds, at least 1.
    pub duration_ns: u64,
    /// Connections over all threads at its start; may be 0.
    pub from: u32,
    /// Connections over all threads at its end; may be 0.
    pub to: u32,
}

/// Prints the stage in words: `60 s with 10 to 500 connections`.
impl fmt::Display for ConnectionStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with ", units::exact_duration(self.duration_ns))?;
        if self.from != self.to {
            write!(f, "{} to ", units::count(self.from.into()))?;
        }
        let noun = if (self.from, self.to) == (1, 1) { "connection" } else { "connections" };
        write!(f, "{} {noun}", units::count(self.to.into()))
    }
}

/// Reads stages of connections, separated by commas: `30s@c=10` is a constant number,
/// `1m@c=10..500` a ramp.
///
/// # Errors
/// If the text describes none, or more than can be planned; the text says which and why.
pub fn parse_connection_stages(text: &str) -> Result<Vec<ConnectionStage>, String> {
    let stages = text.split(',').map(|stage| parse_stage(stage.trim()));
    let stages = stages.collect::<Result<Vec<ConnectionStage>, String>>()?;
    check_connection_stages(&stages)?;
    Ok(stages)
}

fn parse_stage(text: &str) -> Result<ConnectionStage, String> {
    let (duration_ns, load) = parse_length(text, EXAMPLE)?;
    let connections = load.strip_prefix("c=").ok_or_else(|| {
        format!("{text:?} is a rate: stages are all rates or all connections; {EXAMPLE}")
    })?;
    let (from, to) = connections.split_once("..").unwrap_or((connections, connections));
    let number = |number: &str| {
        let parsed = if number == "0" { Ok(0) } else { units::parse_count(number) };
        let parsed = parsed.ok().and_then(|number| u32::try_from(number).ok());
        parsed.ok_or_else(|| format!("{text:?}: {number:?} is no number of connections; {EXAMPLE}"))
    };
    Ok(ConnectionStage { duration_ns, from: number(from)?, to: number(to)? })
}

/// Checks that stages can be planned.
///
/// # Errors
/// If there are none, they are too many or too long, or have no connection; the text says which.
pub fn check_connection_stages(stages: &[ConnectionStage]) -> Result<(), String> {
    stages_fit(stages.iter().map(|stage| stage.duration_ns))?;
    if most_connections(stages) == 0 {
        return Err("the stages have no connections".to_owned());
    }
    let mut before = 0;
    let mut changes = 0;
    for stage in stages {
        changes +=
            u64::from(stage.from.abs_diff(before)) + u64::from(stage.to.abs_diff(stage.from));
        before = stage.to;
    }
    if changes > CHANGES_MAX {
        return Err(format!(
            "in the stages {} connections come and leave, more than {}",
            units::count(changes),
            units::count(CHANGES_MAX)
        ));
    }
    Ok(())
}

/// Returns the greatest number of connections in stages.
pub(super) fn most_connections(stages: &[ConnectionStage]) -> u32 {
    stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0)
}

/// Returns the index of the stage at an instant, in nanoseconds from t0, and the planned number of
/// connections there: of the first before t0, of the last behind the end.
///
/// # Panics
/// If there are no stages.
pub fn connections_at(stages: &[ConnectionStage], at_ns: i64) -> (usize, u32) {
    let mut left_ns = u64::try_from(at_ns).unwrap_or(0);
    let last = stages.len() - 1;
    for (index, stage) in stages.iter().enumerate() {
        if left_ns < stage.duration_ns || index == last {
            let share = left_ns.min(stage.duration_ns) as f64 / stage.duration_ns as f64;
            let from = f64::from(stage.from);
            let to = f64::from(stage.to);
            return (index, (from + (to - from) * share).round() as u32);
        }
        left_ns -= stage.duration_ns;
    }
    unreachable!("the last stage has no end")
}

/// A part of the window: a stage of either kind.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSpan {
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// True if the load does not change in it.
    pub is_constant: bool,
    /// Mean rate of an open loop in requests per second; 0 in a closed loop.
    pub offered_rps: f64,
    /// The load in words: `60 s at 1,000/s to 5,000/s`.
    pub load: String,
}

impl From<&Stage> for StageSpan {
    fn from(stage: &Stage) -> StageSpan {
        StageSpan {
            duration_ns: stage.duration_ns,
            is_constant: stage.from == stage.to,
            offered_rps: stage.mean_rps(),
            load: stage.to_string(),
        }
    }
}

impl From<&ConnectionStage> for StageSpan {
    fn from(stage: &ConnectionStage) -> StageSpan {
        StageSpan {
            duration_ns: stage.duration_ns,
            is_constant: stage.from == stage.to,
            offered_rps: 0.0,
            load: stage.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_ramps_of_connections_are_read() {
        let stages = parse_connection_stages("30s@c=1, 1m@c=10..5k,10s@c=5k..0").expect("stages");
        let printed: Vec<String> = stages.iter().map(ConnectionStage::to_string).collect();
        assert_eq!(
            printed,
            [
                "30 s with 1 connection",
                "60 s with 10 to 5,000 connections",
                "10 s with 5,000 to 0 connections"
            ]
        );
        assert_eq!(most_connections(&stages), 5_000);
        assert_eq!(connections_at(&stages, -1), (0, 1));
        assert_eq!(connections_at(&stages, 60_000_000_000), (1, 2_505));
        assert_eq!(connections_at(&stages, 1_000_000_000_000), (2, 0));
    }

    #[test]
    fn what_is_no_stage_of_connections_is_named() {
        for (text, part) in [
            ("1m@c=10,1m@500", "all rates or all connections"),
            ("1m@c=", "no number of connections"),
            ("1m@c=1..x", "no number of connections"),
            ("1m@c=0..0", "have no connections"),
            ("0s@c=1", "takes no time"),
            ("1s@c=9M,1s@c=1", "come and leave"),
        ] {
            let error = parse_connection_stages(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
