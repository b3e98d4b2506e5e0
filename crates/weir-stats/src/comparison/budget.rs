//! Time budget of a comparison: more runs, or longer ones (Kalibera and Jones, ISMM 2013).

use crate::moments::{mean, variance};

/// Variance components of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Variance of the slices of one run.
    pub within: f64,
    /// Variance of the means of infinitely long runs. Estimated as the variance of the runs' means
    /// less the slices' contribution to it; a negative estimate becomes 0.
    pub between: f64,
}

impl Variances {
    /// Estimates the components from pilot runs: the values of the metric in each one's slices.
    /// `None`: fewer than two runs, a run with fewer than two slices, or runs of different lengths.
    pub fn of(runs: &[Vec<f64>]) -> Option<Variances> {
        let slices = runs.first()?.len();
        if runs.len() < 2 || slices < 2 || runs.iter().any(|run| run.len() != slices) {
            return None;
        }
        let within = mean(&runs.iter().map(|run| variance(run)).collect::<Vec<_>>());
        let means: Vec<_> = runs.iter().map(|run| mean(run)).collect();
        let between = (variance(&means) - within / slices as f64).max(0.0);
        Some(Variances { within, between })
    }
}

/// Returns the optimal number of slices per run: ⌈√((c₂/c₁)·(T₁²/T₂²))⌉, at least 1. Here `run_s`
/// is the cost of setting up a run (restart, warm-up) and `slice_s` that of a slice, both above 0.
/// `None`: runs do not differ beyond what their slices explain. A run may then have any length, and
/// more pairs are needed only for a verdict.
pub fn slices_per_run(variances: Variances, run_s: f64, slice_s: f64) -> Option<u32> {
    assert!(run_s > 0.0 && slice_s > 0.0, "time has a cost: {run_s} {slice_s}");
    let slices = (run_s / slice_s * variances.within / variances.between).sqrt();
    // The cast saturates, far beyond any practical number.
    slices.is_finite().then_some((slices.ceil() as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases() {
        for (within, between, run_s, slice_s, slices) in [
            (4.0, 1.0, 1.0, 1.0, Some(2)),
            (4.0, 1.0, 9.0, 1.0, Some(6)),
            (4.1, 1.0, 9.0, 1.0, Some(7)),
            (0.0, 1.0, 9.0, 1.0, Some(1)),
            (1.0, 0.0, 9.0, 1.0, None),
            (0.0, 0.0, 9.0, 1.0, None),
        ] {
            let variances = Variances { within, between };
            assert_eq!(slices_per_run(variances, run_s, slice_s), slices, "{variances:?}");
        }
    }

    #[test]
    fn variances_are_told_apart() {
        // Variance 2 within each run (of 1, 3); means 2, 12, 22: variance 100, of which 2/2 is the
        // slices'.
        let runs = [vec![1.0, 3.0], vec![11.0, 13.0], vec![21.0, 23.0]];
        assert_eq!(Variances::of(&runs), Some(Variances { within: 2.0, between: 99.0 }));
        assert_eq!(Variances::of(&runs[..1]), None);
        assert_eq!(Variances::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(Variances::of(&[vec![1.0, 2.0], vec![2.0]]), None);
        let alike = [vec![1.0, 3.0], vec![3.0, 1.0]];
        assert_eq!(Variances::of(&alike), Some(Variances { within: 2.0, between: 0.0 }));
    }
}
