//! Was the run the same all along? Three rules and a caveat over the slices of one series
//! (METHOD 1.10).
//!
//! A rule fires only when the change is significant and large: a long run finds every change, and
//! a short one finds large changes in noise.

use crate::moments::{lag1, mean, median, variance};
use crate::shuffle::Shuffle;
use crate::student::t_cdf;

/// Fewer values than this cannot be told apart from chance.
const LEAST: usize = 10;
/// S1 fires beyond this many standard deviations.
const TREND_Z: f64 = 2.58;
/// S2 and S3 fire below this probability of chance.
const CHANCE: f64 = 0.01;
/// What is large: 5% of the level.
const LARGE: f64 = 0.05;
/// Levels shorter than this are outliers, not levels.
const LEVEL: usize = 3;
/// Shuffles of S3; the least p is 1 in one more.
const SHUFFLES: u32 = 999;

/// S1: a monotonic trend (Mann and Kendall), and how steep it is (Sen).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Kendall's S in standard deviations, corrected for ties and for continuity.
    pub z: f64,
    /// Sen's slope, the median over all pairs, in units of the series per step.
    pub slope: f64,
    /// |slope| over the whole series, relative to its median; to its mean if the median is 0.
    pub magnitude: f64,
}

/// S3: the level changed at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// First value of the new level.
    pub index: usize,
    /// How often shuffled values split as well or better.
    pub p: f64,
    /// (after − before)/before, of means; 1 or −1 if it was 0 before.
    pub magnitude: f64,
}

/// S2: the first third of the values against the last third.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thirds {
    /// Of Welch's test, two-sided.
    pub p: f64,
    /// (last − first)/first, of means; 1 or −1 if the first is 0.
    pub difference: f64,
}

/// S1 to S4 of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stationarity {
    /// S1; `None` if all values are equal.
    pub trend: Option<Trend>,
    /// S2; `None` if all values are equal.
    pub thirds: Option<Thirds>,
    /// S3; `None` if all values are equal.
    pub shift: Option<Shift>,
    /// S4: correlation of neighbours, −1 to 1; 0 if all values are equal.
    pub lag1: f64,
    /// Beyond this, up or down, neighbours are not independent: 1.96/√B.
    pub lag1_limit: f64,
}

impl Stationarity {
    /// Judges a series of slices in the order of time. `None` of fewer than 10 values, or when one
    /// is not finite.
    pub fn of(values: &[f64]) -> Option<Stationarity> {
        if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let varies = values.iter().any(|value| *value != values[0]);
        Some(Stationarity {
            trend: varies.then(|| trend(values)),
            thirds: varies.then(|| thirds(values)),
            shift: varies.then(|| shift(values)),
            lag1: lag1(values),
            lag1_limit: 1.96 / (values.len() as f64).sqrt(),
        })
    }

    /// S1 fires.
    pub fn has_trend(&self) -> bool {
        self.trend.is_some_and(|trend| trend.z.abs() > TREND_Z && trend.magnitude > LARGE)
    }

    /// S2 fires.
    pub fn has_drift(&self) -> bool {
        self.thirds.is_some_and(|thirds| thirds.p < CHANCE && thirds.difference.abs() > LARGE)
    }

    /// S3 fires.
    pub fn has_shift(&self) -> bool {
        self.shift.is_some_and(|shift| shift.p < CHANCE && shift.magnitude.abs() > LARGE)
    }

    /// S4: the slices are not independent, and intervals computed from them are too narrow (or too
    /// wide, when neighbours differ more than strangers).
    pub fn is_correlated(&self) -> bool {
        self.lag1.abs() > self.lag1_limit
    }
}

/// The change relative to what was. What comes from nothing is all new.
fn relative(before: f64, after: f64) -> f64 {
    if before != 0.0 {
        (after - before) / before.abs()
    } else if after != 0.0 {
        after.signum()
    } else {
        0.0
    }
}

fn trend(values: &[f64]) -> Trend {
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
    Trend {
        z: continuous / score_variance(values).sqrt(),
        slope,
        magnitude: relative(level, level + slope * count as f64).abs(),
    }
}

/// The variance of Kendall's S without a trend: each group of t equal values takes its part off
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
    let (first, last) = (&values[..third], &values[values.len() - third..]);
    let (before, after) = (mean(first), mean(last));
    let errors = (variance(first) / third as f64, variance(last) / third as f64);
    Thirds { p: welch(after - before, errors, third), difference: relative(before, after) }
}

/// The two-sided probability of a difference of means this large between two samples of `count`
/// values with these squared standard errors (Welch, Biometrika 1947).
fn welch(difference: f64, errors: (f64, f64), count: usize) -> f64 {
    let error = errors.0 + errors.1;
    if difference == 0.0 {
        return 1.0;
    }
    if error == 0.0 {
        return 0.0;
    }
    let df = error.powi(2) * (count - 1) as f64 / (errors.0.powi(2) + errors.1.powi(2));
    2.0 * t_cdf(-difference.abs() / error.sqrt(), df)
}

fn shift(values: &[f64]) -> Shift {
    let (index, energy) = best_split(values);
    let mut shuffled = values.to_vec();
    let mut shuffle = Shuffle::new();
    let mut as_good = 0;
    for _ in 0..SHUFFLES {
        shuffle.shuffle(&mut shuffled);
        as_good += u32::from(best_split(&shuffled).1 >= energy);
    }
    Shift {
        index,
        p: f64::from(as_good + 1) / f64::from(SHUFFLES + 1),
        magnitude: relative(mean(&values[..index]), mean(&values[index..])),
    }
}

/// Where two levels differ most, and the energy statistic there: nm/(n + m) times twice the mean
/// distance between them less the mean distance within each (METHOD 1.16).
fn best_split(values: &[f64]) -> (usize, f64) {
    let count = values.len();
    let distances = |from: f64, to: &[f64]| -> f64 { to.iter().map(|v| (v - from).abs()).sum() };
    // All distances lie within the later part, until values move to the earlier one.
    let (mut within_early, mut between) = (0.0, 0.0);
    let mut within_late: f64 =
        values.iter().enumerate().map(|(i, value)| distances(*value, &values[i + 1..])).sum();
    let mut best = (LEVEL, f64::NEG_INFINITY);
    for (moved, value) in values.iter().enumerate().take(count - LEVEL) {
        let to_early = distances(*value, &values[..moved]);
        let to_late = distances(*value, &values[moved + 1..]);
        within_early += to_early;
        within_late -= to_late;
        between += to_late - to_early;
        let index = moved + 1;
        let (n, m) = (index as f64, (count - index) as f64);
        if index < LEVEL {
            continue;
        }
        let energy = 2.0 * between / (n * m)
            - 2.0 * within_early / (n * (n - 1.0))
            - 2.0 * within_late / (m * (m - 1.0));
        let weighed = energy * n * m / (n + m);
        if weighed > best.1 {
            best = (index, weighed);
        }
    }
    best
}
