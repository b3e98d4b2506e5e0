//! Stationarity of a run: three rules and a caveat over the slices of one series (METHOD 1.10).
//!
//! A rule fires only if the change is both significant and large: long runs make every change
//! significant, and short ones show large changes in noise.

use crate::energy::best_split;
use crate::moments::{lag1, mean, median, variance};
use crate::shuffle::permutation_p;
use crate::student::t_cdf;

/// Least number of values; fewer cannot be distinguished from chance.
pub(crate) const LEAST: usize = 10;
/// Significance level of a rule, two-sided. Three rules test five series of a document, so a single
/// rule must be wrong in less than 1% of good runs. At this level, at least one of them is wrong in
/// 2% to 4% (METHOD 1.10).
pub(crate) const CHANCE: f64 = 0.005;
/// The same level as a number of standard deviations.
const CHANCE_Z: f64 = 2.807;
/// Threshold of a large change: 5% of the level.
pub(crate) const LARGE: f64 = 0.05;
/// Limit of the lag-1 autocorrelation times √B; independent values exceed it in 1% of series.
const LAG1_Z: f64 = 2.33;
/// Least length of a level; shorter ones count as outliers.
const LEVEL: usize = 3;
/// Limit of a value's magnitude, so that sums of squares cannot overflow.
const GREATEST: f64 = 1e100;

/// S1: a monotonic trend (Mann and Kendall), and its slope (Sen).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonotonicTrend {
    /// Kendall's S in standard deviations, corrected for ties and for continuity.
    pub z: f64,
    /// Sen's slope, the median over all pairs, in units of the series per step.
    pub slope: f64,
    /// |slope| over the whole series, relative to its median; to its mean if the median is 0.
    pub magnitude: f64,
}

/// S3: a change of level at one index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Share of shuffled series that split as well or better.
    pub p: f64,
    /// Relative change of the means, (after − before)/before; 1 or −1 if it was 0 before.
    pub magnitude: f64,
}

/// S2: the first third of the values compared with the last third.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thirds {
    /// p-value of Welch's test, two-sided.
    pub p: f64,
    /// Relative change of the means, (last − first)/first; 1 or −1 if the first is 0.
    pub difference: f64,
}

/// Results of S1 to S4 for one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stationarity {
    /// S1; `None` if all values are equal.
    pub trend: Option<MonotonicTrend>,
    /// S2; `None` if all values are equal.
    pub thirds: Option<Thirds>,
    /// S3; `None` if all values are equal.
    pub shift: Option<Shift>,
    /// S4: lag-1 autocorrelation, −1 to 1; 0 if all values are equal.
    pub lag1: f64,
    /// Limit of `lag1`, above which neighbours are not independent: 2.33/√B.
    pub lag1_limit: f64,
}

impl Stationarity {
    /// Evaluates a series of slices in the order of time. `None` for fewer than 10 values, or if
    /// one is not finite or beyond 10¹⁰⁰.
    pub fn of(values: &[f64]) -> Option<Stationarity> {
        if values.len() < LEAST || !are_sound(values) {
            return None;
        }
        let varies = values.iter().any(|value| *value != values[0]);
        Some(Stationarity {
            trend: varies.then(|| trend(values)),
            thirds: varies.then(|| thirds(values)),
            shift: varies.then(|| shift(values)),
            lag1: if varies { lag1(values) } else { 0.0 },
            lag1_limit: LAG1_Z / (values.len() as f64).sqrt(),
        })
    }

    /// True if S1 fires.
    pub fn has_trend(&self) -> bool {
        self.trend.is_some_and(|trend| trend.z.abs() > CHANCE_Z && trend.magnitude > LARGE)
    }

    /// True if S2 fires.
    pub fn has_drift(&self) -> bool {
        self.thirds.is_some_and(|thirds| thirds.p < CHANCE && thirds.difference.abs() > LARGE)
    }

    /// True if S3 fires.
    pub fn has_shift(&self) -> bool {
        self.shift.is_some_and(|shift| shift.p < CHANCE && shift.magnitude.abs() > LARGE)
    }

