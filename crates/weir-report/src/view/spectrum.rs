//! The whole distribution: percentiles, each with half as many requests beyond it as the one
//! before, down to the last request.

use weir_result::Document;
use weir_result::quantile::AllOutcomes;
use weir_text::units::{self, DurationColumn};

use super::percentiles::{of_load, unit_of};
use super::{Block, CellValue, Fact, Row, Table, TableKind};

/// Greatest number of halvings that six decimals of a percentage distinguish.
const STEPS_MAX: u32 = 26;

/// Builds the ladder of percentiles.
pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let metrics = of_load(document);
    let all: Vec<(AllOutcomes<'_>, DurationColumn)> = metrics
        .iter()
        .map(|(_, metric)| (AllOutcomes::of(&metric.times), unit_of(metric.headline())))
        .collect();
    let count = all[0].0.count();
    if count == 0 {
        return Vec::new();
    }
    let row = |label: String, cells: Vec<CellValue>, fact| Row {
        remark: Some(fact),
        ..Row::new(label, cells)
    };
    let mut rows: Vec<Row> = (1..=STEPS_MAX)
        .take_while(|step| count >> step > 0)
        .map(|step| {
            let value = |(metric, unit): &(AllOutcomes<'_>, DurationColumn)| {
                let count = metric.count();
                let value = metric.value_at_rank(count - (count >> step));
                value.map(|value| CellValue::time(value, false, *unit)).unwrap_or_default()
            };
            let cells = all.iter().map(value).collect();
            row(percent_at(step), cells, Fact::named(&units::count(count >> step), "slower"))
        })
        .collect();
    let greatest = |(metric, unit): &(AllOutcomes<'_>, DurationColumn)| {
        metric.max().map(|max| CellValue::time(max, false, *unit)).unwrap_or_default()
    };
    let in_all = Fact::named(&units::count(count), "in all");
    rows.push(row("100".to_owned(), all.iter().map(greatest).collect(), in_all));
    let titles = metrics.iter().map(|(title, _)| *title);
    vec![Block::Table(Table::new(TableKind::Spectrum, "Spectrum", titles, rows))]
}

/// Formats the percentile of a step: `50`, `87.5`, `99.951172`. The share beyond is cut to
/// millionths of a percent, but never to zero.
fn percent_at(step: u32) -> String {
    let millionths = 100_000_000_u64 - (100_000_000_u64 >> step).max(1);
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
