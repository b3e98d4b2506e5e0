//! Thresholds that a document is judged by: `p99 < 5ms`. A number that is only known within an
//! interval passes or fails with the whole of it; else it is undecided, and what would decide it is
//! said. No flag and no exit code is known here.

mod estimate;
mod longer;
mod metric;
mod path;
mod unit;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::document::Document;
use estimate::{Estimate, estimate};
use metric::Metric;
use unit::Unit;

/// A threshold: a number of the document, a comparison, a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    text: String,
    metric: Metric,
    comparison: Comparison,
    /// In the metric's unit.
    limit: f64,
}

/// Why a text is no assertion: a fragment that fits after "invalid value: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AssertionError(String);

/// How an assertion came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AssertionOutcome {
    /// It holds, with the whole interval.
    Pass,
    /// It does not, with the whole interval.
    Fail,
    /// The limit lies within the interval, or the number is not known. Not a pass: a run that is
    /// too short to tell must not turn a gate green.
    Undecided,
}

impl fmt::Display for AssertionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AssertionOutcome::Pass => "pass",
            AssertionOutcome::Fail => "fail",
            AssertionOutcome::Undecided => "undecided",
        })
    }
}

/// An assertion and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AssertionResult {
    /// As it was given.
    pub assertion: String,
    /// How it came out.
    pub outcome: AssertionOutcome,
    /// The number, in nanoseconds, per second, as a share of 1 or as a plain number; null when it
    /// is not known.
    pub value: Option<f64>,
    /// Lower end of its 95% interval within this run; the value itself where it has none.
    pub low: Option<f64>,
    /// Upper end; null also when nothing bounds it.
    pub high: Option<f64>,
    /// The limit, in the same unit.
    pub limit: f64,
    /// What was measured, in words.
    pub measured: String,
    /// What would decide it; null when it is decided, or nothing would.
    pub advice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

/// Longer ones first: `<=` begins like `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

impl FromStr for Assertion {
    type Err = AssertionError;

    /// Reads `METRIC OP VALUE`: `p99 < 5ms`, `errors<=0.1%`, `rate >= 50k`.
    fn from_str(text: &str) -> Result<Assertion, AssertionError> {
        let refuse = |why: String| Err(AssertionError(why));
        let Some(at) = text.find(['<', '>', '=', '!']) else {
            return refuse("there is no comparison in it; write it like 'p99 < 5ms'".to_owned());
        };
        let (name, rest) = text.split_at(at);
        let found = COMPARISONS.iter().find_map(|(sign, comparison)| {
            rest.strip_prefix(sign).map(|value| (value.trim(), *comparison))
        });
        let (name, Some((value, comparison))) = (name.trim(), found) else {
            return refuse("the comparisons are < <= > >= == !=".to_owned());
        };
        let metric = Metric::parse(name).map_err(AssertionError)?;
        let unit = metric.unit();
        let limit = unit.parse(value).map_err(AssertionError)?;
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if is_equality && metric.is_measured() {
            return refuse(format!("{name} is never exactly equal to anything; write < or >"));
        }
        if limit == 0.0 && unit == Unit::Share && !is_equality {
            return refuse(format!(
                "no run is long enough to show that; write '{name} == 0' to ask for none in this \
                 run"
            ));
        }
        Ok(Assertion { text: text.trim().to_owned(), metric, comparison, limit })
    }
}

impl Assertion {
    /// Judges a document. A pure function of it: judged again, or after it was loaded, it comes out
    /// the same.
    pub fn judge(&self, document: &Document) -> AssertionResult {
        let unit = self.metric.unit();
        let result = AssertionResult {
            assertion: self.text.clone(),
            outcome: AssertionOutcome::Undecided,
            value: None,
            low: None,
            high: None,
            limit: self.limit,
            measured: String::new(),
            advice: None,
        };
        let estimate = match estimate(&self.metric, document) {
            Ok(estimate) if self.asks_for_this_run() => estimate.of_this_run(),
            Ok(estimate) => estimate,
            Err(missing) => {
                let (measured, advice) = (missing.why, missing.advice);
                return AssertionResult { measured, advice, ..result };
            }
        };
        let outcome = self.comparison.judge(estimate.low, estimate.high, self.limit);
        let is_open = outcome == AssertionOutcome::Undecided;
        AssertionResult {
            outcome,
            value: Some(estimate.value),
            low: Some(estimate.low),
            high: estimate.high,
            measured: in_words(&estimate, unit),
            advice: is_open.then(|| {
                let judge = |low, high| self.comparison.judge(low, high, self.limit);
                longer::advice(&estimate, document, judge)
            }),
            ..result
        }
    }

    /// Whether only what this run counted matters, and not what it stands for.
    fn asks_for_this_run(&self) -> bool {
        matches!(self.comparison, Comparison::Equal | Comparison::Unequal)
    }
}

impl Comparison {
    /// What is known from a number between `low` and `high`, without an upper end if `None`.
    fn judge(self, low: f64, high: Option<f64>, limit: f64) -> AssertionOutcome {
        let high = high.unwrap_or(f64::INFINITY);
        let (holds, fails) = match self {
            Comparison::Less => (high < limit, low >= limit),
            Comparison::AtMost => (high <= limit, low > limit),
            Comparison::More => (low > limit, high <= limit),
            Comparison::AtLeast => (low >= limit, high < limit),
            Comparison::Equal => (low == limit && high == limit, low > limit || high < limit),
            Comparison::Unequal => (low > limit || high < limit, low == limit && high == limit),
        };
        match (holds, fails) {
            (true, _) => AssertionOutcome::Pass,
            (false, true) => AssertionOutcome::Fail,
            (false, false) => AssertionOutcome::Undecided,
        }
    }
}

