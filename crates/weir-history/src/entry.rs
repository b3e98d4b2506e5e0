//! A saved run without its document: identity, grade, tags and the figures of lists.

use serde::{Deserialize, Serialize};
use weir_result::Document;
use weir_result::document::Grade;
use weir_result::quantile::Bound;
use weir_text::printable;
use weir_verdict::{Measured, NamedMetric};

use crate::series_key::SeriesKey;

/// Metrics of a list, by their names.
pub(crate) const HEADLINE: [&str; 4] = ["rate", "p50", "p99", "errors"];

/// A saved run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEntry {
    /// ID of the run in this history, from 1; never given twice.
    pub id: i64,
    /// Name under which it was saved.
    pub name: String,
    /// Tags, in ascending order.
    pub tags: Vec<String>,
    /// Identifier of the run, as in its document.
    pub run_id: String,
    /// Wall-clock time of the run's epoch, RFC 3339, UTC.
    pub time: String,
    /// Grade of the run.
    pub grade: Grade,
    /// SHA-256 of the plan; `None` for documents without it.
    pub plan_sha256: Option<String>,
    /// Load and machine.
    #[serde(flatten)]
    pub key: SeriesKey,
    /// Rate, p50, p99 and share of errors, as far as the document has them.
    pub figures: Vec<MetricFigure>,
    /// The command line, with `[redacted]` for credentials.
    pub command: Option<Vec<String>>,
}

/// A saved run with its document.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRun {
    /// The run in the history.
    pub entry: RunEntry,
    /// Its document.
    pub document: Document,
}

/// A metric of a run, as lists have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFigure {
    /// Name of the metric.
    pub metric: String,
    /// Value in the unit of the metric: per second, nanoseconds, share of 1.
    pub value: f64,
    /// Relation of the value to the true one.
    pub bound: Bound,
}

impl MetricFigure {
    /// Returns the figures of a document that lists have.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "the store uses it"))]
    pub(crate) fn all_of(document: &Document) -> Vec<MetricFigure> {
        let measure = |name: &&str| {
            let metric: NamedMetric = name.parse().ok()?;
            let measured = metric.measure(document).ok()?;
            let Measured { value, bound, .. } = measured;
            Some(MetricFigure { metric: (*name).to_owned(), value, bound })
        };
        HEADLINE.iter().filter_map(measure).collect()
    }

    /// Formats the value with its bound and unit: `≤ 4.21 ms`.
    pub(crate) fn print(&self) -> String {
        let measured =
            Measured { value: self.value, bound: self.bound, low: self.value, high: self.value };
        let metric = self.metric.parse::<NamedMetric>();
        metric.map_or_else(|_| self.value.to_string(), |metric| metric.print_measured(&measured))
    }
}

impl RunEntry {
    /// Returns the figure of a metric of lists.
    pub(crate) fn figure(&self, metric: &str) -> Option<&MetricFigure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }

    /// Returns the time to the minute: `2026-11-23 22:12`.
    pub(crate) fn minute(&self) -> String {
        let time = match (self.time.get(..10), self.time.get(11..16)) {
            (Some(day), Some(minute)) => format!("{day} {minute}"),
            _ => self.time.clone(),
        };
        printable(&time).into_owned()
    }

    /// Returns the day: `2026-11-23`.
    pub(crate) fn day(&self) -> String {
        printable(self.time.get(..10).unwrap_or(&self.time)).into_owned()
    }
}
