//! Paired comparison that may end early: a test at each of four planned looks, at a level that
//! bounds the error of all looks together (METHOD 1.15).
//!
//! It is a function of the pairs in the order in which they were made. It depends on neither clocks
//! nor servers, and the pairs of a finished study give its verdict again.

use super::verdict::{EffectVerdict, judge};
use super::{log, paired_at};

/// Numbers of pairs after which a study may end; at the last one it does.
pub const LOOKS: [usize; 4] = [8, 12, 16, 20];

/// Largest number of pairs of a study.
const PAIRS_MAX: usize = LOOKS[LOOKS.len() - 1];

/// Error level of each look. All four together call equal systems different in at most 5% of
/// studies.
///
/// It is Pocock's constant level for four equally spaced looks, 0.0182, rounded down (Pocock,
/// Biometrika 64, 1977). [`LOOKS`] share more of their pairs than equally spaced ones (8 of 20
/// before the first, 4 before each other), so the error of normal differences is 4.46%; a level of
/// 0.0204 would give 5%. The tests compute these numbers. The margin is for distributions that are
/// not normal, and for other metrics, which [`judge`] adjusts within each look.
pub const LOOK_LEVEL: f64 = 0.018;

/// Group-sequential comparison of two systems by their primary metric. `pairs` holds (A, B) of it,
/// in the order in which the pairs were made. Relative changes from `threshold` on matter: 0.02 is
/// 2%, the default of METHOD 1.15. It must be above 0.
///
/// Returns the verdict of the first look that gives one, and the number of pairs that it is based
/// on: one of [`LOOKS`], unless a pair has no ratio. Other metrics are compared over the same
/// pairs: [`paired_at`] the level [`LOOK_LEVEL`], then [`judge`] with the primary metric first.
/// `None` while the study needs more pairs: those between two looks wait for the next one. Pairs
/// after the verdict do not change it. A value that is not a positive number makes the systems
/// incomparable, at once.
///
/// After each look the comparison continues or ends with the verdict that [`judge`] gives on
/// [`paired_at`] the level [`LOOK_LEVEL`]: "faster" or "slower" ([`EffectVerdict::Lower`] or
/// [`EffectVerdict::Higher`], by the direction of the metric), "no difference larger than x%"
/// ([`EffectVerdict::Equivalent`]), or, after the last look, "undecided" with the number of pairs
/// of a new study. A difference below the threshold ([`EffectVerdict::BelowThreshold`]) ends a
/// study early only if its interval excludes the threshold.
///
/// The interval of a verdict is the repeated confidence interval (Jennison and Turnbull, JRSS B 51,
/// 1989): 98.2% by itself, and at least 95% for the intervals of all looks together. So it covers
/// the true value with at least 95% confidence at any stop, and a study that ends because it lies
/// within the threshold needs no further adjustment. The estimate comes from the pairs made. After
/// an early stop it is biased away from 0: a study ends early because the difference looks large.
pub fn look(pairs: &[(f64, f64)], threshold: f64) -> Option<(usize, EffectVerdict)> {
    assert!(threshold > 0.0, "a threshold of {threshold} would make every difference matter");
    for next in LOOKS {
        let made = &pairs[..pairs.len().min(next)];
        if let Some(odd) = made.iter().position(|(a, b)| log(*a).and(log(*b)).is_none()) {
            return Some((odd + 1, EffectVerdict::NotComparable));
        }
        let difference = paired_at(made, LOOK_LEVEL).filter(|found| found.runs == next)?;
        let verdict = judge(&[difference], threshold).swap_remove(0);
        if next == PAIRS_MAX || is_final(&verdict, threshold) {
            return Some((next, verdict));
        }
    }
    unreachable!("the last look ends every study")
}

/// True if more pairs are not needed: the difference matters, or the interval shows that it does
/// not.
fn is_final(verdict: &EffectVerdict, threshold: f64) -> bool {
    match verdict {
        EffectVerdict::BelowThreshold(difference) => {
            difference.low.abs().max(difference.high.abs()) < threshold.ln_1p()
        }
        EffectVerdict::Undecided { .. } => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
