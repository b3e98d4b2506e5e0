//! A metric's history: the runs of a name in series of the same load and machine, and the changes
//! within each series (METHOD 1.16, docs/HISTORY.md).

mod built;
mod json;
mod text;

use weir_result::Plan;
use weir_result::document::Grade;
use weir_stats::{ChangePoint, change_points};
use weir_verdict::{Measured, NamedMetric};

use crate::History;
use crate::entry::RunEntry;
use crate::error::HistoryError;
use crate::name::{Filter, Name, Tag};
use crate::series_key::SeriesKey;

/// Greatest number of runs of a trend, the newest ones: the time that changes take grows with the
/// square of it.
const RUNS_MAX: u32 = 1_000;

/// Least number of runs in which a change in the middle is found.
const RUNS_MIN: usize = 16;

/// The history of a name.
#[derive(Clone, Debug)]
pub struct Trend {
    /// The name.
    pub name: Name,
    /// Series, by their first run.
    pub series: Vec<Series>,
    /// Number of runs left out, graded failed.
    pub failed: usize,
    /// Number of runs left out, graded void.
    pub void: usize,
    /// True if there are older runs, which are in no series.
    pub has_more: bool,
}

/// Runs of the same load on the same machine.
#[derive(Clone, Debug)]
pub struct Series {
    /// The load and the machine.
    pub key: SeriesKey,
    /// The runs, oldest first; at least one.
    pub runs: Vec<TrendRun>,
    /// The metrics, in the order of the runs' values.
    pub metrics: Vec<MetricTrend>,
}

/// A run of a series.
#[derive(Clone, Debug)]
pub struct TrendRun {
    /// The run in the history.
    pub entry: RunEntry,
    /// Time of the run's epoch, in nanoseconds since 1970.
    pub epoch_unix_ns: u64,
    /// Values of the metrics; `None` if the document has none.
    pub values: Vec<Option<Measured>>,
    /// Ends of the 95% intervals of the values within the run; `None` if the document has none.
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// A metric over the runs of a series.
#[derive(Clone, Debug)]
pub struct MetricTrend {
    /// The metric.
    pub metric: NamedMetric,
    /// Changes in the order of time; `None` if a value is not above 0, so that ratios mean nothing.
    pub changes: Option<Vec<Change>>,
}

/// A change of a metric: a candidate, until an experiment confirms it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first run with the new level, in the runs of the series.
    pub run: usize,
    /// The change, over the runs that have the metric.
    pub point: ChangePoint,
    /// Number of runs from the change on, up to the next one.
    pub runs_since: usize,
}

/// A recent change in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentChange {
    /// The sentence, with the metric, the run and both levels.
    pub text: String,
    /// True if the new level is the worse one.
    pub is_worse: bool,
}

impl Trend {
    /// Measures the runs of a name, at most 1,000, the newest ones.
    ///
    /// # Errors
    /// When there are none, one of their documents cannot be read, or none has requests with the
    /// name of a metric.
    pub fn load(
        history: &History,
        name: &Name,
        tag: Option<&Tag>,
        metrics: &[NamedMetric],
    ) -> Result<Trend, HistoryError> {
        let filter = Filter { name: Some(name), tag, count: Some(RUNS_MAX + 1) };
        let mut entries = history.entries(filter)?;
        let has_more = entries.len() > RUNS_MAX as usize;
        entries.truncate(RUNS_MAX as usize);
        let count = |grade| entries.iter().filter(|entry| entry.grade == grade).count();
        let failed = count(Grade::Failed);
        let void = count(Grade::Void);
        let mut runs = Vec::new();
        let mut plans = Vec::new();
        for entry in entries.into_iter().rev().filter(|entry| entry.grade <= Grade::Bounded) {
            let document = history.document(entry.id)?;
            let values = metrics.iter().map(|metric| metric.measure(&document).ok()).collect();
            let intervals = metrics.iter().map(|metric| metric.interval(&document)).collect();
            let epoch_unix_ns = document.run.epoch_unix_ns;
            runs.push(TrendRun { entry, epoch_unix_ns, values, intervals });
            plans.push(document.plan);
        }
        metrics.iter().try_for_each(|metric| check(metric, &plans))?;
        let series = series_of(runs, metrics);
        Ok(Trend { name: name.clone(), series, failed, void, has_more })
    }
}

/// Checks that one of the plans, if there are any, has requests with the name of a metric.
fn check(metric: &NamedMetric, plans: &[Plan]) -> Result<(), HistoryError> {
    let errors = plans.iter().filter_map(|plan| metric.check(plan).err());
    match errors.collect::<Vec<_>>() {
        mut errors if errors.len() == plans.len() => {
            errors.pop().map_or(Ok(()), |error| Err(HistoryError::Metric(error)))
        }
        _ => Ok(()),
    }
}

/// Groups runs, oldest first, by load and machine, and finds the changes of each group.
fn series_of(runs: Vec<TrendRun>, metrics: &[NamedMetric]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for run in runs {
        match all.iter_mut().find(|series| series.key == run.entry.key) {
            Some(series) => series.runs.push(run),
            None => all.push(Series {
                key: run.entry.key.clone(),
                runs: vec![run],
                metrics: Vec::new(),
            }),
        }
    }
    for series in &mut all {
        let trend = |(at, metric): (usize, &NamedMetric)| MetricTrend {
            metric: metric.clone(),
            changes: changes_of(&series.runs, at),
        };
        series.metrics = metrics.iter().enumerate().map(trend).collect();
    }
    all
}

/// Finds the changes of the metric at index `metric` of the runs' values.
fn changes_of(runs: &[TrendRun], metric: usize) -> Option<Vec<Change>> {
    let known = runs.iter().enumerate();
    let known = known.filter_map(|(run, of)| of.values[metric].map(|value| (run, value.value)));
    let (places, values): (Vec<usize>, Vec<f64>) = known.unzip();
    let points = change_points(&values)?;
    let ends = points.iter().skip(1).map(|next| next.index).chain([values.len()]);
    let change = |(point, end): (&ChangePoint, usize)| Change {
        run: places[point.index],
        point: *point,
        runs_since: end - point.index,
    };
    Some(points.iter().zip(ends).map(change).collect())
}

#[cfg(test)]
mod tests;
