//! V23 of METHOD 2.1: precision and recall on histories with an injected shift at a random place,
//! for each size of the shift. docs/HISTORY.md publishes the figures asserted here.

use super::*;

/// Histories of each size.
const HISTORIES: u64 = 200;

/// Runs of a history.
const RUNS: usize = 60;

/// Runs on either side of a shift, at least.
const MARGIN: usize = 10;

/// Changes found in histories with one shift each.
#[derive(Default)]
struct Score {
    /// At the shift, or one run away.
    right: u32,
    /// Elsewhere.
    wrong: u32,
}

impl Score {
    fn of(draw: Draw, shift: f64) -> Score {
        let mut score = Score::default();
        for seed in 0..HISTORIES {
            let place = MARGIN + (seed as usize * 7) % (RUNS - 2 * MARGIN + 1);
            // Up and down in turns.
            let level = if seed % 2 == 0 { 100.0 * shift } else { 100.0 / shift };
            let values = history(seed + 1_000, draw, &[(place, 100.0), (RUNS - place, level)]);
            let found = indices(&values);
            let right = found.iter().filter(|index| index.abs_diff(place) <= 1).count().min(1);
            score.right += right as u32;
            score.wrong += (found.len() - right) as u32;
        }
        score
    }

    /// Share of the shifts that were found.
    fn recall(&self) -> f64 {
        f64::from(self.right) / HISTORIES as f64
    }

    /// Share of the changes found that are the shift.
    fn precision(&self) -> f64 {
        f64::from(self.right) / f64::from(self.right + self.wrong)
    }
}

/// The shift in percent, and the least precision and recall with normal noise and with heavy tails.
const PUBLISHED: [(f64, [f64; 2], [f64; 2]); 4] = [
    (3.0, [0.66, 0.30], [0.60, 0.17]),
    (5.0, [0.93, 0.93], [0.84, 0.77]),
    (10.0, [0.99, 0.99], [0.98, 0.98]),
    (20.0, [0.99, 0.99], [0.98, 0.98]),
];

#[test]
fn v23_precision_and_recall() {
    for (percent, normal, heavy) in PUBLISHED {
        for (draw, least) in [(Noise::normal as Draw, normal), (Noise::student3, heavy)] {
            let score = Score::of(draw, 1.0 + percent / 100.0);
            let found = [score.precision(), score.recall()];
            let is_enough = found.iter().zip(least).all(|(found, least)| *found >= least);
            assert!(is_enough, "{percent}%: {found:?}, less than {least:?}");
        }
    }
}

/// Clear steps in the middle of a short history: what docs/HISTORY.md says of few runs.
#[test]
fn sixteen_runs_show_a_step() {
    let step = |runs: usize| {
        let level = |run| if run < runs / 2 { 1.0 } else { 2.0 };
        let values = (0..runs).map(|run| level(run) + run as f64 / 1e6);
        indices(&values.collect::<Vec<_>>())
    };
    for runs in 16..24 {
        assert_eq!(step(runs).len(), 1, "{runs} runs");
    }
    for runs in 0..12 {
        assert_eq!(step(runs), [0_usize; 0], "{runs} runs");
    }
}
