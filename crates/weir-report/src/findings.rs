//! The result of several runs, from which the formats are written: a study, a comparison of files,
//! or a result that another crate has built.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use weir_result::study::{
    Comparison, Design, MetricComparison, MetricOverRuns, SearchResult, ShiftLevel, StudyResult,
    StudyState, Trial,
};
use weir_result::{Document, Study};
use weir_verdict::NamedMetric;

use crate::trackers::Runs;
use crate::view::Report;
use crate::{json, text};

/// The result of several runs.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'f> {
    /// Where the result comes from.
    pub source: Source<'f>,
    /// True if a verdict that is undecided is a failure, as with `--fail-on undecided`.
    pub fails_undecided: bool,
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'f> {
    /// A study.
    Study(&'f Study),
    /// A comparison of files, with a run of each side, if known, whose loads the report tells.
    Comparison(&'f Comparison, Option<[&'f Document; 2]>),
    /// A result that is built already.
    Built(&'f Built),
}

/// A result in the forms from which formats are written.
#[derive(Clone, Debug)]
pub struct Built {
    /// The report.
    pub report: Report,
    /// The report as text.
    pub text: String,
    /// The result as JSON.
    pub json: Value,
    /// The figures.
    pub data: Data,
}

/// Figures as a table for programs.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Titles of the columns.
    pub titles: Vec<&'static str>,
    /// Rows with a cell for each column: a number, a text, or null for an unknown value.
    pub rows: Vec<Vec<Value>>,
}

/// A figure of a study, as a row of its table for programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct FigureRow {
    /// Kind of the row: `trial`, `mean`, `change`, `shift`, `bound`.
    row: &'static str,
    /// Cell or variant; empty if there is one alone.
    cell: String,
    /// Number of the trial, for a figure of one run.
    trial: Option<u64>,
    /// Number of runs, for a figure of several.
    runs: Option<u64>,
    /// Name of the metric.
    metric: String,
    /// Unit of the figures; empty for a plain number.
    unit: &'static str,
    /// Value.
    value: Option<f64>,
    /// Lower end of its interval.
    low: Option<f64>,
    /// Upper end of its interval.
    high: Option<f64>,
    /// Relation to the true value, or the verdict.
    note: String,
}

impl<'f> Findings<'f> {
    /// The result from this source. An undecided verdict is no failure.
    pub fn of(source: Source<'f>) -> Findings<'f> {
        Findings { source, fails_undecided: false }
    }

    /// The same result, in which an undecided verdict is a failure if `fails` is true.
    #[must_use]
    pub fn failing_undecided(self, fails: bool) -> Findings<'f> {
        Findings { fails_undecided: fails, ..self }
    }

    /// True if the result has a verdict.
    pub fn has_verdict(&self) -> bool {
        match self.source {
            Source::Study(study) => matches!(study.design, Design::Ab { .. }),
            Source::Comparison(..) => true,
            Source::Built(_) => false,
        }
    }

    /// True if the result comes from equal runs.
    pub fn is_repetition(&self) -> bool {
        matches!(self.source, Source::Study(Study { design: Design::Repeat { .. }, .. }))
    }

    /// The equal runs of `weir repeat`; none of other results.
    pub(crate) fn repeated(&self) -> Runs<'f> {
        match self.source {
            Source::Study(study @ Study { result: Some(StudyResult::Repeat(means)), .. }) => {
                Runs { documents: study.documents_of(0).collect(), means: Some(means) }
            }
            _ => Runs::default(),
        }
    }

    /// The verdict of the result; none if a study stopped at a failure.
    pub(crate) fn verdict(&self) -> Option<&'f Comparison> {
        match self.source {
            Source::Study(Study { state: StudyState::Stopped { .. }, .. }) => None,
            _ => self.comparison(),
        }
    }

    /// The comparison of the result, if it has one.
    pub(crate) fn comparison(&self) -> Option<&'f Comparison> {
        match self.source {
            Source::Comparison(comparison, _) => Some(comparison),
            Source::Study(Study { result: Some(StudyResult::Comparison(found)), .. }) => {
                Some(found)
            }
            Source::Study(_) | Source::Built(_) => None,
        }
    }

    /// Builds the report.
    pub fn report(&self) -> Report {
        match self.source {
            Source::Study(study) => Report::of_study(study),
            Source::Comparison(comparison, runs) => Report::of_comparison(comparison, runs),
            Source::Built(built) => built.report.clone(),
        }
    }

    /// Writes the result as JSON.
    pub(crate) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.source {
            Source::Study(study) => json::write_study(study, out),
            Source::Comparison(comparison, _) => json::write_comparison(comparison, out),
            Source::Built(built) => json::write_value(&built.json, out),
        }
    }

    /// Writes the report as text.
    pub(crate) fn write_text(
        &self,
        options: &text::TextOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.source {
            Source::Built(built) => out.write_all(built.text.as_bytes()),
            Source::Study(_) | Source::Comparison(..) => text::render(&self.report(), options, out),
        }
    }

    /// The figures as a table.
    pub(crate) fn data(&self) -> Data {
        match self.source {
            Source::Study(study) => FigureRow::table(&of_study(study)),
            Source::Comparison(comparison, _) => FigureRow::table(&of_comparison(comparison)),
            Source::Built(built) => built.data.clone(),
        }
    }
}

