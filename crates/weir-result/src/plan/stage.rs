//! Stages of an open loop: the text that describes them, and their slots.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_text::units;

use super::Rate;

const SECOND_NS: u128 = 1_000_000_000;

/// Greatest number of stages.
const STAGES_MAX: usize = 10_000;

/// Greatest number of slots of all stages: those that are never sent are counted one by one.
const SLOTS_MAX: u128 = 1_000_000_000;

/// Example for messages.
const EXAMPLE: &str = "write stages as in 30s@1k,1m@1k..5k,10s@50x200";

/// A part of a rate over time, such as a stage. The rate goes in a straight line from the first to
/// the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Length in nanoseconds, at least 1; absent if the part has no end, which is `u64::MAX`.
    #[serde(default = "endless", skip_serializing_if = "is_endless")]
    pub duration_ns: u64,
    /// Rate of arrivals at its start; its numerator may be 0.
    pub from: Rate,
    /// Rate of arrivals at its end; its numerator may be 0.
    pub to: Rate,
    /// Requests of each arrival, at least 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub burst: u32,
}

fn endless() -> u64 {
    u64::MAX
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_endless(duration_ns: &u64) -> bool {
    *duration_ns == u64::MAX
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_one(burst: &u32) -> bool {
    *burst == 1
}

impl Stage {
    /// Returns the part with a rate that never changes.
    pub fn endless(rate: Rate) -> Stage {
        Stage { duration_ns: u64::MAX, from: rate, to: rate, burst: 1 }
    }

    /// True if the part has no end.
    pub fn is_endless(&self) -> bool {
        is_endless(&self.duration_ns)
    }

    /// Returns the rate of requests per second at an instant, in nanoseconds from the start of the
    /// part: behind its end, the rate there.
    pub fn rps_at(&self, at_ns: u64) -> f64 {
        let share = at_ns.min(self.duration_ns) as f64 / self.duration_ns as f64;
        let from = self.from.rps();
        (from + (self.to.rps() - from) * share) * f64::from(self.burst)
    }

    /// Returns the rates of requests per second at its start and at its end.
    pub fn ends_rps(&self) -> [f64; 2] {
        [0, self.duration_ns].map(|at_ns| self.rps_at(at_ns))
    }

    /// Returns the mean rate of requests per second.
    pub fn mean_rps(&self) -> f64 {
        self.ends_rps().iter().sum::<f64>() / 2.0
    }
}

/// Prints the stage in words: `60 s at 1,000/s to 5,000/s`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |rate: Rate| match rate.numerator {
            0 => "0/s".to_owned(),
            _ => rate.to_string(),
        };
        write!(f, "{} at {}", units::exact_duration(self.duration_ns), rate(self.from))?;
        if self.from != self.to {
            write!(f, " to {}", rate(self.to))?;
        }
        match self.burst {
            1 => Ok(()),
            burst => write!(f, ", {} requests each", units::count(burst.into())),
        }
    }
}

/// Reads stages, separated by commas: `30s@1k` is a constant rate, `1m@1k..5k` a ramp, `10s@50x200`
/// are 50 bursts per second of 200 requests.
///
/// # Errors
/// If the text describes none, or more than can be planned; the text says which and why.
pub fn parse_stages(text: &str) -> Result<Vec<Stage>, String> {
    let stages = text.split(',').map(|stage| parse_stage(stage.trim()));
    let stages = stages.collect::<Result<Vec<Stage>, String>>()?;
    check_stages(&stages)?;
    Ok(stages)
}

/// Reads a curve: lines of a time in seconds and a rate per second, separated by a comma, with
/// straight lines between them. A first line of names and empty lines are skipped; the first time
/// is 0.
///
/// # Errors
/// If the text is no curve, or more than can be planned; the text names the line.
pub fn parse_curve(text: &str) -> Result<Vec<Stage>, String> {
    let mut points: Vec<(u64, Rate)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_head = points.is_empty() && line.starts_with(|first: char| first.is_alphabetic());
        if line.is_empty() || line.starts_with('#') || is_head {
            continue;
        }
        let point = parse_point(line).map_err(|why| format!("line {}: {why}", index + 1))?;
        if points.last().is_some_and(|last| last.0 >= point.0) {
            return Err(format!("line {}: the time is not later than the one before", index + 1));
        }
        points.push(point);
    }
    if points.first().is_none_or(|first| first.0 != 0) {
        return Err("the first time is not 0: begin with a line such as 0,100".to_owned());
    }
    let stage = |pair: &[(u64, Rate)]| Stage {
        duration_ns: pair[1].0 - pair[0].0,
        from: pair[0].1,
        to: pair[1].1,
        burst: 1,
    };
    let stages: Vec<Stage> = points.windows(2).map(stage).collect();
    check_stages(&stages)?;
    Ok(stages)
}

