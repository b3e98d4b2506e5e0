//! The table `Results by stage` of a load in stages: counts, rates and response times of each.

use weir_result::Document;
use weir_result::document::{StageSection, Summary};
use weir_result::quantile::{Bound, Quantile};
use weir_text::units::{self, DurationColumn};

use super::names::is_explained;
use super::percentiles::LOWER_BOUNDS;
use super::throughput::margin;
use super::{Block, CellValue, Row, Table, TableKind, Tone};

/// Percentiles with a column of their own; the last is the maximum.
const COLUMNS: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("max", 100.0)];

/// Builds the table; none without stages. `explained` has the explanations of marks that precede
/// it.
pub(super) fn blocks(document: &Document, explained: &[Block]) -> Option<Block> {
    let stages = &document.stages;
    if stages.is_empty() {
        return None;
    }
    let typical = stages.iter().filter_map(|stage| headline(stage).percentile(50.0));
    let unit = DurationColumn::of(typical.map(|value| value.ns).min().unwrap_or(0));
    let rows = stages.iter().enumerate().map(|(index, stage)| row(index, stage, unit));
    let columns = ["due", "failed", "due/s", "responses/s"].into_iter();
    let columns = columns.chain(COLUMNS.map(|(title, _)| title));
    let mut table = Table::new(TableKind::Names, "Results by stage", columns, rows);
    table.caption = "(response time)".to_owned();
    table.legend = legend(document);
    table.legend.retain(|note| !is_explained(note, explained));
    Some(Block::Table(table))
}

fn row(index: usize, stage: &StageSection, unit: DurationColumn) -> Row {
    let failed = stage.planned.saturating_sub(stage.ok);
    let failed_tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
    let in_second = |rps: f64| units::rate(rps).trim_end_matches("/s").to_owned();
    let margin = margin(stage.completed_rps, stage.completed_interval);
    let mut cells = vec![
        CellValue::from(units::count(stage.planned)),
        CellValue::toned(units::count(failed), failed_tone),
        CellValue::from(in_second(stage.planned_rps)),
        CellValue::from(format!("{}{margin}", in_second(stage.completed_rps))),
    ];
    cells.extend(COLUMNS.map(|(_, p)| percentile(headline(stage), p, unit)));
    Row::new(format!("{}: {}", index + 1, stage.load), cells)
}

/// Returns the times over all requests if some failed, else over those that are `ok`.
fn headline(stage: &StageSection) -> &Summary {
    stage.response_time_all.as_ref().unwrap_or(&stage.response_time)
}

fn percentile(summary: &Summary, p: f64, unit: DurationColumn) -> CellValue {
    let value = summary.percentile(p);
    value.map_or_else(CellValue::default, |value| {
        let quantile = Quantile { ns: value.ns, bound: value.bound };
        CellValue::time(quantile, value.imprecise, unit)
    })
}

/// Explains the marks in the table.
fn legend(document: &Document) -> Vec<String> {
    let summaries = document.stages.iter().map(headline);
    let value = |summary: &Summary| COLUMNS.map(|(_, p)| summary.percentile(p).copied());
    let values: Vec<_> = summaries.flat_map(value).flatten().collect();
    let mut legend = vec!["times by stage include client overhead".to_owned()];
    if values.iter().any(|value| value.bound == Bound::Lower) {
        legend.push(LOWER_BOUNDS.to_owned());
    }
    if values.iter().any(|value| value.imprecise && value.bound != Bound::Unknown) {
        legend.push("~: uncertain: too few independent samples in this stage".to_owned());
    }
    if document.stages.iter().any(|stage| stage.completed_interval.is_some()) {
        legend.push("±: 95% interval, of stages with a constant rate".to_owned());
    }
    legend
}
