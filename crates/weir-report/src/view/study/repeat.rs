//! The table of `weir repeat`: each metric over all runs.

use weir_result::study::{MetricOverRuns, Repetition};
use weir_verdict::NamedMetric;

use super::super::{Block, Row, Table, TableKind, Tone};

pub(super) fn blocks(repetition: &Repetition) -> Vec<Block> {
    let rows = repetition.metrics.iter().filter_map(row);
    let columns = ["Mean", "95% interval", "SD", "Min", "Max"];
    let table = Table::new(TableKind::Metrics, "Metric", columns, rows);
    vec![Block::Table(Table { legend: legend(repetition), ..table })]
}

fn row(found: &MetricOverRuns) -> Option<Row> {
    let metric: NamedMetric = found.metric.parse().ok()?;
    let print = |value: f64| metric.print(value);
    let [mean, min, max] = [found.mean, found.min, found.max].map(|value| Some(print(value)));
    let cells = [mean, half_width(found), found.sd.map(print), min, max];
    let cells = cells.map(Option::unwrap_or_default);
    let (tone, mark) = if found.bounds > 0 { (Tone::Caution, "*") } else { (Tone::Plain, "") };
    Some(Row { tone, ..Row::new(format!("{}{mark}", metric.title()), cells) })
}

/// Formats half of the interval's width as a share of the mean: `± 1.2%`.
fn half_width(found: &MetricOverRuns) -> Option<String> {
    let half = (found.high? - found.low?) / 2.0;
    match found.mean {
        mean if mean > 0.0 => Some(format!("± {:.1}%", 100.0 * half / mean)),
        _ => Some("–".to_owned()),
    }
}

fn legend(repetition: &Repetition) -> Vec<String> {
    let mut notes = Vec::new();
    let bounded = repetition.metrics.iter().filter(|metric| metric.bounds > 0);
    if let Some(most) = bounded.map(|metric| metric.bounds).max() {
        notes.push(format!(
            "*: in up to {most} of {} runs the value is a bound of the true one (client overhead, \
             or the client limited the run)",
            repetition.runs
        ));
    }
    for metric in repetition.metrics.iter().filter(|metric| !metric.outliers.is_empty()) {
        let trials: Vec<String> = metric.outliers.iter().map(u32::to_string).collect();
        notes.push(format!(
            "outliers of {}: {} {}; counted like all others",
            metric.metric,
            if trials.len() == 1 { "trial" } else { "trials" },
            trials.join(", ")
        ));
    }
    notes
}