fn parse_point(line: &str) -> Result<(u64, Rate), String> {
    let (time, rate) = line.split_once(',').ok_or("it is no time and rate, as in 30,1000")?;
    let time = time.trim();
    let unit = if time.ends_with(|last: char| last.is_ascii_digit()) { "s" } else { "" };
    let at_ns = units::parse_duration_ns(&format!("{time}{unit}"));
    Ok((at_ns.map_err(|error| error.to_string())?, parse_rate(rate.trim())?))
}

fn parse_stage(text: &str) -> Result<Stage, String> {
    let (duration_ns, rates) = parse_length(text, EXAMPLE)?;
    if rates.starts_with("c=") {
        return Err(format!(
            "{text:?} has connections: stages are all rates or all connections; {EXAMPLE}"
        ));
    }
    let (rates, burst) = match rates.split_once('x') {
        Some((rates, burst)) => (rates, parse_burst(burst, text)?),
        None => (rates, 1),
    };
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    Ok(Stage { duration_ns, from: parse_rate(from)?, to: parse_rate(to)?, burst })
}

/// Reads the length of a stage; returns it, and the text of the stage's load.
pub(super) fn parse_length<'t>(text: &'t str, example: &str) -> Result<(u64, &'t str), String> {
    let (duration, load) =
        text.split_once('@').ok_or_else(|| format!("{text:?} has no rate: {example}"))?;
    let duration_ns = units::parse_duration_ns(duration).map_err(|error| error.to_string())?;
    match duration_ns {
        0 => Err(format!("{text:?} takes no time: {example}")),
        _ => Ok((duration_ns, load)),
    }
}

fn parse_burst(burst: &str, text: &str) -> Result<u32, String> {
    let requests = units::parse_count(burst).ok().and_then(|burst| u32::try_from(burst).ok());
    requests
        .filter(|requests| *requests > 0)
        .ok_or_else(|| format!("{text:?}: {burst:?} is no number of requests: {EXAMPLE}"))
}

/// Reads a rate; 0 is one.
fn parse_rate(text: &str) -> Result<Rate, String> {
    match text {
        "0" => Ok(Rate { numerator: 0, denominator: 1 }),
        _ => text.parse().map_err(|error: units::ParseError| error.to_string()),
    }
}

/// Returns the mean rate of requests of stages, to a thousandth per second, at least one.
pub fn mean_rate(stages: &[Stage]) -> Rate {
    let duration_ns = total_ns(stages.iter().map(|stage| stage.duration_ns));
    rounded_rate(requests_of(stages) / (duration_ns as f64 / 1e9))
}

/// Returns the sum of the lengths of stages, in nanoseconds.
pub(super) fn total_ns(lengths_ns: impl Iterator<Item = u64>) -> u64 {
    lengths_ns.fold(0, u64::saturating_add)
}

/// Returns a rate to a thousandth per second, at least one.
pub(super) fn rounded_rate(rps: f64) -> Rate {
    let numerator = (rps * 1e3).round().max(1.0) as u64;
    let denominator = 1_000;
    let mut x = numerator;
    let mut y = denominator;
    while y != 0 {
        (x, y) = (y, x % y);
    }
    Rate { numerator: numerator / x, denominator: denominator / x }
}

fn requests_of(stages: &[Stage]) -> f64 {
    stages.iter().map(|stage| stage.mean_rps() * stage.duration_ns as f64 / 1e9).sum()
}

/// Returns the index of the stage at an instant, in nanoseconds from t0, and its rate there in
/// requests per second: of the first before t0, of the last behind the end.
///
/// # Panics
/// If there are no stages.
pub fn stage_at(stages: &[Stage], at_ns: i64) -> (usize, f64) {
    let mut left_ns = u64::try_from(at_ns).unwrap_or(0);
    let last = stages.len() - 1;
    for (index, stage) in stages.iter().enumerate() {
        if left_ns < stage.duration_ns || index == last {
            return (index, stage.rps_at(left_ns));
        }
        left_ns -= stage.duration_ns;
    }
    unreachable!("the last stage has no end")
}

