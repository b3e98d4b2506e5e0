//! The few figures that a reader wants first.

use weir_result::document::Metric;
use weir_result::quantile::Quantile;
use weir_result::units::DurationColumn;
use weir_result::{Document, Load};

use super::{Cell, Entry, Fact, Line, Tone, throughput};

/// Percentiles among the highlights.
const PERCENTILES: [f64; 2] = [50.0, 99.0];

/// Returns throughput, percentiles, the greatest time and the share of failures, as far as known.
pub(super) fn of(document: &Document) -> Vec<Entry> {
    let entry = |label: &str, fact: Fact| {
        let lines = vec![Line::facts(vec![fact])];
        Entry { label: label.to_owned(), lines }
    };
    let rate = throughput::main(document).map(|fact| entry("Throughput", fact));
    let mut highlights: Vec<Entry> = rate.into_iter().collect();
    if document.accounting.ok > 0 {
        let (name, metric) = match document.plan.load {
            Load::OpenLoop { .. } => ("response time", &document.latency.response_time),
            Load::ClosedLoop => ("service time", &document.latency.service_time),
        };
        let times = times(metric).into_iter();
        highlights.extend(times.map(|(label, cell)| {
            entry(&format!("{label} {name}"), Fact::of(cell.clone()).toned(cell.tone()))
        }));
    }
    let (failed, planned) = (document.failed(), document.accounting.planned);
    if planned > 0 {
        let tone = if failed > 0 { Tone::Bad } else { Tone::Good };
        let share = Cell::Frequency(failed as f64 / planned as f64);
        highlights.push(entry("Failed", Fact::of(share).toned(tone)));
    }
    highlights
}

fn times(metric: &Metric) -> Vec<(String, Cell)> {
    let summary = metric.headline();
    let values = PERCENTILES.iter().filter_map(|p| summary.percentile(*p)).map(|of| {
        let (value, unit) = (Quantile { ns: of.ns, bound: of.bound }, DurationColumn::of(of.ns));
        (format!("p{}", of.p), Cell::Time { value, imprecise: of.imprecise, unit })
    });
    let greatest = summary.percentile(100.0).map(|of| {
        let value = Quantile { ns: of.ns, bound: of.bound };
        ("max".to_owned(), Cell::time(value, DurationColumn::of(of.ns)))
    });
    values.chain(greatest).collect()
}
