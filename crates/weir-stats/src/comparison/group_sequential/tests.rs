//! Error, power and coverage of the looks: by integration, and by simulated studies with fixed
//! seeds.

use super::super::{sign_flip, signed_rank};
use super::*;
use crate::student::{normal_cdf, normal_quantile};
use crate::tests::Noise;

/// Standard deviation of ln(metric) between runs of one system, apart from drift.
const RUN_NOISE: f64 = 0.02;

/// Standard deviation of the environment, which both runs of a pair share.
const PAIR_DRIFT: f64 = 0.03;

/// Returns the probability that a sum of independent standard normal numbers is beyond ±c·√n at one
/// of the looks n, with a two-sided probability `level` at each.
///
/// Recursive numerical integration (Armitage, McPherson and Rowe, JRSS A 132, 1969): the density of
/// the sums still inside at one look gives both the probability of leaving at the next and the
/// density there. Simpson's rule on 200 intervals.
fn overall_error(level: f64, looks: &[f64]) -> f64 {
    const STEPS: usize = 200;
    let critical = -normal_quantile(level / 2.0);
    let density =
        |x: f64, sd: f64| (-(x / sd).powi(2) / 2.0).exp() / (sd * std::f64::consts::TAU.sqrt());
    let grid = |bound: f64| {
        (0..=STEPS).map(move |step| {
            let weight =
                if step == 0 || step == STEPS { 1.0 } else { 2.0 + 2.0 * (step % 2) as f64 };
            let width = 2.0 * bound / STEPS as f64;
            (-bound + step as f64 * width, weight * width / 3.0)
        })
    };
    let mut error = level;
    let mut bound = critical * looks[0].sqrt();
    // The sums inside with their probabilities, as weights of the next integral.
    let mut inside: Vec<_> =
        grid(bound).map(|(sum, weight)| (sum, weight * density(sum, looks[0].sqrt()))).collect();
    for pair in looks.windows(2) {
        let sd = (pair[1] - pair[0]).sqrt();
        bound = critical * pair[1].sqrt();
        let beyond = |sum: f64| normal_cdf((-bound - sum) / sd) + normal_cdf((-bound + sum) / sd);
        error += inside.iter().map(|&(sum, weight)| weight * beyond(sum)).sum::<f64>();
        let density_at = |to: f64| -> f64 {
            inside.iter().map(|&(from, weight)| weight * density(to - from, sd)).sum()
        };
        inside = grid(bound).map(|(sum, weight)| (sum, weight * density_at(sum))).collect();
    }
    error
}

/// Returns the level at each look with which all together err in 5% of studies.
fn level_for_five_percent(looks: &[f64]) -> f64 {
    let mut low = 0.001;
    let mut high = 0.05;
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if overall_error(middle, looks) > 0.05 { high = middle } else { low = middle }
    }
    low
}

fn looks() -> [f64; 4] {
    LOOKS.map(|pairs| pairs as f64)
}

/// Pocock's table 1 for an error of 5%: the critical values 2.178, 2.289, 2.361 and 2.413 for 2 to
/// 5 looks, with nominal levels 0.0294, 0.0221, 0.0182 and 0.0158.
#[test]
fn the_integration_gives_the_published_levels() {
    for (count, critical, level) in
        [(2, 2.178, 0.0294), (3, 2.289, 0.0221), (4, 2.361, 0.0182), (5, 2.413, 0.0158)]
    {
        let equal: Vec<_> = (1..=count).map(f64::from).collect();
        let found = level_for_five_percent(&equal);
        assert!((found - level).abs() < 5e-5, "{count} looks: {found}");
        assert!((-normal_quantile(found / 2.0) - critical).abs() < 5e-4, "{count} looks: {found}");
    }
    assert_eq!(overall_error(0.05, &[7.0]), 0.05);
}

#[test]
fn the_level_holds_five_percent_at_the_looks() {
    let error = overall_error(LOOK_LEVEL, &looks());
    assert!((error - 0.0446).abs() < 5e-5, "{error}");
    let level = level_for_five_percent(&looks());
    assert!((level - 0.0204).abs() < 5e-5, "{level}");
    assert!(overall_error(LOOK_LEVEL, &[1.0, 2.0, 3.0, 4.0]) < 0.05);
    // Looks without a correction: the reason for the level.
    assert!(overall_error(0.05, &looks()) > 0.11);
}

/// Holm divides the level of a look by the number of metrics. The error of all looks is then to be
/// compared with as small a part of 5%.
#[test]
fn the_level_holds_for_several_metrics() {
    for metrics in [2.0, 3.0, 5.0] {
        let error = overall_error(LOOK_LEVEL / metrics, &looks());
        assert!(error <= 0.05 / metrics, "{metrics} metrics: {error}");
    }
}