    /// True if S4 fires: slices resemble their predecessors, and intervals computed from them are
    /// too narrow. A negative autocorrelation, as of completions under uniform arrivals, makes
    /// intervals too wide, which is harmless.
    pub fn is_correlated(&self) -> bool {
        self.lag1 > self.lag1_limit
    }
}

/// True if all values are finite and below 10¹⁰⁰ in magnitude.
pub(crate) fn are_sound(values: &[f64]) -> bool {
    values.iter().all(|value| value.abs() < GREATEST)
}

/// Returns the change relative to `before`; 1 or −1 if `before` is 0 and `after` is not.
pub(crate) fn relative(before: f64, after: f64) -> f64 {
    if before != 0.0 {
        (after - before) / before.abs()
    } else if after != 0.0 {
        after.signum()
    } else {
        0.0
    }
}

fn trend(values: &[f64]) -> MonotonicTrend {
    let count = values.len();
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    let mut score: f64 = 0.0;
    for (i, early) in values.iter().enumerate() {
        for (steps, late) in (1..).zip(&values[i + 1..]) {
            score += f64::from(i8::from(late > early) - i8::from(late < early));
            slopes.push((late - early) / f64::from(steps));
        }
    }
    let continuous = f64::max(score.abs() - 1.0, 0.0).copysign(score);
    let slope = median(&mut slopes);
    let level = match median(&mut values.to_vec()) {
        0.0 => mean(values),
        level => level,
    };
    MonotonicTrend {
        z: continuous / score_variance(values).sqrt(),
        slope,
        magnitude: relative(level, level + slope * count as f64).abs(),
    }
}

/// Returns the variance of Kendall's S without a trend: each group of t equal values reduces it
/// (Kendall, Rank Correlation Methods, 1970, ch. 4). Above 0 unless all values are equal.
fn score_variance(values: &[f64]) -> f64 {
    let part = |count: usize| (count * (count - 1) * (2 * count + 5)) as f64 / 18.0;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| part(group.len())).sum();
    part(values.len()) - ties
}

fn thirds(values: &[f64]) -> Thirds {
    let third = values.len() / 3;
    let first = &values[..third];
    let last = &values[values.len() - third..];
    let before = mean(first);
    let after = mean(last);
    let errors = [first, last].map(|values| variance(values) / third as f64);
    Thirds { p: welch(after - before, errors, third), difference: relative(before, after) }
}

/// Returns the two-sided probability of a difference of means this large between two samples of
/// `count` values with these squared standard errors (Welch, Biometrika 1947).
fn welch(difference: f64, errors: [f64; 2], count: usize) -> f64 {
    let error = errors[0] + errors[1];
    if difference == 0.0 {
        return 1.0;
    }
    if error == 0.0 {
        return 0.0;
    }
    let df = (count - 1) as f64 / ((errors[0] / error).powi(2) + (errors[1] / error).powi(2));
    2.0 * t_cdf(-difference.abs() / error.sqrt(), df)
}

