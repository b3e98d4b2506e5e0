//! Comparisons with known results: V20 of METHOD 2.1.

use super::*;
use crate::tests::Noise;

/// Standard deviation of the noise between two adjacent runs of one system.
const RUN_NOISE: f64 = 0.01;

/// Standard deviation of the environment, an AR(1) process with this persistence from run to run.
const DRIFT: f64 = 0.02;
const PERSISTENCE: f64 = 0.8;

const PAIRS: usize = 10;
const COMPARISONS: usize = 1_000;

/// Consecutive runs in a drifting environment.
struct NoisyBench {
    noise: Noise,
    environment: f64,
}

impl NoisyBench {
    fn new() -> NoisyBench {
        let mut noise = Noise::new();
        let environment = DRIFT * noise.normal();
        NoisyBench { noise, environment }
    }

    /// Returns the metric of the next run of a system whose true value is `value`.
    fn run(&mut self, value: f64) -> f64 {
        let innovation = DRIFT * (1.0 - PERSISTENCE * PERSISTENCE).sqrt();
        self.environment = PERSISTENCE * self.environment + innovation * self.noise.normal();
        value * (self.environment + RUN_NOISE * self.noise.normal()).exp()
    }

    /// Returns pairs, randomly ordered inside, of a system and one that is `ratio` times it.
    fn pairs(&mut self, ratio: f64) -> Vec<(f64, f64)> {
        let pair = |_| {
            if self.noise.coin() {
                let a = self.run(100.0);
                (a, self.run(100.0 * ratio))
            } else {
                let b = self.run(100.0 * ratio);
                (self.run(100.0), b)
            }
        };
        (0..PAIRS).map(pair).collect()
    }
}

/// Returns the share of comparisons with one of the two verdicts that claim a relevant difference,
/// and the share that claims any difference.
fn different(ratio: f64) -> (f64, f64) {
    let mut bench = NoisyBench::new();
    let mut matters = 0;
    let mut any = 0;
    let mut covered = 0;
    for _ in 0..COMPARISONS {
        let difference = paired_at(&bench.pairs(ratio), LEVEL).expect("10 pairs");
        covered += usize::from((difference.low..=difference.high).contains(&ratio.ln()));
        match judge(&[difference], 0.02)[..] {
            [EffectVerdict::Higher(_) | EffectVerdict::Lower(_)] => {
                (matters, any) = (matters + 1, any + 1)
            }
            [EffectVerdict::BelowThreshold(_)] => any += 1,
            _ => {}
        }
    }
    let share = |count| count as f64 / COMPARISONS as f64;
    assert!((0.93..0.975).contains(&share(covered)), "the interval covers {}", share(covered));
    (share(matters), share(any))
}

/// 1,000 comparisons of a system with itself: at 5% false claims the standard error is 0.7%.
#[test]
fn equal_systems_are_seldom_different() {
    let (matters, any) = different(1.0);
    assert!(any <= 0.06 && matters <= 0.05, "{matters} {any}");
}

#[test]
fn slower_systems_are_found() {
    for (ratio, least) in [(1.03, 0.8), (1.05, 0.9), (1.1, 0.999)] {
        let (matters, _) = different(ratio);
        assert!(matters >= least, "{ratio}: {matters}");
    }
}

/// The reason for the paired design: all runs of A and then all of B, in the same environment.
#[test]
fn runs_in_blocks_find_differences_that_are_not_there() {
    let mut bench = NoisyBench::new();
    let mut false_claims = 0;
    for _ in 0..200 {
        let a: Vec<_> = (0..PAIRS).map(|_| bench.run(100.0)).collect();
        let b: Vec<_> = (0..PAIRS).map(|_| bench.run(100.0)).collect();
        false_claims += usize::from(rank_sum::p(&a, &b) <= 0.05);
    }
    assert!((50..100).contains(&false_claims), "{false_claims} of 200");
}

