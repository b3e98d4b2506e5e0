//! Conditions that end a load early: `errors > 5% for 5s`. They are over the intervals of a running
//! load, with the metrics and units of assertions. When one has held for long enough is decided by
//! the caller, who sees the intervals.

use std::fmt;
use std::str::FromStr;

use weir_result::{Interval, OutcomeClass};
use weir_text::units;

use super::comparison::Relation;
use super::condition::Condition;
use super::metric::{AssertedMetric, AssertionError, Class, Figure, ThroughputRate, Time};

const SECOND_NS: u64 = 1_000_000_000;

/// Longest time for which a condition can be required to hold, in nanoseconds.
const FOR_MAX_NS: u64 = 3600 * SECOND_NS;

/// Word before the time for which a condition must hold.
const FOR: &str = " for ";

/// Example of every message.
const EXAMPLE: &str = "write it like 'errors > 5% for 5s'";

/// Metrics of a running load, for messages.
const METRICS: &str = "errors, bad_response, transport_error, timeouts, p50 to p99.99, max, mean, \
                       rate, good or sent";

/// A condition over the intervals of a running load.
#[derive(Clone, Debug, PartialEq)]
pub struct AbortCondition {
    text: String,
    metric: AssertedMetric,
    comparison: Relation,
    /// Limit in the metric's unit.
    limit: f64,
    /// Time for which the condition must hold, in nanoseconds: whole seconds.
    for_ns: u64,
}

impl FromStr for AbortCondition {
    type Err = AssertionError;

    /// Parses `METRIC OP VALUE [for TIME]`: `errors > 5% for 5s`, `p99 > 1s`, `rate < 100 for 10s`.
    fn from_str(text: &str) -> Result<AbortCondition, AssertionError> {
        let parsed = AbortCondition::parse(text.trim());
        parsed.map_err(|why| AssertionError(format!("{why}; {EXAMPLE}")))
    }
}

impl AbortCondition {
    fn parse(text: &str) -> Result<AbortCondition, String> {
        let (claim, time) = match text.rsplit_once(FOR) {
            Some((claim, time)) => (claim.trim_end(), Some(time.trim())),
            None => (text, None),
        };
        let Condition { name, relation: comparison, limit } = Condition::split(claim, "< <= > >=")?;
        let metric = metric(name)?;
        let limit = metric.unit().parse(limit)?;
        let for_ns = time.map_or(Ok(SECOND_NS), whole_seconds)?;
        Ok(AbortCondition { text: text.to_owned(), metric, comparison, limit, for_ns })
    }

    /// Returns the time for which the condition must hold, in nanoseconds: whole seconds.
    pub fn for_ns(&self) -> u64 {
        self.for_ns
    }

    /// Returns the metric in an interval, in its unit: nanoseconds, a share of 1, per second, or a
    /// count. `None` if the interval has none, because no request ended in it.
    pub fn value(&self, interval: &Interval) -> Option<f64> {
        let failed = |class| match class {
            Class::Of(OutcomeClass::BadResponse) => interval.bad,
            Class::Of(OutcomeClass::TransportError) => interval.errors,
            Class::Of(OutcomeClass::TimedOut) => interval.timed_out,
            _ => interval.bad + interval.errors + interval.timed_out,
        };
        match &self.metric {
            AssertedMetric::Time(_, figure) => {
                let exact = interval.latency.exact();
                match figure {
                    _ if exact.count == 0 => None,
                    Figure::Percentile(p) => interval.latency.percentile(*p).map(|ns| ns as f64),
                    Figure::Max => Some(exact.max_ns as f64),
                    Figure::Mean => Some(exact.sum_ns as f64 / exact.count as f64),
                    Figure::Min => Some(exact.min_ns as f64),
                }
            }
            AssertedMetric::Rate(rate) => {
                let count = match rate {
                    ThroughputRate::Completed => interval.completed,
                    ThroughputRate::Good => interval.completed - interval.bad,
                    ThroughputRate::Sent => interval.sent,
                    ThroughputRate::Bytes => interval.bytes_received,
                };
                let length_s = interval.length_ns as f64 / SECOND_NS as f64;
                (length_s > 0.0).then(|| count as f64 / length_s)
            }
            AssertedMetric::Share(class) => {
                let ended = interval.completed + interval.errors + interval.timed_out;
                (ended > 0).then(|| failed(*class) as f64 / ended as f64)
            }
            AssertedMetric::Count(class) => Some(failed(*class) as f64),
            AssertedMetric::Under(_) | AssertedMetric::Goodput | AssertedMetric::Path(_) => None,
        }
    }

    /// True if the condition holds for a value.
    pub fn holds(&self, value: f64) -> bool {
        self.comparison.holds(value, self.limit)
    }

    /// Formats the values for which it held: `7.2%`, or the least and the greatest of several.
    pub fn in_words(&self, values: &[f64]) -> String {
        let unit = self.metric.unit();
        let print = |value: Option<f64>| unit.print(value.unwrap_or(0.0));
        let least = print(values.iter().copied().min_by(f64::total_cmp));
        let greatest = print(values.iter().copied().max_by(f64::total_cmp));
        if least == greatest { least } else { format!("{least} to {greatest}") }
    }
}

impl fmt::Display for AbortCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses the name of a metric that intervals have.
fn metric(name: &str) -> Result<AssertedMetric, String> {
    if name.contains(':') {
        return Err(format!("'{name}' is of one name of a list, and a condition of all requests"));
    }
    let metric = AssertedMetric::parse(name)?;
    let is_known = match &metric {
        AssertedMetric::Time(Time::RESPONSE, _) | AssertedMetric::Rate(_) => true,
        AssertedMetric::Share(class) | AssertedMetric::Count(class) => is_counted(*class),
        _ => false,
    };
    match is_known {
        true => Ok(metric),
        false => Err(format!("'{name}' is not known while the load goes: use {METRICS}")),
    }
}

