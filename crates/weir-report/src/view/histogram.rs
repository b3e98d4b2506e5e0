//! A compact histogram of the latencies, at most ten rows: shows shapes that percentiles hide, such
//! as two modes.
//!
//! Rows are of equal width, or of equal ratio if the times span more than a decade. The last one is
//! open, so that a single outlier does not reduce the resolution of all others.

use weir_result::histogram::middle_of;
use weir_result::{Document, Histogram};
use weir_text::units;

use super::percentiles::of_load;
use super::{Block, CellValue, Row, Table, TableKind};

/// Greatest number of rows with both ends; the open one comes on top.
const CLOSED_ROWS_MAX: usize = 9;

/// Percentile beyond which all requests share the open row.
const LAST_PERCENTILE: f64 = 99.9;

/// Builds the histogram.
pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let (name, metric) = of_load(document)[0];
    let times = &metric.times;
    let (shown, of) = match times.ok.is_empty() {
        false => (&times.ok, ""),
        true => (&times.bad, " of bad responses"),
    };
    if shown.count() < 2 {
        return Vec::new();
    }
    let bins = bins(shown);
    if bins.len() < 2 {
        return Vec::new();
    }
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1);
    let rows = bins.iter().map(|bin| bin.row(shown.count(), most));
    let table = Table::new(TableKind::Histogram, "Histogram", ["share", ""], rows);
    vec![Block::Table(Table { caption: format!("{name}{of}"), ..table })]
}

/// The requests between two times.
struct HistogramBin {
    low_ns: u64,
    /// None if the bin is open.
    high_ns: Option<u64>,
    count: u64,
}

impl HistogramBin {
    fn row(&self, all: u64, most: u64) -> Row {
        let share = CellValue::frequency(self.count as f64 / all as f64);
        let bar = CellValue::Bar(self.count as f64 / most.max(1) as f64);
        Row::new(range(self.low_ns, self.high_ns), [share, bar])
    }
}

/// Formats `200–500 µs`, `≥ 20 ms`: a unit that both ends share is printed once.
fn range(low_ns: u64, high_ns: Option<u64>) -> String {
    let low = units::short_duration(low_ns);
    let Some(high_ns) = high_ns else {
        return format!("≥ {low}");
    };
    let high = units::short_duration(high_ns);
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    match low.rsplit_once(' ') {
        Some((number, _)) if unit(&low) == unit(&high) => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

fn bins(histogram: &Histogram) -> Vec<HistogramBin> {
    let exact = histogram.exact();
    let last_ns = histogram.percentile(LAST_PERCENTILE).unwrap_or(exact.max_ns);
    let edges = edges(exact.min_ns, last_ns.min(exact.max_ns));
    let mut bins: Vec<HistogramBin> = edges
        .windows(2)
        .map(|ends| HistogramBin { low_ns: ends[0], high_ns: Some(ends[1]), count: 0 })
        .collect();
    let end_ns = edges.last().copied().unwrap_or(0);
    bins.push(HistogramBin { low_ns: end_ns, high_ns: None, count: 0 });
    for (bucket, count) in histogram.buckets() {
        let ns = middle_of(bucket).clamp(exact.min_ns, exact.max_ns);
        let index = edges.partition_point(|edge| *edge <= ns).saturating_sub(1);
        bins[index].count += count;
    }
    if bins.last().is_some_and(|row| row.count == 0) {
        bins.pop();
    }
    bins
}

/// Round times, the first at or below `low_ns` and the last above `high_ns`.
fn edges(low_ns: u64, high_ns: u64) -> Vec<u64> {
    let is_narrow = high_ns <= low_ns.saturating_mul(10);
    let linear =
        linear_steps(high_ns).filter(|_| is_narrow).map(|step| even(low_ns, high_ns, step));
    let mantissas: [&[u64]; 4] = [&[10, 15, 20, 30, 50, 70], &[10, 20, 50], &[10, 30], &[10]];
    // 1.5 µs would be printed as 2 µs.
    let skipped = usize::from(low_ns < 10_000);
    let ratios = mantissas.into_iter().skip(skipped).map(|of| geometric(low_ns, high_ns, of));
    let fits = |edges: &Vec<u64>| edges.len() <= CLOSED_ROWS_MAX + 1;
    let found = linear.chain(ratios).find(fits);
    found.unwrap_or_else(|| {
        let decades = geometric(low_ns, high_ns, &[10]);
        let last = decades.last().copied();
        let step = decades.len().saturating_sub(1).div_ceil(CLOSED_ROWS_MAX).max(1);
        let mut some: Vec<u64> = decades.into_iter().step_by(step).collect();
        some.extend(last.filter(|last| some.last() != Some(last)));
        some
    })
}

/// Returns 1, 2, 5, 10, 20 and so on, from the finest step that the printed digits distinguish.
fn linear_steps(high_ns: u64) -> impl Iterator<Item = u64> {
    let finest = match high_ns {
        0..1_000 => 1,
        1_000..1_000_000 => 1_000,
        1_000_000..1_000_000_000 => 10_000,
        _ => 10_000_000,
    };
    (0..11)
        .flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
        .map(move |n| n * finest)
}

fn even(low_ns: u64, high_ns: u64, step: u64) -> Vec<u64> {
    let first = low_ns / step;
    let rows = (high_ns / step + 1).saturating_sub(first);
    // One row too many is enough to see that it does not fit.
    let rows = rows.min(CLOSED_ROWS_MAX as u64 + 1);
    (first..=first.saturating_add(rows)).map(|index| index.saturating_mul(step)).collect()
}

/// Returns the tenths `mantissas` of every power of ten.
fn geometric(low_ns: u64, high_ns: u64, mantissas: &[u64]) -> Vec<u64> {
    let powers = (0..20).map(|power| 10_u64.pow(power));
    let all =
        powers.flat_map(|power| mantissas.iter().map(move |of| of.saturating_mul(power) / 10));
    let all: Vec<u64> = all.collect();
    let first = all.partition_point(|edge| *edge <= low_ns.max(1)).saturating_sub(1);
    let last = all.partition_point(|edge| *edge <= high_ns).min(all.len() - 1);
    let mut edges = all[first..=last.max(first)].to_vec();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn edges_are_round_and_few() {
        for (low, high, expected) in [
            (3 * MS, 4 * MS, &[3 * MS, 3_200_000, 3_400_000, 3_600_000, 3_800_000, 4 * MS][..]),
            (MS, MS, &[MS, 1_010_000][..]),
            (29_000, 1_200_000, &[20_000, 50_000, 100_000, 200_000, 500_000, MS, 2 * MS][..]),
            (0, 0, &[0, 1][..]),
        ] {
            let edges = edges(low, high);
            assert_eq!(edges[..expected.len().min(edges.len())], *expected, "{low} to {high}");
        }
    }

    #[test]
    fn every_range_has_at_most_nine_rows_that_hold_it() {
        let times = (0..13).flat_map(|power| [1, 3, 9].map(|digit| digit * 10_u64.pow(power)));
        let times: Vec<u64> = times.chain([0, u64::MAX / 2, u64::MAX]).collect();
        for low in &times {
            for high in times.iter().filter(|high| *high >= low) {
                let edges = edges(*low, *high);
                assert!((1..=CLOSED_ROWS_MAX + 1).contains(&edges.len()), "{low} to {high}");
                assert!(edges.is_sorted_by(|a, b| a < b), "{low} to {high}: {edges:?}");
                assert!(edges[0] <= (*low).max(1), "{low} to {high}: {edges:?}");
            }
        }
    }
}
