//! Changes of level in a history of runs (METHOD 1.16): E-divisive, which bisects the history where
//! the energy statistic is greatest and tests each split by permutation (Matteson and James, JASA
//! 109, 2014), then merges segments that do not differ (Hunter; Fleming et al., ICPE 2023).
//!
//! It assumes no distribution, but independent runs. Comparable runs, and the meaning of a metric,
//! are up to the caller.

use crate::energy::{Ranks, best_split_of_prefixes};
use crate::moments::median;
use crate::shuffle::{SHUFFLES, significant_p};

/// Shuffles of the first pass, which shows changes at ten times the level of the second.
const FIRST_SHUFFLES: u32 = 99;

/// Number of runs after a change below which it is only possible (METHOD 1.16).
const CONFIRMED: usize = 5;

/// Largest probability of a false change at an index: the least that 999 shuffles can show. A
/// history without any change shows one with ten times this probability at most.
const P_MAX: f64 = 0.001;

/// Least relative change: 3%, and the same ratio downwards.
const CHANGE_MIN: f64 = 0.03;

/// Least number of runs of a segment. Fewer count as outliers.
const SEGMENT_MIN: usize = 3;

/// Change of the level at one index of a history. It is a candidate: only an experiment that
/// compares both sides anew shows the cause (METHOD 1.15).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first run of the new level.
    pub index: usize,
    /// Median from the change before to this one, in units of the metric.
    pub before: f64,
    /// Median from this change to the one after, in units of the metric.
    pub after: f64,
    /// Share of shuffled histories, from the change before to the one after, that split as well
    /// anywhere. 0.001 is the least.
    pub p: f64,
    /// True if fewer than 5 runs follow up to the next change or the end: a few outliers would look
    /// the same.
    pub is_possible: bool,
}

impl ChangePoint {
    /// Returns the relative change, (after − before)/before.
    pub fn change(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

/// Returns the changes of a metric over its history, in the order of time; empty if there are none
/// or too few runs. `None`: a value is not a positive number, so that it has no logarithm.
///
/// 1. Bisection: the best split of any beginning of a segment, over ln(value), divides it if p ≤
///    0.01. Both parts are segments in turn.
/// 2. Each change moves to the best split between its neighbours. Then the weakest one that is not
///    significant at 0.001, or smaller than the least change, is removed, until all of them count.
///
/// The shuffles have a fixed seed: the same history always has the same changes. Time grows with
/// the square of the number of runs: below a second at 1,000 runs, some seconds at 3,000.
pub fn change_points(values: &[f64]) -> Option<Vec<ChangePoint>> {
    change_points_of(values, CHANGE_MIN)
}

fn change_points_of(values: &[f64], change_min: f64) -> Option<Vec<ChangePoint>> {
    if values.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let logs: Vec<_> = values.iter().map(|value| value.ln()).collect();
    let history = LogSeries { logs: &logs, change_min };
    let mut borders = vec![0];
    history.bisect(0, values.len(), &mut borders);
    borders.push(values.len());
    history.relocate(&mut borders);
    Some(history.merge(borders))
}

/// Logarithms of a metric, and the limits of its changes. Segments lie between borders: 0, the
/// changes, and the number of runs.
struct LogSeries<'a> {
    logs: &'a [f64],
    change_min: f64,
}

/// Test of the border between two adjacent segments.
struct Border {
    energy: f64,
    /// `None` if not significant.
    p: Option<f64>,
    before: f64,
    after: f64,
}

impl LogSeries<'_> {
    /// Appends the changes from `start` to `end`, in the order of time.
    fn bisect(&self, start: usize, end: usize, borders: &mut Vec<usize>) {
        let segment = &self.logs[start..end];
        if segment.len() < 2 * SEGMENT_MIN {
            return;
        }
        let energy = |values: &[f64]| best_split_of_prefixes(values, SEGMENT_MIN).energy;
        let p_max = 10.0 * P_MAX;
        // Equal values have no order to test.
        if !varies(segment) || significant_p(segment, FIRST_SHUFFLES, p_max, energy).is_none() {
            return;
        }
        let middle = start + best_split_of_prefixes(segment, SEGMENT_MIN).index;
        self.bisect(start, middle, borders);
        borders.push(middle);
        self.bisect(middle, end, borders);
    }

    /// Moves each change to the best split between its neighbours: the first pass may have seen
    /// only a part of what follows.
    fn relocate(&self, borders: &mut [usize]) {
        for at in 1..borders.len() - 1 {
            let start = borders[at - 1];
            let end = borders[at + 1];
            let segment = &self.logs[start..end];
            let split = Ranks::of(segment).best_split(segment, SEGMENT_MIN);
            borders[at] = start + split.index;
        }
    }

    /// Removes the changes that do not count, the weakest first, and returns the others. A removal
    /// lengthens the segments of its neighbours, which are then tested anew.
    fn merge(&self, mut borders: Vec<usize>) -> Vec<ChangePoint> {
        let inner = 1..borders.len() - 1;
        let mut tests: Vec<_> = inner.map(|at| self.test(&borders, at)).collect();
        while let Some(weakest) = self.weakest(&tests) {
            borders.remove(weakest + 1);
            tests.remove(weakest);
            for test in [weakest.checked_sub(1), Some(weakest)].into_iter().flatten() {
                if test < tests.len() {
                    tests[test] = self.test(&borders, test + 1);
                }
            }
        }
        let found = |(test, border): (&Border, &[usize])| ChangePoint {
            index: border[1],
            before: test.before.exp(),
            after: test.after.exp(),
            p: test.p.unwrap_or(1.0),
            is_possible: border[2] - border[1] < CONFIRMED,
        };
        tests.iter().zip(borders.windows(3)).map(found).collect()
    }

    /// Tests the border at a place of `borders`, which is neither the first nor the last.
    fn test(&self, borders: &[usize], at: usize) -> Border {
        let start = borders[at - 1];
        let middle = borders[at];
        let end = borders[at + 1];
        let segment = &self.logs[start..end];
        let ranks = Ranks::of(segment);
        let energy = |values: &[f64]| ranks.best_split(values, SEGMENT_MIN).energy;
        Border {
            energy: energy(segment),
            p: significant_p(segment, SHUFFLES, P_MAX, energy),
            before: median(&mut self.logs[start..middle].to_vec()),
            after: median(&mut self.logs[middle..end].to_vec()),
        }
    }

    /// Returns the place of the weakest change that does not count: of those that are not
    /// significant, the one with the least energy; without any, of those that are too small.
    fn weakest(&self, tests: &[Border]) -> Option<usize> {
        let least_change = self.change_min.ln_1p();
        let is_small = |test: &Border| (test.after - test.before).abs() < least_change;
        let least = |fails: &dyn Fn(&Border) -> bool| {
            let failed = (0..tests.len()).filter(|&test| fails(&tests[test]));
            failed.min_by(|&a, &b| tests[a].energy.total_cmp(&tests[b].energy))
        };
        least(&|test| test.p.is_none()).or_else(|| least(&is_small))
    }
}

/// True if not all values are equal.
fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

#[cfg(test)]
mod tests;