fn shift(values: &[f64]) -> Shift {
    let index = best_split(values, LEVEL).index;
    Shift {
        index,
        p: permutation_p(values, |shuffled| best_split(shuffled, LEVEL).energy),
        magnitude: relative(mean(&values[..index]), mean(&values[index..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns thirty values about 100 that differ by up to 3, in random order.
    fn noise() -> Vec<f64> {
        (0..30).map(|i| 100.0 + f64::from(i * 7919 % 13 - 6) / 2.0).collect()
    }

    fn judged(values: &[f64]) -> Stationarity {
        Stationarity::of(values).expect("ten values or more")
    }

    /// Checks which of S1 to S3 fire.
    fn check(name: &str, values: &[f64], expected: [bool; 3]) {
        let judged = judged(values);
        let fired = [judged.has_trend(), judged.has_drift(), judged.has_shift()];
        assert_eq!(fired, expected, "{name}: {judged:?}");
    }

    #[test]
    fn rules() {
        let with = |change: &dyn Fn(usize) -> f64| -> Vec<f64> {
            noise().iter().enumerate().map(|(i, value)| value * change(i)).collect()
        };
        check("noise", &noise(), [false; 3]);
        check("ramp by 20%", &with(&|i| 1.0 + 0.2 * i as f64 / 30.0), [true; 3]);
        check("fall by 20%", &with(&|i| 1.2 - 0.2 * i as f64 / 30.0), [true; 3]);
        check("significant, and small", &with(&|i| 1.0 + 0.04 * i as f64 / 30.0), [false; 3]);
        check("step by 10%", &with(&|i| if i < 12 { 1.0 } else { 1.1 }), [true; 3]);
        check("late step", &with(&|i| if i < 26 { 1.0 } else { 1.3 }), [true, false, true]);
        check("one outlier", &with(&|i| if i == 8 { 3.0 } else { 1.0 }), [false; 3]);
    }

    #[test]
    fn a_shift_is_found_where_it_is() {
        for place in LEVEL..=30 - LEVEL {
            let values: Vec<f64> = noise()
                .iter()
                .enumerate()
                .map(|(i, value)| if i < place { *value } else { value * 1.2 })
                .collect();
            let shift = judged(&values).shift.expect("values differ");
            assert_eq!(shift.index, place);
            assert!((shift.magnitude - 0.2).abs() < 0.03 && shift.p < CHANCE, "{shift:?}");
        }
    }

    /// Computed by hand: 1 2 4 3 5 has 9 ascents and 1 descent, so S = 8 with variance 5·4·15/18.
    #[test]
    fn kendall_and_sen() {
        let trend = trend(&[1.0, 2.0, 4.0, 3.0, 5.0]);
        assert!((trend.z - 7.0 / (300.0_f64 / 18.0).sqrt()).abs() < 1e-12);
        assert_eq!((trend.slope, trend.magnitude), (1.0, 5.0 / 3.0));
        // Two pairs of equal values subtract 2·1·9/18 each.
        let ties = [1.0, 1.0, 2.0, 2.0, 3.0];
        assert!((score_variance(&ties) - (300.0 / 18.0 - 2.0)).abs() < 1e-12);
    }

    #[test]
    fn neighbours() {
        assert!(judged(&[1.0, 2.0].repeat(15)).lag1 < -0.9);
        assert!(!judged(&[1.0, 2.0].repeat(15)).is_correlated());
        let slow: Vec<f64> = (0..30).map(|i| f64::from(i % 15)).collect();
        assert!(judged(&slow).is_correlated());
    }

    #[test]
    fn the_ends_of_what_there_is() {
        assert_eq!(Stationarity::of(&[]), None);
        assert_eq!(Stationarity::of(&[1.0; 9]), None);
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
            let mut values = noise();
            values[3] = wrong;
            assert_eq!(Stationarity::of(&values), None, "{wrong}");
        }
        for constant in [0.0, -0.0, 1e-300, 7.0, 9e99] {
            let judged = judged(&[constant; 12]);
            assert_eq!((judged.trend, judged.thirds, judged.shift), (None, None, None));
            assert_eq!(judged.lag1, 0.0);
        }
        // All zeros but one, and a level that rises from zero: the results are finite.
        let mut values = vec![0.0; 30];
        values[29] = 1.0;
        check("one of thirty", &values, [false; 3]);
        values[15..].fill(1.0);
        let from_nothing = judged(&values);
        assert_eq!(from_nothing.shift.map(|shift| (shift.index, shift.magnitude)), Some((15, 1.0)));
        assert_eq!(from_nothing.thirds, Some(Thirds { p: 0.0, difference: 1.0 }));
        for scale in [1e-200, 1e99] {
            let scaled: Vec<f64> = noise().iter().map(|value| value * scale / 100.0).collect();
            assert!(judged(&scaled).trend.is_some_and(|trend| trend.z.is_finite()), "{scale}");
        }
    }
}