/// True if intervals count a class.
fn is_counted(class: Class) -> bool {
    use OutcomeClass::{BadResponse, TimedOut, TransportError};
    matches!(class, Class::Errors | Class::Of(BadResponse | TransportError | TimedOut))
}

/// Parses the time for which a condition must hold.
fn whole_seconds(text: &str) -> Result<u64, String> {
    let ns = units::parse_limit_ns(text)?;
    let is_whole = ns % SECOND_NS == 0 && (SECOND_NS..=FOR_MAX_NS).contains(&ns);
    let why = || format!("'for {text}' must be in whole seconds, from 1s to 1h");
    is_whole.then_some(ns).ok_or_else(why)
}

#[cfg(test)]
mod tests {
    use weir_result::Tally;

    use super::super::unit::Unit;
    use super::*;

    fn condition(text: &str) -> AbortCondition {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Returns an interval of 2 s: 100 responses of 1 to 100 ms, 10 of them bad, and 15 failures.
    fn interval() -> Interval {
        let mut latency = Tally::new();
        (1..=100).for_each(|ms| latency.record(ms * 1_000_000));
        Interval {
            length_ns: 2 * SECOND_NS,
            sent: 120,
            completed: 100,
            bad: 10,
            errors: 10,
            timed_out: 5,
            bytes_received: 4_000,
            latency: latency.take_sparse(),
            ..Interval::default()
        }
    }

    #[test]
    fn metrics_are_those_of_the_interval() {
        for (name, limit, expected) in [
            ("errors", "5%", 25.0 / 115.0),
            ("bad_response", "5%", 10.0 / 115.0),
            ("transport_error", "5%", 10.0 / 115.0),
            ("timeouts", "5%", 5.0 / 115.0),
            ("errors.count", "5", 25.0),
            ("timeouts.count", "5", 5.0),
            ("rate", "5", 50.0),
            ("rps", "5", 50.0),
            ("good", "5", 45.0),
            ("sent", "5", 60.0),
            ("bytes", "5", 2_000.0),
            ("max", "5ms", 100e6),
            ("mean", "5ms", 50.5e6),
        ] {
            let found = condition(&format!("{name} > {limit}")).value(&interval());
            assert_eq!(found, Some(expected), "{name}");
        }
        let p50_ns = condition("p50 > 1s").value(&interval()).expect("100 responses");
        assert!((50e6..50.1e6).contains(&p50_ns), "{p50_ns}");
    }

    #[test]
    fn an_interval_without_requests_has_rates_and_counts_alone() {
        let empty = Interval { length_ns: SECOND_NS, ..Interval::default() };
        for (text, expected) in [
            ("errors > 5%", None),
            ("p99 > 1s", None),
            ("max > 1s", None),
            ("rate < 5", Some(0.0)),
            ("errors.count >= 1", Some(0.0)),
        ] {
            assert_eq!(condition(text).value(&empty), expected, "{text}");
        }
    }

    #[test]
    fn conditions_have_a_comparison_a_limit_and_a_time() {
        for (text, for_s, below, above) in [
            ("errors > 5% for 5s", 5, 0.05, 0.051),
            (" p99>=1s  for 1m ", 60, 0.999e9, 1e9),
            ("rps < 100", 1, 100.0, 99.0),
            ("max <= 2ms for 3s", 3, 2.1e6, 2e6),
        ] {
            let condition = condition(text);
            assert_eq!(condition.for_ns(), for_s * SECOND_NS, "{text}");
            assert_eq!((condition.holds(below), condition.holds(above)), (false, true), "{text}");
            assert_eq!(condition.to_string(), text.trim());
        }
    }

    #[test]
    fn wrong_conditions_are_refused_with_an_example() {
        for (text, part) in [
            ("", "there is no comparison in it"),
            ("errors", "there is no comparison in it"),
            ("errors == 0", "the comparisons are < <= > >="),
            ("errors != 0", "the comparisons are < <= > >="),
            ("errors > x", "'x'"),
            ("p99 > 1", "'1' has no unit: write 1ms or 1s"),
            ("p98.7 > 1s", "'p98.7' is not among the percentiles"),
            ("erors > 5%", "did you mean 'errors'?"),
            ("service.p99 > 1s", "'service.p99' is not known while the load goes: use errors"),
            ("never_sent > 1%", "'never_sent' is not known while the load goes"),
            ("status.5xx > 1%", "'status.5xx' is not known while the load goes"),
            ("plan.load.connections > 1", "is not known while the load goes"),
            ("checkout: p99 > 1s", "'checkout: p99' is of one name of a list"),
            ("errors > 5% for 0s", "'for 0s' must be in whole seconds, from 1s to 1h"),
            ("errors > 5% for 1.5s", "'for 1.5s' must be in whole seconds"),
            ("p99 > 1s for 5", "'5' has no unit: write 5ms or 5s"),
            ("errors > 5% for 2h", "'for 2h' must be in whole seconds"),
            ("errors > 5% for ever", "'ever'"),
        ] {
            let error = text.parse::<AbortCondition>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.ends_with("; write it like 'errors > 5% for 5s'"), "{text}: {error}");
        }
    }

    #[test]
    fn values_are_printed_with_their_unit() {
        assert_eq!(condition("errors > 5%").in_words(&[0.25]), Unit::Share.print(0.25));
        let low = Unit::Nanoseconds.print(1e9);
        let high = Unit::Nanoseconds.print(3e9);
        let found = condition("p99 > 1s for 3s").in_words(&[1e9, 3e9, 2e9]);
        assert_eq!(found, format!("{low} to {high}"));
    }
}
