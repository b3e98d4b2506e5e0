//! The shift function: the difference at each percentile of the response time.

use weir_result::Document;
use weir_result::quantile::{AllOutcomes, Bound};
use weir_result::study::ShiftLevel;
use weir_stats::{Difference, Levels, SHIFT_LEVELS, is_supported, shift_function, unpaired};

const LEVELS: usize = SHIFT_LEVELS.len();

/// Returns the differences over pairs of runs, at the levels that enough pairs have, with intervals
/// of the error level `error`.
pub(crate) fn of_pairs(pairs: &[(&Document, &Document)], error: f64) -> Vec<ShiftLevel> {
    let levels: Vec<_> = pairs.iter().map(|(a, b)| (levels(a), levels(b))).collect();
    let found = shift_function(&levels, error);
    entries(|level| found[level])
}

/// Returns the differences between two sets of runs.
pub(crate) fn of_sets(a: &[&Document], b: &[&Document]) -> Vec<ShiftLevel> {
    let a: Vec<_> = a.iter().map(|run| levels(run)).collect();
    let b: Vec<_> = b.iter().map(|run| levels(run)).collect();
    entries(|level| unpaired(&at(&a, level), &at(&b, level)))
}

fn entries(difference: impl Fn(usize) -> Option<Difference>) -> Vec<ShiftLevel> {
    let entry = |level: usize| {
        let found = difference(level)?;
        Some(ShiftLevel {
            percentile: 100.0 * SHIFT_LEVELS[level],
            base_ns: found.a.round() as u64,
            new_ns: found.b.round() as u64,
            change: Difference::change(found.effect),
            low: Difference::change(found.low),
            high: Difference::change(found.high),
        })
    };
    (0..LEVELS).filter_map(entry).collect()
}

fn at(runs: &[Levels<LEVELS>], level: usize) -> Vec<f64> {
    runs.iter().filter_map(|levels| levels[level]).collect()
}

/// Percentiles of the response time of one run, failures slower than every response.
fn levels(run: &Document) -> Levels<LEVELS> {
    let all = AllOutcomes::of(&run.results.response_time.times);
    SHIFT_LEVELS.map(|level| {
        let p = 100.0 * level;
        let found = all.percentile(p).filter(|_| is_supported(p, all.count()))?;
        (found.bound == Bound::Exact).then_some(found.ns as f64)
    })
}
