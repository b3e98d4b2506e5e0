//! The heat map: latencies over time, with every response in a cell.

use weir_result::document::SeriesEntry;
use weir_result::histogram::middle_of;
use weir_result::{Document, Histogram, summed};

use super::time::{ends, groups, spans};
use crate::view::percentiles::of_load;
use crate::view::{Axis, AxisUnit, Mark, Plot, Role, short};

/// Greatest number of columns.
const COLUMNS_MAX: usize = 200;

/// Greatest number of rows.
const ROWS_MAX: usize = 48;

/// A column: its ends in seconds, and its times.
struct HeatColumn {
    from_s: f64,
    to_s: f64,
    times: Histogram,
    failed: u64,
}

/// Plots the latency over time; `None` without a series or without a response.
pub(super) fn latency(document: &Document) -> Option<Plot> {
    let columns: Vec<HeatColumn> =
        groups(document, COLUMNS_MAX).into_iter().map(HeatColumn::of).collect();
    let responses = columns.iter().filter(|column| !column.times.is_empty()).count();
    if columns.len() < 2 || responses == 0 {
        return None;
    }
    let y = edges(&columns);
    let last = columns.last().map(|column| column.to_s);
    let x = columns.iter().map(|column| column.from_s).chain(last).map(short).collect();
    let cells = (0..).zip(&columns).flat_map(|(at, column)| column.cells(at, &y)).collect();
    let name = "responses".to_owned();
    let y = y.into_iter().map(short).collect();
    let mut marks = spans(document);
    marks.push(Mark::Heat { name, x, y, cells });
    for (name, p, role) in [("p50", 50.0, Role::Reference), ("p99", 99.0, Role::Second)] {
        let at = |column: &HeatColumn| {
            let ns = column.times.percentile(p).map(|ns| ns.max(1) as f64);
            ((column.from_s + column.to_s) / 2.0, ns)
        };
        marks.push(Mark::line(name, role, columns.iter().map(at)));
    }
    marks.extend(failures(&columns));
    let (time, _) = of_load(document)[0];
    let about = format!(
        "The {time} of every response, by when it was complete: the darker a cell, the more \
         responses it holds, on a logarithmic scale."
    );
    let axes = [Axis::time(), Axis::log("Time", AxisUnit::Nanoseconds)];
    Some(Plot::new(["latency-over-time", "Latency over time"], about, axes, marks))
}

/// Failures, at the times when they happened; `None` if there were none.
fn failures(columns: &[HeatColumn]) -> Option<Mark> {
    let failed: Vec<&HeatColumn> = columns.iter().filter(|column| column.failed > 0).collect();
    (!failed.is_empty()).then(|| Mark::Events {
        name: "failures".to_owned(),
        x: failed.iter().map(|column| short((column.from_s + column.to_s) / 2.0)).collect(),
        count: failed.iter().map(|column| column.failed).collect(),
    })
}

impl HeatColumn {
    fn of(group: &[SeriesEntry]) -> HeatColumn {
        let mut times = Histogram::new();
        group.iter().for_each(|entry| times.add_sparse(&entry.latency));
        let (from_s, to_s) = ends(group);
        let failed = group.iter().map(|of| of.bad + of.errors + of.timed_out).sum();
        HeatColumn { from_s, to_s, times, failed }
    }

    /// The cells of the column at index `at`.
    fn cells(&self, at: u32, edges: &[f64]) -> impl Iterator<Item = (u32, u32, u64)> {
        let rows = self.times.buckets().map(|(bucket, count)| {
            let ns = middle_of(bucket).max(1) as f64;
            let row = edges.partition_point(|edge| *edge <= ns).clamp(1, edges.len() - 1) - 1;
            (row as u32, count)
        });
        summed(rows).into_iter().map(move |(row, count)| (at, row, count))
    }
}

/// Edges of the rows, of equal ratio, around all times.
fn edges(columns: &[HeatColumn]) -> Vec<f64> {
    let exact = columns.iter().filter(|column| !column.times.is_empty());
    let exact = exact.map(|column| column.times.exact());
    let (low, high) = exact.fold((u64::MAX, 1), |(low, high), exact| {
        (low.min(exact.min_ns.max(1)), high.max(exact.max_ns))
    });
    let low = (low as f64).log10();
    let high = (high as f64).log10();
    let fits = |steps: &&f64| (high * **steps).ceil() - (low * **steps).floor() < ROWS_MAX as f64;
    let steps = [40.0, 20.0, 10.0, 5.0].iter().find(fits).unwrap_or(&5.0);
    let first = (low * steps).floor() as i32;
    let last = (high * steps).floor() as i32 + 1;
    (first..=last).map(|edge| 10_f64.powf(f64::from(edge) / steps)).collect()
}
