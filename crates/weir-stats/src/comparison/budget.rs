//! How to spend time on a comparison: more runs, or longer ones (Kalibera and Jones, ISMM 2013).

use crate::moments::{mean, variance};

/// Where the variation of a metric comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Of slices of one run.
    pub within: f64,
    /// Of runs, were each of them endless. Estimated as what is left of the variance of the runs'
    /// means when the slices' share in it is taken away; what chance makes negative is 0.
    pub between: f64,
}

impl Variances {
    /// From pilot runs: the values of the metric in each one's slices. `None`: fewer than two runs,
    /// a run with fewer than two slices, or runs of different lengths.
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

/// The number of slices per run that makes the most of the time: ⌈√((c₂/c₁)·(T₁²/T₂²))⌉, at least
/// 1, where a run costs `run_s` to set up (restart, warm-up) and a slice `slice_s`, both above 0.
/// `None`: runs do not differ beyond what their slices explain, so one run may be as long as it
/// likes, and only the number of pairs that a verdict needs asks for more.
pub fn slices_per_run(variances: Variances, run_s: f64, slice_s: f64) -> Option<u32> {
    assert!(run_s > 0.0 && slice_s > 0.0, "time has a cost: {run_s} {slice_s}");
    let slices = (run_s / slice_s * variances.within / variances.between).sqrt();
    // Saturates; no one waits for so many.
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
        // Within 2 (of 1, 3) in each run; means 2, 12, 22: variance 100, of which 2/2 is slices'.
        let runs = [vec![1.0, 3.0], vec![11.0, 13.0], vec![21.0, 23.0]];
        assert_eq!(Variances::of(&runs), Some(Variances { within: 2.0, between: 99.0 }));
        assert_eq!(Variances::of(&runs[..1]), None);
        assert_eq!(Variances::of(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(Variances::of(&[vec![1.0, 2.0], vec![2.0]]), None);
        let alike = [vec![1.0, 3.0], vec![3.0, 1.0]];
        assert_eq!(Variances::of(&alike), Some(Variances { within: 2.0, between: 0.0 }));
    }
}
