//! A trend as JSON.

use serde_json::{Map, Value, json};
use weir_verdict::Measured;

use super::{Change, Series, Trend, TrendRun};

/// Version of the JSON of trends.
const SCHEMA_VERSION: u32 = 1;

impl Trend {
    /// Returns the trend as JSON. Values are in the units of their metrics: nanoseconds, per
    /// second, shares of 1.
    pub fn to_json(&self) -> Value {
        let series: Vec<_> = self.series.iter().map(of_series).collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "kind": "history_trend",
            "name": self.name.0,
            "left_out": { "failed": self.failed, "void": self.void, "older": self.has_more },
            "series": series,
        })
    }
}

fn of_series(series: &Series) -> Value {
    let metrics = series.metrics.iter().map(|of| {
        let changes = of.changes.as_ref().map(|changes| {
            changes.iter().map(|change| of_change(series, change)).collect::<Vec<_>>()
        });
        json!({ "metric": of.metric.to_string(), "changes": changes })
    });
    let metrics: Vec<_> = metrics.collect();
    let runs: Vec<_> = series.runs.iter().map(|run| of_run(series, run)).collect();
    json!({
        "plan": series.key.plan,
        "machine": series.key.machine,
        "runs": runs,
        "metrics": metrics,
    })
}

fn of_run(series: &Series, run: &TrendRun) -> Value {
    let value = |measured: &Measured, interval: Option<(f64, f64)>| {
        let (low, high) = interval.unzip();
        let high = high.filter(|high| high.is_finite());
        json!({ "value": measured.value, "bound": measured.bound, "low": low, "high": high })
    };
    let metrics = series.metrics.iter().zip(&run.values).zip(&run.intervals);
    let values: Map<String, Value> = metrics
        .map(|((of, measured), interval)| {
            let value = measured.as_ref().map(|measured| value(measured, *interval));
            (of.metric.to_string(), value.into())
        })
        .collect();
    json!({
        "id": run.entry.id,
        "time": run.entry.time,
        "grade": run.entry.grade,
        "tags": run.entry.tags,
        "values": values,
    })
}

fn of_change(series: &Series, change: &Change) -> Value {
    json!({
        "id": series.runs[change.run].entry.id,
        "before": change.point.before,
        "after": change.point.after,
        "change": change.point.change(),
        "p": change.point.p,
        "runs_since": change.runs_since,
        "possible": change.point.is_possible,
    })
}
