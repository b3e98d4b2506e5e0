//! Paired comparison that may end early: a test at each of four planned looks, at a level that
//! bounds the error of all looks together (METHOD 1.15).
//!
//! It is a function of the pairs in the order in which they were made. It depends on neither clocks
//! nor servers, and the pairs of a finished study give its verdict again.

use super::verdict::{EffectVerdict, judge};
use super::{Difference, log, paired_at};

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

/// Group-sequential comparison of two systems by their primary metric.
///
/// After each look it continues or ends with the verdict that [`judge`] gives on [`paired_at`] the
/// level [`LOOK_LEVEL`]: "faster" or "slower" ([`EffectVerdict::Lower`] or
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSequential {
    threshold: f64,
}

/// Result of a look at the pairs made so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// Make pairs until there are this many in all, and look again.
    Continue {
        /// Total number of pairs at the next look.
        pairs: usize,
        /// Estimate at the last look; `None` before the first. A study interrupted here is
        /// undecided with this estimate.
        so_far: Option<Difference>,
    },
    /// The study is complete.
    Done {
        /// Number of pairs that the verdict is based on: one of [`LOOKS`], unless a pair has no
        /// ratio. Other metrics are compared over the same pairs: [`paired_at`] the level
        /// [`LOOK_LEVEL`], then [`judge`] with the primary metric first.
        pairs: usize,
        /// Verdict on the primary metric.
        verdict: EffectVerdict,
    },
}

impl GroupSequential {
    /// Creates a comparison for which relative changes from `threshold` on matter: 0.02 is 2%, the
    /// default of METHOD 1.15. It must be above 0.
    pub fn new(threshold: f64) -> GroupSequential {
        assert!(threshold > 0.0, "a threshold of {threshold} would make every difference matter");
        GroupSequential { threshold }
    }

    /// Returns the verdict of the first look that gives one, or the number of pairs to make next.
    ///
    /// `pairs` holds (A, B) of the primary metric in the order in which the pairs were made. Pairs
    /// between two looks wait for the next one; pairs after the verdict do not change it. A value
    /// that is not a positive number makes the systems incomparable, at once.
    pub fn look(&self, pairs: &[(f64, f64)]) -> Look {
        let mut last = None;
        for next in LOOKS {
            let made = &pairs[..pairs.len().min(next)];
            if let Some(odd) = made.iter().position(|(a, b)| log(*a).and(log(*b)).is_none()) {
                return Look::Done { pairs: odd + 1, verdict: EffectVerdict::NotComparable };
            }
            let difference = paired_at(made, LOOK_LEVEL).filter(|found| found.runs == next);
            let Some(difference) = difference else {
                return Look::Continue { pairs: next, so_far: last };
            };
            let verdict = judge(&[difference], self.threshold).swap_remove(0);
            if next == PAIRS_MAX || self.is_final(&verdict) {
                return Look::Done { pairs: next, verdict };
            }
            last = Some(difference);
        }
        unreachable!("the last look ends every study")
    }

    /// True if more pairs are not needed: the difference matters, or the interval shows that it
    /// does not.
    fn is_final(&self, verdict: &EffectVerdict) -> bool {
        match verdict {
            EffectVerdict::BelowThreshold(difference) => {
                difference.low.abs().max(difference.high.abs()) < self.threshold.ln_1p()
            }
            EffectVerdict::Undecided { .. } => false,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
