//! The table `Requests by name` of a run with a list: counts, rate and latency of each name.

use weir_result::document::{Metric, NameSection, Summary};
use weir_result::quantile::Quantile;
use weir_result::{Document, Load};
use weir_text::units::{self, DurationColumn};

use super::{Block, CellValue, Row, Table, TableKind, Tone};

/// Percentiles with a column of their own.
const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// Builds the table; none without a list.
pub(super) fn blocks(document: &Document) -> Option<Block> {
    if document.names.is_empty() {
        return None;
    }
    let is_open_loop = document.plan.load != Load::ClosedLoop;
    let time_of = |name: &NameSection| -> Metric {
        if is_open_loop { name.response_time.clone() } else { name.service_time.clone() }
    };
    let times: Vec<Metric> = document.names.iter().map(time_of).collect();
    let typical = times.iter().filter_map(|time| time.headline().percentile(50.0));
    let unit = DurationColumn::of(typical.map(|value| value.ns).min().unwrap_or(0));
    let rows = document.names.iter().zip(&times).map(|(name, time)| row(name, time, unit));
    let times = PERCENTILES.map(|p| format!("p{p}"));
    let columns = ["requests", "failed", "requests/s"].map(str::to_owned).into_iter();
    let columns = columns.chain(times).chain(["max".to_owned()]);
    let mut table = Table::new(TableKind::Metrics, "Requests by name", columns, rows);
    let time = if is_open_loop { "response time" } else { "service time" };
    table.caption = format!("({time})");
    Some(Block::Table(table))
}

fn row(name: &NameSection, time: &Metric, unit: DurationColumn) -> Row {
    let failed = name.planned.saturating_sub(name.ok);
    let failed_tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
    let summary = time.headline();
    let mut cells = vec![
        CellValue::from(units::count(name.planned)),
        CellValue::toned(units::count(failed), failed_tone),
        CellValue::from(units::rate(name.completed_rps)),
    ];
    cells.extend(PERCENTILES.map(|p| percentile(summary, p, unit)));
    cells.push(percentile(summary, 100.0, unit));
    Row::new(&name.name, cells)
}

fn percentile(summary: &Summary, p: f64, unit: DurationColumn) -> CellValue {
    let value = summary.percentile(p);
    value.map_or_else(CellValue::default, |value| {
        let quantile = Quantile { ns: value.ns, bound: value.bound };
        CellValue::time(quantile, value.imprecise, unit)
    })
}
