//! Verdicts derived from differences (METHOD 1.15, the table of wordings).

use super::{Difference, holm, paired_at, pairs_needed};

/// Verdict on one metric. Effects are of B relative to A.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectVerdict {
    /// B is higher, by the threshold or more.
    Higher(Difference),
    /// B is lower, by the threshold or more.
    Lower(Difference),
    /// The systems differ, by less than the threshold.
    BelowThreshold(Difference),
    /// No meaningful difference.
    Equivalent {
        /// The estimate with its interval.
        difference: Difference,
        /// Largest change that the data allow, the farther end of the interval; anything beyond it
        /// is excluded. Relative to A, as the ends are: 0.014 is 1.4%.
        excluded: f64,
    },
    /// The data show neither a difference nor its absence.
    Undecided {
        /// The estimate with its interval.
        difference: Difference,
        /// Approximate number of pairs (or runs of each) in all that would distinguish a change of
        /// the threshold from none.
        runs_needed: u64,
    },
    /// The metric has no positive value in some run, so that there is no ratio.
    NotComparable,
}

/// Returns the verdicts on the metrics of one comparison, in the order given. The first metric is
/// the primary one, chosen before the runs, and is not adjusted; the others are adjusted for
/// multiple testing (Holm).
///
/// `threshold` is the smallest relative change that matters, such as 0.02. A difference needs an
/// interval that excludes none *and* a corrected p of at most its level. The two come from
/// different statistics, and a verdict must not depend on which of them was printed.
pub fn judge(differences: &[Difference], threshold: f64) -> Vec<EffectVerdict> {
    assert!(threshold > 0.0, "a threshold of {threshold} would make every difference matter");
    let Some((first, others)) = differences.split_first() else { return Vec::new() };
    let adjusted = holm(&others.iter().map(|difference| difference.p).collect::<Vec<_>>());
    let tests = others.len().max(1);
    let others = others.iter().zip(adjusted).map(|(other, p)| (other, p, tests));
    std::iter::once((first, first.p, 1))
        .chain(others)
        .map(|(difference, p, tests)| verdict(*difference, p, tests, threshold.ln_1p()))
        .collect()
}

/// Returns the verdict on one metric. `p` is adjusted for `tests` metrics in all. `threshold` is an
/// effect here: a logarithm, so that it is the same upwards and downwards.
fn verdict(difference: Difference, p: f64, tests: usize, threshold: f64) -> EffectVerdict {
    let Difference { effect, low, high, level, runs, .. } = difference;
    let is_different = difference.excludes_none() && p <= level;
    match (is_different, effect.abs() >= threshold) {
        (true, true) if effect > 0.0 => return EffectVerdict::Higher(difference),
        (true, true) => return EffectVerdict::Lower(difference),
        (true, false) => return EffectVerdict::BelowThreshold(difference),
        (false, _) => {}
    }
    let allowed = low.abs().max(high.abs());
    if allowed < threshold {
        let excluded = Difference::change(low).abs().max(Difference::change(high).abs());
        return EffectVerdict::Equivalent { difference, excluded };
    }
    // The half-width shrinks with the root of the runs: (t·s/δ)², derived from the interval itself.
    let half_width = (high - low) / 2.0;
    let needed = (runs as f64 * (half_width / threshold).powi(2)).ceil() as u64;
    let least = pairs_needed(level, tests).max(runs + 1) as u64;
    EffectVerdict::Undecided { difference, runs_needed: needed.max(least) }
}

/// The percentiles, as shares, at which a shift function is printed.
pub const SHIFT_LEVELS: [f64; 12] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// A run's percentiles at some levels; `None` if the run has too few samples for one.
pub type Levels<const LEVELS: usize> = [Option<f64>; LEVELS];

/// Estimates ln(B/A) at each level, from pairs of runs: percentiles of A and of B at the same
/// levels. `level` is the error level of the intervals. An entry is `None` if too few pairs have
/// it.
///
/// The samples are pairs of runs, never requests: requests of one run are not independent.
pub fn shift_function<const LEVELS: usize>(
    pairs: &[(Levels<LEVELS>, Levels<LEVELS>)],
    level: f64,
) -> [Option<Difference>; LEVELS] {
    std::array::from_fn(|at| {
        let both = pairs.iter().filter_map(|(a, b)| a[at].zip(b[at]));
        paired_at(&both.collect::<Vec<_>>(), level)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(low: f64, effect: f64, high: f64, p: f64) -> Difference {
        let a = 100.0;
        let b = 100.0 * effect.exp();
        Difference { a, b, effect, low, high, level: 0.05, p, runs: 10 }
    }

    #[test]
    fn the_table_of_the_method() {
        let check = |given: Difference, expected: EffectVerdict| {
            assert_eq!(judge(&[given], 0.02), [expected], "{given:?}");
        };
        let lower = difference(-0.16, -0.13, -0.10, 0.002);
        check(lower, EffectVerdict::Lower(lower));
        let higher = difference(0.01, 0.03, 0.05, 0.004);
        check(higher, EffectVerdict::Higher(higher));
        let small = difference(-0.009, -0.006, -0.003, 0.01);
        check(small, EffectVerdict::BelowThreshold(small));
        let none = difference(-0.014, -0.002, 0.01, 0.6);
        let excluded = -Difference::change(-0.014);
        check(none, EffectVerdict::Equivalent { difference: none, excluded });
        let wide = difference(-0.08, 0.01, 0.08, 0.6);
        // 10 · (0.08/ln 1.02)² = 163.2.
        check(wide, EffectVerdict::Undecided { difference: wide, runs_needed: 164 });
    }

    #[test]
    fn interval_and_p_must_agree() {
        let doubtful = difference(0.001, 0.03, 0.06, 0.07);
        assert!(matches!(judge(&[doubtful], 0.02)[..], [EffectVerdict::Undecided { .. }]));
    }

    /// 0.03 is significant alone, but not as the smaller of two: 2 · 0.03 > 0.05.
    #[test]
    fn the_primary_metric_stands_alone() {
        let given = difference(0.01, 0.05, 0.09, 0.03);
        let verdicts = judge(&[given, given, given], 0.02);
        assert!(matches!(verdicts[0], EffectVerdict::Higher(_)), "{verdicts:?}");
        assert!(matches!(verdicts[1], EffectVerdict::Undecided { .. }), "{verdicts:?}");
        assert_eq!(judge(&[], 0.02), []);
    }

    /// Many more runs than the present number, or at least one.
    #[test]
    fn undecided_always_needs_more() {
        let skewed = difference(-0.001, 0.012, 0.025, 0.06);
        let [EffectVerdict::Undecided { runs_needed, .. }] = judge(&[skewed], 0.02)[..] else {
            panic!()
        };
        assert_eq!(runs_needed, 11);
    }

    /// B's median is A's and its tail 10% longer; the last level is there in 5 pairs only.
    #[test]
    fn where_they_differ() {
        let pairs: Vec<_> = (0..8)
            .map(|pair| {
                let noise = 1.0 + 0.001 * f64::from(pair);
                let last = (pair < 5).then_some(9.0);
                ([Some(1.0), Some(2.0), last], [Some(noise), Some(2.2 * noise), last])
            })
            .collect();
        let [median, tail, last] = shift_function(&pairs, 0.05);
        let median = median.expect("8 pairs");
        let tail = tail.expect("8 pairs");
        assert!(Difference::change(median.effect).abs() < 0.005, "{median:?}");
        assert!((Difference::change(tail.effect) - 0.1).abs() < 0.005, "{tail:?}");
        assert_eq!(last, None);
    }
}
