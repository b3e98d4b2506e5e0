//! The few figures that a reader wants first.

use weir_result::Document;
use weir_result::document::Summary;
use weir_result::quantile::Quantile;
use weir_text::units::DurationColumn;

use super::{CellValue, Entry, Fact, Line, Tone, knee, percentiles, throughput};

/// Percentiles among the highlights.
const PERCENTILES: [f64; 2] = [50.0, 99.0];

/// Returns throughput, percentiles, the greatest time and the shares of failures, as far as known.
pub(super) fn of(document: &Document) -> Vec<Entry> {
    let entry = |label: &str, fact: Fact| {
        let lines = vec![Line::facts(vec![fact])];
        Entry { label: label.to_owned(), lines }
    };
    let rate = throughput::main(document).map(|fact| entry("Throughput", fact));
    let mut highlights: Vec<Entry> = rate.into_iter().collect();
    if document.results.outcomes.ok > 0 {
        let (name, metric) = percentiles::of_load(document)[0];
        // Requests that the limit in flight shed say nothing about a time.
        let is_shed = document.results.outcomes.unsent_by_plan() > 0;
        let name = if is_shed { format!("{name}, ok only") } else { name.to_owned() };
        let times = times(if is_shed { &metric.ok } else { metric.headline() }).into_iter();
        highlights.extend(times.map(|(label, cell)| {
            entry(&format!("{label} {name}"), Fact::text(cell.text()).toned(cell.tone()))
        }));
    }
    highlights.extend(failures(document).map(|(label, fact)| entry(label, fact)));
    highlights.extend(knee::highlight(document));
    highlights
}

/// Returns the share of failures among the requests that were sent, as in the line `Target`, and
/// the share of the planned ones that were never sent, as in the line `Load`.
fn failures(document: &Document) -> impl Iterator<Item = (&'static str, Fact)> {
    let planned = document.results.planned;
    let never_sent = document.results.outcomes.never_sent;
    let sent = planned.saturating_sub(never_sent);
    let share = |count: u64, all: u64| {
        let tone = if count > 0 { Tone::Bad } else { Tone::Good };
        let share = CellValue::frequency(count as f64 / all.max(1) as f64);
        (all > 0).then(|| Fact::text(share.text()).toned(tone))
    };
    let failed = share(document.results.failed().saturating_sub(never_sent), sent);
    let unsent = share(never_sent, planned).filter(|_| never_sent > 0);
    [("Failed", failed), ("Never sent", unsent)]
        .into_iter()
        .filter_map(|(label, fact)| Some((label, fact?)))
}

fn times(summary: &Summary) -> Vec<(String, CellValue)> {
    let values = PERCENTILES.iter().filter_map(|p| summary.percentile(*p)).map(|of| {
        let value = Quantile { ns: of.ns, bound: of.bound };
        let unit = DurationColumn::of(of.ns);
        (format!("p{}", of.p), CellValue::time(value, of.imprecise, unit))
    });
    let greatest = summary.percentile(100.0).map(|of| {
        let value = Quantile { ns: of.ns, bound: of.bound };
        ("max".to_owned(), CellValue::time(value, false, DurationColumn::of(of.ns)))
    });
    values.chain(greatest).collect()
}