/// Returns pairs of an equal system and one that is `ratio` times it: ln(metric) is normal with
/// standard deviation [`RUN_NOISE`] about an environment that drifts from pair to pair.
fn normal_pairs(noise: &mut Noise, ratio: f64) -> Vec<(f64, f64)> {
    let mut drift = 0.0;
    let pair = |_| {
        drift = 0.8 * drift + 0.6 * PAIR_DRIFT * noise.normal();
        let mut run = |value: f64| value * (drift + RUN_NOISE * noise.normal()).exp();
        (run(100.0), run(100.0 * ratio))
    };
    (0..PAIRS_MAX).map(pair).collect()
}

/// True if some look claims a difference, relevant or not, as [`judge`] does.
fn claims_any(logs: &[f64]) -> bool {
    LOOKS.iter().any(|&count| {
        let (low, _, high) = signed_rank::interval(&logs[..count], 1.0 - LOOK_LEVEL);
        (low > 0.0 || high < 0.0) && sign_flip::p(&logs[..count]) <= LOOK_LEVEL
    })
}

/// 20,000 studies of equal systems for each distribution: the standard error is 0.15%. Differences
/// of metrics are normal, of Student's distribution with 3 degrees of freedom, or a mixture in
/// which one difference in ten is 10 times as wide.
#[test]
fn equal_systems_differ_in_five_percent_of_studies() {
    type Draw = fn(&mut Noise) -> f64;
    let mixture: Draw = |noise| {
        let width = if noise.normal() > 1.2816 { 10.0 } else { 1.0 };
        width * noise.normal()
    };
    for (name, draw) in
        [("normal", Noise::normal as Draw), ("student", Noise::student3), ("mixture", mixture)]
    {
        let mut noise = Noise::seeded(15);
        let claims = (0..8_000).filter(|_| {
            let logs: Vec<_> = (0..PAIRS_MAX).map(|_| draw(&mut noise)).collect();
            claims_any(&logs)
        });
        let error = claims.count() as f64 / 8_000.0;
        // The test of ranks alone would be at 4%; less than 2% would find too little.
        assert!((0.02..=0.05).contains(&error), "{name}: {error}");
    }
}

/// [`claims_any`] decides as the looks do: with the least threshold each claim ends a study.
#[test]
fn studies_end_where_a_difference_is_claimed() {
    let mut noise = Noise::seeded(16);
    let mut claims = 0;
    for study in 0..100 {
        let pairs = normal_pairs(&mut noise, 1.01);
        let logs: Vec<_> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let (_, verdict) = look(&pairs, 1e-9).expect("20 pairs are all");
        let is_claim = matches!(verdict, EffectVerdict::Higher(_) | EffectVerdict::Lower(_));
        assert_eq!(is_claim, claims_any(&logs), "study {study}: {verdict:?}");
        claims += usize::from(is_claim);
    }
    assert!((10..60).contains(&claims), "{claims}");
}

/// Counts of 200 studies by their verdicts.
#[derive(Debug, Default)]
struct Tally {
    higher: usize,
    lower: usize,
    below: usize,
    equivalent: usize,
    undecided: usize,
    pairs: usize,
    covered: usize,
    effects: f64,
}

const STUDIES: usize = 200;

fn tally(seed: u64, ratio: f64) -> Tally {
    let mut noise = Noise::seeded(seed);
    let mut tally = Tally::default();
    for _ in 0..STUDIES {
        let found = look(&normal_pairs(&mut noise, ratio), 0.02);
        let (pairs, verdict) = found.expect("20 pairs are all");
        tally.pairs += pairs;
        let (count, difference) = match verdict {
            EffectVerdict::Higher(difference) => (&mut tally.higher, difference),
            EffectVerdict::Lower(difference) => (&mut tally.lower, difference),
            EffectVerdict::BelowThreshold(difference) => (&mut tally.below, difference),
            EffectVerdict::Equivalent { difference, .. } => (&mut tally.equivalent, difference),
            EffectVerdict::Undecided { difference, .. } => (&mut tally.undecided, difference),
            EffectVerdict::NotComparable => panic!("no ratio"),
        };
        *count += 1;
        tally.covered += usize::from((difference.low..=difference.high).contains(&ratio.ln()));
        tally.effects += difference.effect;
    }
    tally
}