/// Checks that stages can be planned.
///
/// # Errors
/// If there are none, they are too many or too long, or have no slot; the text says which.
pub fn check_stages(stages: &[Stage]) -> Result<(), String> {
    stages_fit(stages.iter().map(|stage| stage.duration_ns))?;
    let denominator = stages
        .iter()
        .flat_map(|stage| [stage.from, stage.to])
        .try_fold(1_u64, |product, rate| lcm(product, rate.denominator));
    if denominator.is_none_or(|denominator| denominator > 1_000_000) {
        return Err("the rates have too many digits behind the point".to_owned());
    }
    let slots = requests_of(stages);
    if slots < 1.0 {
        return Err("the stages send nothing: their rates are too low".to_owned());
    }
    if slots > SLOTS_MAX as f64 {
        return Err(format!("the stages have more than {} requests", units::count(1_000_000_000)));
    }
    Ok(())
}

/// Checks the number and the lengths of stages.
pub(super) fn stages_fit(lengths_ns: impl ExactSizeIterator<Item = u64>) -> Result<(), String> {
    let stages = lengths_ns.len();
    if !(1..=STAGES_MAX).contains(&stages) {
        return Err(format!("there are {stages} stages, not 1 to {STAGES_MAX}"));
    }
    let total_ns: u128 = lengths_ns.map(u128::from).sum();
    if total_ns > 30 * 86_400 * SECOND_NS {
        return Err("the stages are longer than 30 days".to_owned());
    }
    Ok(())
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let mut x = a;
    let mut y = b;
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Vec<String> {
        let stages = parse_stages(text).expect("stages");
        stages.iter().map(Stage::to_string).collect()
    }

    #[test]
    fn steps_ramps_and_bursts_are_read() {
        let stages = printed("30s@1k, 1m@1k..5k,10s@50x200,1m@0..1/2s");
        assert_eq!(stages[0], "30 s at 1,000/s");
        assert_eq!(stages[1], "60 s at 1,000/s to 5,000/s");
        assert_eq!(stages[2], "10 s at 50/s, 200 requests each");
        assert_eq!(stages[3], "60 s at 0/s to 0.5/s");
    }

    #[test]
    fn a_stage_has_its_rate_at_each_instant() {
        let stages = parse_stages("10s@100,10s@100..200,10s@5x10").expect("stages");
        for (seconds, expected) in [
            (-5, (0, 100.0)),
            (0, (0, 100.0)),
            (10, (1, 100.0)),
            (15, (1, 150.0)),
            (20, (2, 50.0)),
            (99, (2, 50.0)),
        ] {
            assert_eq!(stage_at(&stages, seconds * 1_000_000_000), expected, "{seconds} s");
        }
    }

    #[test]
    fn the_mean_of_stages_is_over_their_time() {
        for (text, expected) in [
            ("1s@200,20s@200..5k", "2,485.714/s"),
            ("10s@50x200", "10,000/s"),
            ("1h@1/1h", "0.001/s"),
        ] {
            assert_eq!(mean_rate(&parse_stages(text).expect(text)).to_string(), expected);
        }
    }

    #[test]
    fn a_curve_has_a_ramp_between_two_lines() {
        let stages = parse_curve("time,rate\n0,100\n\n30,100\n90s,500.5\n").expect("a curve");
        let lengths: Vec<u64> = stages.iter().map(|stage| stage.duration_ns).collect();
        assert_eq!(lengths, [30_000_000_000, 60_000_000_000]);
        assert_eq!(stages[1].to, Rate { numerator: 1_001, denominator: 2 });
    }

    #[test]
    fn what_is_no_stage_is_named_with_the_remedy() {
        for (text, part) in [
            ("", "has no rate"),
            ("30s", "has no rate"),
            ("30s@", "rate"),
            ("0s@5", "takes no time"),
            ("1m@5,1m@c=10..500", "all rates or all connections"),
            ("1m@50x0", "no number of requests"),
            ("10s@0", "send nothing"),
            ("40d@1", "40d"),
            ("1h@1m", "more than 1,000,000,000 requests"),
        ] {
            let error = parse_stages(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        for (text, part) in [
            ("", "first time"),
            ("5,1\n6,1", "first time"),
            ("0,1\n0,2", "line 2: the time"),
            ("0,1\n5 2", "line 2: it is no time"),
        ] {
            let error = parse_curve(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
