//! Changes at known places, in histories with known noise and fixed seeds.

mod precision;

use super::*;
use crate::tests::Noise;

/// Standard deviation of ln(metric) from run to run.
const RUN_NOISE: f64 = 0.02;

type Draw = fn(&mut Noise) -> f64;

/// Returns a history of segments (runs, level), with noise of this distribution.
fn history(seed: u64, draw: Draw, segments: &[(usize, f64)]) -> Vec<f64> {
    let mut noise = Noise::seeded(seed);
    let levels = segments.iter().flat_map(|&(runs, level)| std::iter::repeat_n(level, runs));
    levels.map(|level| level * (RUN_NOISE * draw(&mut noise)).exp()).collect()
}

fn found(values: &[f64]) -> Vec<ChangePoint> {
    change_points(values).expect("positive numbers")
}

fn indices(values: &[f64]) -> Vec<usize> {
    found(values).iter().map(|change| change.index).collect()
}

/// True if as many changes are found as expected, each at most `away` runs away.
fn are_near(values: &[f64], expected: &[usize], away: usize) -> bool {
    let found = indices(values);
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.abs_diff(*expected) <= away)
}

/// Returns the number of seeds, of 40, in which exactly the expected changes are found.
fn hits(draw: Draw, segments: &[(usize, f64)], expected: &[usize], away: usize) -> usize {
    let is_hit = |seed: &u64| are_near(&history(*seed, draw, segments), expected, away);
    (0..40).filter(is_hit).count()
}

#[test]
fn a_step_is_found_where_it_is() {
    for (place, level, away) in [(10, 110.0, 1), (37, 110.0, 1), (90, 90.0, 1), (50, 105.0, 3)] {
        let segments = [(place, 100.0), (100 - place, level)];
        let hits = hits(Noise::normal, &segments, &[place], away);
        assert!(hits >= 38, "{level} at {place}: {hits} of 40");
    }
    let values = history(1, Noise::normal, &[(40, 100.0), (40, 90.0)]);
    let [step] = found(&values)[..] else { panic!("{:?}", found(&values)) };
    assert_eq!((step.index, step.is_possible), (40, false));
    assert!((step.change() + 0.1).abs() < 0.01 && step.p == 0.001, "{step:?}");
    assert!((step.before - 100.0).abs() < 1.5 && (step.after - 90.0).abs() < 1.5, "{step:?}");
}

#[test]
fn noise_has_no_changes() {
    for (name, draw) in [("normal", Noise::normal as Draw), ("student", Noise::student3)] {
        for runs in [20, 60, 150] {
            let is_changed =
                |seed: &u64| !found(&history(*seed, draw, &[(runs, 100.0)])).is_empty();
            // 3% or more matters; without that limit the significance alone must do.
            let is_significant = |seed: &u64| {
                let values = history(*seed, draw, &[(runs, 100.0)]);
                change_points_of(&values, 0.0).is_some_and(|found| !found.is_empty())
            };
            let changed = (0..200).filter(is_changed).count();
            let significant = (0..200).filter(is_significant).count();
            assert!(changed <= significant, "{name}, {runs}: {changed} {significant}");
            assert!(significant <= 4, "{name}, {runs} runs: {significant} of 200");
        }
    }
}

#[test]
fn two_steps() {
    for (name, segments) in [
        ("up, and up", [(40, 100.0), (30, 108.0), (40, 116.0)]),
        ("up, and back", [(40, 100.0), (30, 108.0), (40, 100.0)]),
        ("a short one", [(60, 100.0), (12, 85.0), (60, 100.0)]),
    ] {
        let second = segments[0].0 + segments[1].0;
        let hits = hits(Noise::normal, &segments, &[segments[0].0, second], 2);
        assert!(hits >= 36, "{name}: {hits} of 40");
    }
}

/// Noise of infinite kurtosis: a mean would follow its outliers.
#[test]
fn heavy_tails() {
    let one = hits(Noise::student3, &[(50, 100.0), (50, 110.0)], &[50], 2);
    assert!(one >= 36, "one step: {one} of 40");
    let two = hits(Noise::student3, &[(50, 100.0), (50, 112.0), (50, 100.0)], &[50, 100], 2);
    assert!(two >= 34, "two steps: {two} of 40");
    let mut outliers = history(3, Noise::normal, &[(80, 100.0)]);
    outliers[20] = 300.0;
    outliers[50] = 5.0;
    assert_eq!(indices(&outliers), [0_usize; 0]);
}

/// A change of 2% in 400 runs is certain, and does not count.
#[test]
fn small_changes_do_not_count() {
    let values = history(5, Noise::normal, &[(200, 100.0), (200, 102.0)]);
    assert_eq!(indices(&values), [0_usize; 0]);
    let all = change_points_of(&values, 0.0).expect("positive numbers");
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].index.abs_diff(200) <= 10, "{all:?}");
}

/// Four runs at the end are a possible change, two are outliers.
#[test]
fn changes_at_the_end_are_possible() {
    let values = |runs| history(6, Noise::normal, &[(60, 100.0), (runs, 150.0)]);
    let [four] = found(&values(4))[..] else { panic!("{:?}", found(&values(4))) };
    assert_eq!((four.index, four.is_possible), (60, true));
    let [five] = found(&values(5))[..] else { panic!("{:?}", found(&values(5))) };
    assert_eq!((five.index, five.is_possible), (60, false));
    assert_eq!(indices(&values(2)), [0_usize; 0]);
}

#[test]
fn segments_without_noise() {
    let steps = [[1.0; 10], [2.0; 10], [4.0; 10], [2.0; 10]].concat();
    assert_eq!(indices(&steps), [10, 20, 30]);
    let change = |at: usize| found(&steps)[at].change();
    for (at, expected) in [1.0, 1.0, -0.5].into_iter().enumerate() {
        assert!((change(at) - expected).abs() < 1e-12, "{}", change(at));
    }
    assert_eq!(indices(&[7.0; 50]), [0_usize; 0]);
}

/// A metric in other units, and its inverse, change at the same runs.
#[test]
fn units_make_no_difference() {
    let values = history(7, Noise::student3, &[(30, 100.0), (30, 115.0), (30, 130.0)]);
    let expected = indices(&values);
    assert_eq!(expected.len(), 2);
    let scaled: Vec<_> = values.iter().map(|value| value * 1e6).collect();
    let inverse: Vec<_> = values.iter().map(|value| 1.0 / value).collect();
    assert_eq!((indices(&scaled), indices(&inverse)), (expected.clone(), expected));
}

#[test]
fn the_ends_of_the_input() {
    assert_eq!(found(&[]), []);
    assert_eq!(found(&[1.0]), []);
    assert_eq!(found(&[1.0, 1.0, 9.0, 9.0, 9.0]), []);
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(change_points(&[1.0, odd]), None, "{odd}");
    }
}
