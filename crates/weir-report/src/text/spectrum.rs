//! The whole distribution: percentiles, each with half as many requests beyond it as the one
//! before, down to the last request.

use weir_result::quantile::AllOutcomes;
use weir_result::units;
use weir_result::{Document, Load};

use super::page::{Page, Span, Style};
use super::percentiles::unit_of;
use super::table::{Cell, Column, Row, Table};

/// Greatest number of halvings that six decimals of a percentage distinguish.
const STEPS_MAX: u32 = 26;

/// Writes the ladder of percentiles. The error is the fault of a histogram in the document.
pub(super) fn write(document: &Document, page: &mut Page) -> Result<(), String> {
    let latency = &document.latency;
    let metrics = match document.plan.load {
        Load::OpenLoop { .. } => {
            let response = ("response time", &latency.response_time);
            vec![response, ("service time", &latency.service_time)]
        }
        Load::ClosedLoop => vec![("service time", &latency.service_time)],
    };
    let mut decoded = Vec::new();
    for (_, metric) in &metrics {
        decoded.push(metric.by_outcome()?);
    }
    let all: Vec<AllOutcomes<'_>> = decoded.iter().map(AllOutcomes::of).collect();
    let count = all[0].count();
    if count == 0 {
        return Ok(());
    }
    let count_width = units::count(count).len();
    let mut rows: Vec<Row> = (1..=STEPS_MAX)
        .take_while(|step| count >> step > 0)
        .map(|step| {
            let values = all.iter().map(|metric| at_step(metric, step)).collect();
            let beyond = units::count(count >> step);
            let remark = format!("{beyond:>count_width$} beyond");
            Row { label: percent_at(step), values, remark }
        })
        .collect();
    let values = all.iter().map(|metric| metric.max().map(Cell::time)).collect();
    let remark = format!("{} in all", units::count(count));
    rows.push(Row { label: "100".to_owned(), values, remark });
    let columns = metrics
        .iter()
        .map(|(title, metric)| Column { title, unit: unit_of(metric.headline()) })
        .collect();
    page.gap();
    Table { label: Span::new("  Spectrum", Style::Bold), columns, rows }.write(page);
    Ok(())
}

/// Returns the value beyond which `1 / 2^step` of the requests lie, in whole requests.
fn at_step(metric: &AllOutcomes<'_>, step: u32) -> Option<Cell> {
    let count = metric.count();
    metric.value_at_rank(count - (count >> step)).map(Cell::time)
}

/// Formats the percentile of a step: `50`, `87.5`, `99.951172`. The share beyond is cut to
/// millionths of a percent, but never to zero.
fn percent_at(step: u32) -> String {
    let millionths = 100_000_000_u64 - (100_000_000_u64 >> step).max(1);
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