/// A server 5% slower, with noise of 2% between runs, which is 2.8% between the runs of a pair.
#[test]
fn a_slower_system_is_found_within_twenty_pairs() {
    let found = tally(1, 1.05);
    assert!(found.higher >= STUDIES * 9 / 10, "{found:?}");
    assert!(found.covered >= STUDIES * 95 / 100, "{found:?}");
    // Fewer pairs than a study without looks, and an estimate that is biased by less than 0.5%.
    assert!(found.pairs < 12 * STUDIES, "{found:?}");
    assert!((found.effects / STUDIES as f64 - 1.05_f64.ln()).abs() < 0.005, "{found:?}");
    let faster = tally(2, 1.0 / 1.05);
    assert!(faster.lower >= STUDIES * 9 / 10, "{faster:?}");
}

/// 16 of 200 is what an error of 5% exceeds in 2% of such tests.
#[test]
fn equal_systems_are_seldom_different() {
    for seed in 1..=2 {
        let found = tally(seed, 1.0);
        assert!(found.higher + found.lower + found.below <= 16, "{found:?}");
        assert!(found.covered >= STUDIES - 16, "{found:?}");
        assert!(found.equivalent >= STUDIES / 4, "{found:?}");
    }
}

/// A difference as large as the threshold must not be called irrelevant.
#[test]
fn a_difference_at_the_threshold_is_not_excluded() {
    let found = tally(4, 1.02);
    assert!(found.equivalent <= 16, "{found:?}");
    assert!(found.covered >= STUDIES - 16, "{found:?}");
}

fn study(change: f64, spread: f64, pairs: usize) -> Vec<(f64, f64)> {
    let offset = |pair: usize| spread * (pair * 3 % 8) as f64 / 7.0 - spread / 2.0;
    (0..pairs).map(|pair| (100.0, 100.0 * (1.0 + change) * offset(pair).exp())).collect()
}

#[test]
fn a_study_continues_until_it_is_decided() {
    // No look before its pairs are there, however clear the result.
    let clear = study(0.1, 0.01, 30);
    for made in 0..8 {
        assert_eq!(look(&clear[..made], 0.02), None, "{made} pairs");
    }
    let done = look(&clear[..8], 0.02);
    assert!(
        matches!(done, Some((8, EffectVerdict::Higher(found)))
            if found.runs == 8 && found.level == LOOK_LEVEL),
        "{done:?}"
    );
    // Pairs after the verdict do not change it.
    let mut later = clear;
    later[9].1 = f64::NAN;
    assert_eq!(look(&later, 0.02), done);

    let wide = study(0.001, 0.3, 20);
    for made in [8, 11, 12, 15, 16, 19] {
        assert_eq!(look(&wide[..made], 0.02), None, "{made} pairs");
    }
    let Some((20, EffectVerdict::Undecided { difference, runs_needed })) = look(&wide, 0.02) else {
        panic!("{:?}", look(&wide, 0.02))
    };
    assert_eq!((difference.runs, difference.level), (20, LOOK_LEVEL));
    assert!((100..1_000).contains(&runs_needed), "{runs_needed}");
}

/// Differences that do not matter: they end a study if the interval shows that.
#[test]
fn small_differences() {
    let none = look(&study(0.0, 0.01, 8), 0.02);
    assert!(
        matches!(none, Some((8, EffectVerdict::Equivalent { excluded, .. }))
            if excluded < 0.01),
        "{none:?}"
    );
    let small = look(&study(0.01, 0.004, 8), 0.02);
    assert!(matches!(small, Some((8, EffectVerdict::BelowThreshold(_)))), "{small:?}");
    // Significant, and perhaps above the threshold: more pairs will tell.
    let open = study(0.015, 0.02, 8);
    let found = paired_at(&open, LOOK_LEVEL).expect("enough pairs");
    assert!(found.excludes_none() && found.p <= LOOK_LEVEL, "{found:?}");
    assert_eq!(look(&open, 0.02), None);
}

#[test]
fn pairs_without_a_ratio_end_a_study() {
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut pairs = study(0.0, 0.3, 10);
        pairs[2].0 = odd;
        assert_eq!(look(&pairs, 0.02), Some((3, EffectVerdict::NotComparable)), "{odd}");
    }
}

/// The least number of pairs whose smallest p is within the level.
#[test]
fn a_stricter_level_takes_more_pairs() {
    for (level, least) in [(0.05, 6), (0.018, 7), (0.005, 9)] {
        assert_eq!(paired_at(&study(0.1, 0.01, least - 1), level), None, "{level}");
        let found = paired_at(&study(0.1, 0.01, least), level).expect("as many as it takes");
        assert!(found.excludes_none() && found.p <= level, "{level}: {found:?}");
    }
}
