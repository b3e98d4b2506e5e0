//! Comparison of two systems from runs of both: the estimate, its interval, and the probability of
//! such a difference between equal systems (METHOD 1.15).
//!
//! One value is one run. The meaning of the values, and whether the runs are comparable, is up to
//! the caller.

mod group_sequential;
mod rank_sum;
mod sign_flip;
mod signed_rank;
mod verdict;

use crate::moments::median;

pub use group_sequential::{LOOK_LEVEL, LOOKS, look};
pub use verdict::{EffectVerdict, Levels, SHIFT_LEVELS, judge, shift_function};

/// Least number of pairs, or of runs of each system, for an interval. With 5 pairs a two-sided
/// sign-flip p cannot go below 0.0625; with 6 it reaches 0.031.
pub const RUNS_MIN: usize = 6;

/// Error level of a comparison that is made once: its interval has 95% confidence, and a p of at
/// most this is significant.
const LEVEL: f64 = 0.05;

/// Difference of B from A. Effects are logarithms of ratios: 0 is no difference, and B/A and A/B
/// differ only in sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Typical value of A. Both values come from the estimator of the effect, so that their ratio
    /// is the effect; the ratio of two medians would be another estimate, and could contradict it.
    pub a: f64,
    /// Typical value of B.
    pub b: f64,
    /// Estimate of ln(B/A).
    pub effect: f64,
    /// Lower end of the interval of ln(B/A).
    pub low: f64,
    /// Upper end of the interval of ln(B/A).
    pub high: f64,
    /// Error level, between 0 and 1: the interval has confidence 1 − level, and a p of at most this
    /// is significant. 0.05 for a comparison made once, [`LOOK_LEVEL`] for one of several looks.
    pub level: f64,
    /// Probability, 0 to 1, of a difference at least as large between equal systems; two-sided.
    pub p: f64,
    /// Number of pairs; for unpaired runs, the number of runs of the system that has fewer.
    pub runs: usize,
}

impl Difference {
    /// Converts an effect to a relative change from A: −0.12 is 12% less.
    pub fn change(effect: f64) -> f64 {
        effect.exp_m1()
    }

    /// True if the interval excludes "no difference".
    pub fn excludes_none(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Estimates the difference over pairs of runs (A, B) made next to each other, in random order,
/// with an interval of confidence 1 − `level`, between 0 and 1.
///
/// Estimate: the median of the Walsh averages of d = ln(B/A) (Hodges and Lehmann, 1963); the values
/// are that far apart, around the same median of ln √(AB). Interval: all values that the exact
/// signed-rank test does not reject. p: exact sign flips up to 16 pairs,
/// otherwise 100,000 random ones from a fixed seed. `None`: fewer than [`RUNS_MIN`] pairs, or a
/// value that is not a positive number, or too few pairs for the level: the least two-sided p of k
/// pairs is 2/2ᵏ, so that [`LOOK_LEVEL`] takes 7.
pub fn paired_at(pairs: &[(f64, f64)], level: f64) -> Option<Difference> {
    assert!(level > 0.0 && level < 1.0, "{level} is not an error level");
    let logs = pairs.iter().map(|&(a, b)| Some((log(a)?, log(b)?))).collect::<Option<Vec<_>>>()?;
    if logs.len() < pairs_needed(level, 1) {
        return None;
    }
    let differences: Vec<_> = logs.iter().map(|(a, b)| b - a).collect();
    let (low, effect, high) = signed_rank::interval(&differences, 1.0 - level);
    let centres: Vec<_> = logs.iter().map(|&(a, b)| f64::midpoint(a, b)).collect();
    let centre = signed_rank::centre(&centres);
    let [a, b] = [centre - effect / 2.0, centre + effect / 2.0].map(f64::exp);
    Some(Difference {
        a,
        b,
        effect,
        low,
        high,
        level,
        p: sign_flip::p(&differences),
        runs: logs.len(),
    })
}

/// Returns the least number of pairs with which all of `tests` metrics that [`holm`] adjusts
/// together can differ at this level: the least two-sided p of k pairs is 2/2ᵏ.
pub fn pairs_needed(level: f64, tests: usize) -> usize {
    let is_enough = |pairs: &usize| tests as f64 * 2.0 * 0.5_f64.powi(*pairs as i32) <= level;
    (RUNS_MIN..).find(is_enough).expect("the least p falls with each pair")
}

/// Estimates the difference between runs that were made at separate times, such as runs in files
/// from elsewhere. The caller must report that they were not interleaved: drift between them looks
/// like a difference.
///
/// Estimate: ln of the ratio of medians, which are the values. Interval: percentile bootstrap,
/// 10,000 times, from a fixed seed. p: Mann and Whitney's test, exact up to 64 runs in all. `None`:
/// fewer than [`RUNS_MIN`] runs of either, or a value that is not a positive number.
pub fn unpaired(a: &[f64], b: &[f64]) -> Option<Difference> {
    let mut a = a.iter().map(|&value| log(value)).collect::<Option<Vec<_>>>()?;
    let mut b = b.iter().map(|&value| log(value)).collect::<Option<Vec<_>>>()?;
    let runs = a.len().min(b.len());
    if runs < RUNS_MIN {
        return None;
    }
    let p = rank_sum::p(&a, &b);
    let (low, high) = rank_sum::interval_of_medians(&a, &b, 1.0 - LEVEL);
    let a = median(&mut a);
    let b = median(&mut b);
    let effect = b - a;
    Some(Difference { a: a.exp(), b: b.exp(), effect, low, high, level: LEVEL, p, runs })
}

/// Adjusts the p-values of several tests for multiple testing and returns them in the order given
/// (Holm, Scandinavian Journal of Statistics 6, 1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<_> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (place, &test) in order.iter().enumerate() {
        least = least.max(p[test] * (p.len() - place) as f64).min(1.0);
        adjusted[test] = least;
    }
    adjusted
}

/// Returns the indices of outliers: values more than 14.8 median absolute deviations from the
/// median (10 standard deviations for a normal distribution). Outliers are shown, never removed.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let centre = median(&mut values.to_vec());
    let mut deviations: Vec<_> = values.iter().map(|value| (value - centre).abs()).collect();
    let limit = 14.8 * median(&mut deviations);
    (0..values.len()).filter(|&run| (values[run] - centre).abs() > limit && limit > 0.0).collect()
}

/// Returns the logarithm; `None` if the value is not a positive number.
fn log(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

#[cfg(test)]
mod tests;