/// The trials of a study, then its result.
fn of_study(study: &Study) -> Vec<FigureRow> {
    let metrics = metrics(&study.design);
    let mut data: Vec<FigureRow> = study
        .measured()
        .flat_map(|(trial, document)| of_trial(study, trial, document, &metrics))
        .collect();
    match &study.result {
        Some(StudyResult::Repeat(found)) => {
            data.extend(found.metrics.iter().map(|metric| of_mean("", metric)));
        }
        Some(StudyResult::Sweep(sweep)) => {
            for found in &sweep.cells {
                let cell = study.cells.get(found.cell as usize);
                let name = cell.map_or("", |cell| cell.name.as_str());
                data.extend(found.metrics.iter().flatten().map(|metric| of_mean(name, metric)));
            }
        }
        Some(StudyResult::Comparison(found)) => data.extend(of_comparison(found)),
        Some(StudyResult::Search(found)) => data.extend(of_search(found)),
        None => {}
    }
    data
}

/// Metrics of the trials of a design.
fn metrics(design: &Design) -> Vec<NamedMetric> {
    let names = match design {
        Design::Repeat { metrics, .. }
        | Design::Ab { metrics, .. }
        | Design::Sweep { metrics, .. } => metrics.clone(),
        Design::Search { .. } => ["rate", "p50", "p99", "errors"].map(str::to_owned).to_vec(),
    };
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

fn of_trial(
    study: &Study,
    trial: &Trial,
    document: &Document,
    metrics: &[NamedMetric],
) -> Vec<FigureRow> {
    let cell = study.cells.get(trial.cell as usize);
    let cell = cell.map_or_else(String::new, |cell| cell.name.clone());
    let each = metrics.iter().map(|metric| {
        let measured = metric.measure(document).ok();
        FigureRow {
            row: "trial",
            cell: cell.clone(),
            trial: Some(trial.number.into()),
            value: measured.map(|measured| measured.value),
            note: measured.map_or("", |measured| measured.bound.in_words()).to_owned(),
            ..FigureRow::of(metric, metric.interval(document))
        }
    });
    let planned = match study.design {
        Design::Search { .. } => document.throughput.offered_rps,
        _ => None,
    };
    let planned = planned.map(|rps| FigureRow {
        row: "trial",
        trial: Some(trial.number.into()),
        metric: "planned rate".to_owned(),
        unit: "1/s",
        value: Some(rps),
        ..FigureRow::default()
    });
    planned.into_iter().chain(each).collect()
}

fn of_mean(cell: &str, found: &MetricOverRuns) -> FigureRow {
    let metric = found.metric.parse::<NamedMetric>().ok();
    let note = match found.bounds {
        0 => String::new(),
        bounds => format!("a bound in {bounds} runs"),
    };
    FigureRow {
        row: "mean",
        cell: cell.to_owned(),
        runs: Some(found.runs.into()),
        metric: found.metric.clone(),
        unit: metric.map_or("", |metric| metric.unit()),
        value: Some(found.mean),
        low: found.low,
        high: found.high,
        note,
        ..FigureRow::default()
    }
}

fn of_comparison(found: &Comparison) -> Vec<FigureRow> {
    let runs = Some((found.base.runs + found.new.runs).into());
    let change = |of: &MetricComparison| FigureRow {
        row: "change",
        cell: found.new.name.clone(),
        runs,
        metric: of.metric.clone(),
        unit: "share",
        value: of.change,
        low: of.low,
        high: of.high,
        note: match of.is_least {
            true => "the change is at least this large".to_owned(),
            false => of.verdict.answer.in_words().to_owned(),
        },
        ..FigureRow::default()
    };
    let shift = |of: &ShiftLevel| FigureRow {
        row: "shift",
        cell: found.new.name.clone(),
        runs,
        metric: format!("p{}", of.percentile),
        unit: "share",
        value: Some(of.change),
        low: Some(of.low),
        high: Some(of.high),
        ..FigureRow::default()
    };
    found.metrics.iter().map(change).chain(found.shift.iter().map(shift)).collect()
}

fn of_search(found: &SearchResult) -> Vec<FigureRow> {
    let bounds = [("meets the objective", found.lower), ("misses the objective", found.upper)];
    let bounds = bounds.into_iter().filter_map(|(note, bound)| {
        let bound = bound?;
        Some(FigureRow {
            row: "bound",
            runs: Some((bound.good + bound.bad).into()),
            metric: "planned rate".to_owned(),
            unit: "1/s",
            value: Some(bound.rate_rps),
            note: note.to_owned(),
            ..FigureRow::default()
        })
    });
    bounds.collect()
}

impl FigureRow {
    fn table(data: &[FigureRow]) -> Data {
        let titles =
            vec!["row", "cell", "trial", "runs", "metric", "unit", "value", "low", "high", "note"];
        let row = |datum: &FigureRow| match serde_json::to_value(datum) {
            Ok(Value::Object(mut fields)) => {
                titles.iter().map(|title| fields[*title].take()).collect()
            }
            _ => Vec::new(),
        };
        Data { rows: data.iter().map(row).collect(), titles: titles.clone() }
    }

    /// A figure of this metric with the ends of its interval.
    fn of(metric: &NamedMetric, interval: Option<(f64, f64)>) -> FigureRow {
        FigureRow {
            metric: metric.to_string(),
            unit: metric.unit(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high).filter(|high| high.is_finite()),
            ..FigureRow::default()
        }
    }
}