/// Without drift the unpaired method is valid: p is uniform, and the interval covers the true
/// value.
#[test]
fn unpaired_runs_without_drift() {
    let mut noise = Noise::new();
    let mut rejected = 0;
    let mut covered = 0;
    let comparisons = 200;
    for _ in 0..comparisons {
        let mut runs = || (0..12).map(|_| (RUN_NOISE * noise.normal()).exp()).collect::<Vec<_>>();
        let difference = unpaired(&runs(), &runs()).expect("12 runs");
        rejected += usize::from(difference.p <= 0.05);
        covered += usize::from(!difference.excludes_none());
    }
    assert!((3..=18).contains(&rejected), "{rejected} of {comparisons}");
    assert!((182..=198).contains(&covered), "{covered} of {comparisons}");
}

#[test]
fn what_cannot_be_compared() {
    assert_eq!(paired_at(&[(1.0, 2.0); 5], LEVEL), None);
    assert_eq!(unpaired(&[1.0; 5], &[1.0; 9]), None);
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut pairs = [(1.0, 2.0); 6];
        pairs[3].1 = odd;
        assert_eq!(paired_at(&pairs, LEVEL), None, "{odd}");
        assert_eq!(unpaired(&[1.0, 1.0, odd, 1.0, 1.0, 1.0], &[1.0; 6]), None, "{odd}");
    }
}

#[test]
fn constants() {
    let twice = paired_at(&[(1.0, 2.0); 6], LEVEL).expect("6 pairs");
    assert_eq!((twice.low, twice.effect, twice.high), (2_f64.ln(), 2_f64.ln(), 2_f64.ln()));
    assert_eq!((twice.p, Difference::change(twice.effect)), (2.0 / 64.0, 1.0));
    assert!((twice.a - 1.0).abs() < 1e-12 && (twice.b - 2.0).abs() < 1e-12, "{twice:?}");
    let same = paired_at(&[(3.0, 3.0); 6], LEVEL).expect("6 pairs");
    assert_eq!((same.low, same.high, same.p), (0.0, 0.0, 1.0));
    assert!(matches!(judge(&[same], 0.02)[..], [EffectVerdict::Equivalent { excluded: 0.0, .. }]));
    let same = unpaired(&[3.0; 6], &[3.0; 8]).expect("6 runs");
    assert_eq!((same.low, same.high, same.p, same.runs), (0.0, 0.0, 1.0, 6));
}

/// The ratio of the values is the estimate, even where the ratio of the medians says the opposite:
/// here both medians are 500, and A is lower in some pairs.
#[test]
fn the_values_agree_with_the_change() {
    let pairs: Vec<_> = (0..9).map(|n| (if n % 9 < 4 { 400.0 } else { 500.0 }, 500.0)).collect();
    let found = paired_at(&pairs, LEVEL).expect("9 pairs");
    assert!(found.effect > 0.0 && (found.b / found.a - found.effect.exp()).abs() < 1e-12);
    assert!((400.0..500.0).contains(&found.a) && found.b <= 560.0, "{found:?}");
    let a = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let b = [3.0; 7];
    let found = unpaired(&a, &b).expect("6 runs");
    assert!((found.a - 32_f64.sqrt()).abs() < 1e-12 && (found.b - 3.0).abs() < 1e-12);
    assert!((found.b / found.a - found.effect.exp()).abs() < 1e-12, "{found:?}");
}

/// Six pairs have a p of 0.031 at best: enough for one metric, and for no two that are adjusted.
#[test]
fn more_metrics_take_more_pairs() {
    for (level, tests, pairs) in
        [(0.05, 1, 6), (0.05, 2, 7), (0.05, 3, 7), (0.05, 5, 8), (0.018, 1, 7)]
    {
        assert_eq!(pairs_needed(level, tests), pairs, "{tests} at {level}");
    }
}

/// The worked example of Holm's procedure: 0.01, 0.04, 0.03, 0.005 become 3·, last, 2·, 4·.
#[test]
fn holm_raises_what_is_one_of_several() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (p, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((p - expected).abs() < 1e-15, "{adjusted:?}");
    }
    assert_eq!(holm(&[0.7, 0.8]), [1.0, 1.0]);
    assert_eq!(holm(&[]), [] as [f64; 0]);
}

#[test]
fn far_values_are_named() {
    assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.2, 20.0, 9.8]), [4]);
    assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.2, 11.0, 9.8]), [] as [usize; 0]);
    assert_eq!(outliers(&[1.0, 1.0, 1.0, 2.0]), [] as [usize; 0]);
}