/// `4.21 ms (4.05 ms to 4.40 ms)`, `> 2.00 s`.
fn in_words(estimate: &Estimate, unit: Unit) -> String {
    let Estimate { value, low, high, is_bound, .. } = *estimate;
    if is_bound {
        return format!("> {}", unit.print_at_least(value));
    }
    match high {
        Some(high) if high == low => unit.print(value),
        Some(high) => {
            format!("{} ({} to {})", unit.print(value), unit.print(low), unit.print(high))
        }
        None => format!("{} ({} or more)", unit.print(value), unit.print(low)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sign: &str, (low, high): (f64, Option<f64>), expected: AssertionOutcome) {
        let comparison = COMPARISONS.iter().find(|(known, _)| *known == sign).expect("a sign").1;
        assert_eq!(comparison.judge(low, high, 5.0), expected, "{low} to {high:?} {sign} 5");
    }

    #[test]
    fn an_interval_passes_or_fails_as_a_whole() {
        use AssertionOutcome::{Fail, Pass, Undecided};
        for (sign, below, ends_at, around, begins_at, above) in [
            ("<", Pass, Undecided, Undecided, Fail, Fail),
            ("<=", Pass, Pass, Undecided, Undecided, Fail),
            (">", Fail, Fail, Undecided, Undecided, Pass),
            (">=", Fail, Undecided, Undecided, Pass, Pass),
            ("==", Fail, Undecided, Undecided, Undecided, Fail),
            ("!=", Pass, Undecided, Undecided, Undecided, Pass),
        ] {
            check(sign, (3.0, Some(4.0)), below);
            check(sign, (4.0, Some(5.0)), ends_at);
            check(sign, (4.0, Some(6.0)), around);
            check(sign, (5.0, Some(6.0)), begins_at);
            check(sign, (6.0, Some(7.0)), above);
            check(sign, (4.0, None), Undecided);
            check(sign, (6.0, None), above);
        }
        check("==", (5.0, Some(5.0)), Pass);
        check("!=", (5.0, Some(5.0)), Fail);
    }

    #[track_caller]
    fn wrong(text: &str, parts: &[&str]) {
        let error = text.parse::<Assertion>().expect_err(text).to_string();
        for part in parts {
            assert!(error.contains(part), "'{text}' lacks {part:?}: {error}");
        }
    }

    #[test]
    fn what_is_no_assertion_is_told_with_the_remedy() {
        wrong("", &["no comparison", "p99 < 5ms"]);
        wrong("p99", &["no comparison", "p99 < 5ms"]);
        wrong("p99 = 5ms", &["< <= > >= == !="]);
        wrong("< 5ms", &["names no metric", "p99"]);
        wrong("p98 < 5ms", &["p98", "p95", "p99"]);
        wrong("p99.95.1 < 5ms", &["p99.95.1"]);
        wrong("p99 < 5", &["5ms"]);
        wrong("p99 <", &["a number is missing", "5"]);
        wrong("p99 < fast", &["'fast'", "500ms"]);
        wrong("p99 < 5%", &["'5%'"]);
        wrong("p99 == 5ms", &["never exactly equal", "<"]);
        wrong("rate == 5", &["never exactly equal"]);
        wrong("eror < 1%", &["eror", "errors"]);
        wrong("servce.p99 < 5ms", &["servce.p99", "service"]);
        wrong("service.p98 < 5ms", &["p98", "p99"]);
        wrong("acounting.ok > 5", &["acounting", "accounting"]);
        wrong("errors < 5ms", &["'5ms'", "0.1%"]);
        wrong("errors < 200%", &["more than all"]);
        wrong("errors <= 0", &["errors == 0"]);
        wrong("errors.count < 1.5", &["no whole number"]);
        wrong("rate > much", &["'much'", "20k"]);
        wrong("status.6xx < 1%", &["status.6xx", "status.5xx"]);
        wrong("nonsense < 1", &["nonsense", "docs/ASSERTIONS.md"]);
    }

    #[test]
    fn what_is_an_assertion() {
        for (text, limit) in [
            ("p99 < 5ms", 5e6),
            ("p99<5ms", 5e6),
            ("  p99.9  <=  1.5 s ", 1.5e9),
            ("service.p99 > 0ms", 0.0),
            ("response_time.p50 < 100us", 1e5),
            ("connect.max < 1s", 1e9),
            ("mean >= 2ms", 2e6),
            ("rate >= 50k", 5e4),
            ("completed > 0", 0.0),
            ("good > 100/m", 100.0 / 60.0),
            ("bytes > 3MB/s", 3e6),
            ("errors < 0.1%", 0.001),
            ("errors < 0.001", 0.001),
            ("errors == 0", 0.0),
            ("errors.count <= 3", 3.0),
            ("timeouts.count == 0", 0.0),
            ("status.5xx < 1%", 0.01),
            ("status.404.count != 2k", 2000.0),
            ("throughput.completed_rps > 5k", 5e3),
            ("latency.service_time.ok.max_ns < 5ms", 5e6),
            ("latency.service_time.ok.percentiles.0.ns < 5ms", 5e6),
            ("throughput.window_s >= 10s", 10.0),
            ("run.client.max_resident_bytes < 64Mi", 67_108_864.0),
            ("accounting.never_sent == 0", 0.0),
            ("health.steal < 0.01", 0.01),
            ("health.steal < 1%", 0.01),
            ("slices.0.completed > 5", 5.0),
        ] {
            let assertion: Assertion = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((assertion.limit - limit).abs() <= 1e-12 * limit, "{text}: {assertion:?}");
            assert_eq!(assertion.text, text.trim());
        }
    }
}
