//! The result for programs that track benchmarks over commits: the Metric Format of Bencher, and
//! the custom arrays of github-action-benchmark.
//!
//! They compare a number with earlier ones of the same name. A value that is a bound has a name of
//! its own, so that it is never compared with exact values; an unknown value is left out.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use weir_result::Document;
use weir_result::quantile::Bound;
use weir_result::study::{MetricOverRuns, Repetition};
use weir_text::units;
use weir_verdict::NamedMetric;

use crate::json;

/// Metrics whose smaller values are better.
const SMALLER: [&str; 6] = ["p50", "p90", "p99", "p99.9", "mean", "errors"];

/// Metrics whose greater values are better.
const BIGGER: [&str; 2] = ["rate", "good"];

/// Greatest length of a benchmark's name in characters; Bencher refuses longer ones.
const NAME_MAX: usize = 1_024;

/// A run, or equal runs with their means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs<'d> {
    /// The documents.
    pub(crate) documents: Vec<&'d Document>,
    /// Means over several runs.
    pub(crate) means: Option<&'d Repetition>,
}

impl<'d> Runs<'d> {
    /// A single run.
    pub(crate) fn one(document: &'d Document) -> Runs<'d> {
        Runs { documents: vec![document], means: None }
    }
}

/// Writes the Metric Format of Bencher: times in nanoseconds, rates per second, shares of 1.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_bencher(runs: &Runs<'_>, out: &mut dyn Write) -> io::Result<()> {
    let measures = SMALLER.iter().chain(&BIGGER).filter_map(|name| {
        let value = Tracked::of(runs, name)?;
        let measure = match *name {
            // The measure that every project has, in operations per second.
            "rate" => "throughput",
            name => name,
        };
        let mut entry = json!({ "value": value.value });
        if let Some((low, high)) = value.interval {
            entry["lower_value"] = low.into();
            entry["upper_value"] = high.into();
        }
        Some((format!("{measure}{}", value.suffix()), entry))
    });
    let measures: Map<String, Value> = measures.collect();
    let benchmarks = runs.documents.first().map(|first| (benchmark(first), measures.into()));
    json::write_value(&Value::Object(benchmarks.into_iter().collect()), out)
}

/// Writes the metrics whose smaller values are better, for `customSmallerIsBetter`: times in
/// milliseconds, errors in percent.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_smaller(runs: &Runs<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_entries(runs, &SMALLER, out)
}

/// Writes the metrics whose greater values are better, for `customBiggerIsBetter`: rates per
/// second.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write_bigger(runs: &Runs<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_entries(runs, &BIGGER, out)
}

fn write_entries(runs: &Runs<'_>, metrics: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let benchmark = runs.documents.first().map_or_else(String::new, |first| benchmark(first));
    let grades = runs.documents.iter().map(|document| document.verdict.grade);
    let grade = grades.max().map_or("", |grade| grade.in_words());
    let extra = match runs.means {
        Some(means) => format!("mean of {} runs, worst grade: {grade}", means.runs),
        None => format!("grade: {grade}"),
    };
    let entries = metrics.iter().filter_map(|name| {
        let value = Tracked::of(runs, name)?;
        let (unit, scale) = match value.metric.is_time() {
            true => ("ms", 1e6),
            false if *name == "errors" => ("%", 0.01),
            false => ("1/s", 1.0),
        };
        let mut entry = json!({
            "name": format!("{name}{}: {benchmark}", value.suffix()),
            "unit": unit,
            "value": value.value / scale,
            "extra": extra,
        });
        if let Some((low, high)) = value.interval {
            let end = |end: f64| units::number(end / scale);
            entry["range"] = format!("95%: {} to {}", end(low), end(high)).into();
        }
        Some(entry)
    });
    json::write_value(&Value::Array(entries.collect()), out)
}

/// A metric of a run, or its mean over several.
struct Tracked {
    metric: NamedMetric,
    value: f64,
    bound: Bound,
    /// 95% interval, if both ends are known.
    interval: Option<(f64, f64)>,
}

impl Tracked {
    /// Returns a metric by its name, unless its value is unknown.
    fn of(runs: &Runs<'_>, name: &str) -> Option<Tracked> {
        let metric: NamedMetric = name.parse().ok()?;
        let measured = runs.documents.iter().filter_map(|document| metric.measure(document).ok());
        let measured: Vec<_> = measured.collect();
        let bound = measured.iter().map(|measured| measured.bound).fold(Bound::Exact, worse);
        let (value, interval) = match runs.means {
            Some(means) => {
                let found = means.metrics.iter().find(|found| found.metric == name)?;
                let MetricOverRuns { mean, low, high, .. } = *found;
                (mean, low.zip(high))
            }
            None => (measured.first()?.value, metric.interval(runs.documents.first()?)),
        };
        let interval = interval.filter(|(_, high)| high.is_finite());
        (bound != Bound::Unknown).then_some(Tracked { metric, value, bound, interval })
    }

    /// Addition to the name of a value that is a bound.
    fn suffix(&self) -> &'static str {
        match self.bound {
            Bound::Lower => " at least",
            Bound::Upper => " at most",
            Bound::Exact | Bound::Unknown => "",
        }
    }
}

/// Returns the bound of a mean of two values.
fn worse(one: Bound, other: Bound) -> Bound {
    match (one, other) {
        (Bound::Exact, other) => other,
        (one, Bound::Exact) => one,
        (one, other) if one == other => one,
        _ => Bound::Unknown,
    }
}

/// Returns the name of a benchmark: the request and the load, since other loads give other numbers.
fn benchmark(document: &Document) -> String {
    let plan = &document.plan;
    let load = match (plan.load.log(), plan.load.rate()) {
        (Some(log), _) => log.in_words(),
        (None, Some(rate)) => rate.to_string(),
        (None, None) => "closed loop".to_owned(),
    };
    let connections = units::count(plan.load.connections.count().into());
    let name = format!("{} {}, {load}, {connections} connections", plan.request.method, plan.url);
    match name.char_indices().nth(NAME_MAX) {
        None => name,
        Some(_) => name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
    }
}
