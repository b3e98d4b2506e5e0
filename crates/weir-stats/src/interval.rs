//! Intervals for percentiles, means and ratios, from the slices of a run (METHOD 1.11, 1.7).
//!
//! Requests of one run are not independent: one long queue delays hundreds of them. No formula here
//! counts requests; slices are treated as independent.

use crate::moments::{mean, variance};
use crate::student::t_quantile;

/// Confidence of percentiles' intervals, two-sided.
const CONFIDENCE: f64 = 0.95;
/// Effective samples beyond a percentile at which its interval has the nominal coverage.
const SUPPORTED: f64 = 10.0;
/// Effective samples beyond a percentile below which no upper limit exists: −ln 0.025, for small 1
/// − p.
const WEAK: f64 = 3.7;

/// Counts of one slice of the window with respect to one percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceTail {
    /// Requests in the slice.
    pub count: u64,
    /// Requests above the run's own percentile; subset of `count`.
    pub beyond: u64,
}

/// Reliability of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Support 10 or more: the interval has its nominal coverage.
    Supported,
    /// Support 3.7 to 10: print the interval with a mark.
    Weak,
    /// Support below 3.7: print neither the percentile nor the interval.
    Unsupported,
}

/// The 95% interval of a percentile, in ranks: from Q(`low_p`) to Q(`high_p`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PercentileInterval {
    /// Rank of the lower end, 0 to `p`. 0 is the smallest value.
    pub low_p: f64,
    /// Rank of the upper end, `p` to 1; `None` if the data set no upper limit.
    pub high_p: Option<f64>,
    /// Design effect: requests per independent request, 1 or more.
    pub deff: f64,
    /// Equivalent number of independent requests: n/DEFF.
    pub effective: f64,
    /// Independent requests on the scarcer side of the percentile: `effective`·min(p, 1 − p).
    pub support: f64,
    /// Reliability that follows from the support.
    pub standing: Standing,
    /// Requests that would give a support of 10 at this design effect.
    pub needed: u64,
}

/// Ratio of the samples beyond the guard to those beyond the percentile: enough for clusters to be
/// frequent, and near enough for them to be the same (decision 0009 tried 2, 4 and 10).
const GUARD: f64 = 4.0;

/// Returns the percentile that guards percentile `p` (0 to 1): the one with four times as much
/// beyond it, or the median if that is nearer. `None` for the median itself.
pub fn guard_of(p: f64) -> Option<f64> {
    match p.total_cmp(&0.5) {
        std::cmp::Ordering::Less => Some((GUARD * p).min(0.5)),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some((1.0 - GUARD * (1.0 - p)).max(0.5)),
    }
}

/// Returns the interval of percentile `p` (0 to 1, both excluded) by batch means over the slices.
///
/// The share of requests beyond the percentile is a ratio of two sums over slices, and has the
/// variance of a ratio: slices weigh by their counts, which may differ (Cochran, Sampling
/// Techniques, 1977, ch. 6). Requests beyond a high percentile come in few large clusters. A run
/// that happened to miss a cluster underestimates both its values and its design effect. Two
/// measures counter that, and decision 0009 has the figures:
///
/// * `guard` holds the counts of the same slices for [`guard_of`] the percentile, where clusters
///   are more frequent; the greater of the two design effects is used;
/// * the end towards which slices are skewed is moved out (Johnson, Journal of the American
///   Statistical Association 1978); no end is moved in.
///
/// `None` if fewer than two slices have requests.
pub fn percentile_interval(
    p: f64,
    slices: &[SliceTail],
    guard: Option<&[SliceTail]>,
) -> Option<PercentileInterval> {
    assert!(p > 0.0 && p < 1.0, "a percentile lies between 0 and 1, and {p} does not");
    let filled = slices.iter().filter(|slice| slice.count > 0).count();
    if filled < 2 {
        return None;
    }
    let count = slices.iter().map(|slice| slice.count).sum::<u64>() as f64;
    let own = Clusters::of(slices, filled);
    let clusters = guard.map_or(own, |guard| own.or_worse(Clusters::of(guard, filled)));
    let deff = clusters.deff;
    let effective = count / deff;
    let scarce = p.min(1.0 - p);
    let support = effective * scarce;
    let t = t_quantile((1.0 + CONFIDENCE) / 2.0, (filled - 1) as f64);
    let error = (p * (1.0 - p) / effective).sqrt();
    // Johnson's shift at the ends of the interval, in standard errors per unit of skewness.
    let shift = (1.0 + 2.0 * t * t) / (6.0 * (filled as f64).sqrt());
    let low_p = p - error * (t + shift * clusters.skew_down);
    let high_p = p + error * (t + shift * clusters.skew_up);
    Some(PercentileInterval {
        low_p: low_p.max(0.0),
        high_p: (high_p < 1.0 - 0.5 / count).then_some(high_p),
        deff,
        effective,
        support,
        standing: standing(support),
        needed: (SUPPORTED * deff / scarce).ceil() as u64,
    })
}

fn standing(support: f64) -> Standing {
    if support >= SUPPORTED {
        Standing::Supported
    } else if support >= WEAK {
        Standing::Weak
    } else {
        Standing::Unsupported
    }
}

/// Distribution over the slices of the requests beyond a percentile.
#[derive(Clone, Copy, Debug)]
struct Clusters {
    /// Variance of their share relative to independent requests, 1 or more.
    deff: f64,
    /// Skewness of the slices towards more requests beyond; 0 or more.
    skew_up: f64,
    /// Skewness towards fewer; 0 or more.
    skew_down: f64,
}

impl Clusters {
    /// Computes the spread around the observed share and not around 1 − p: if many values equal the
    /// percentile, fewer lie beyond it.
    fn of(slices: &[SliceTail], filled: usize) -> Clusters {
        let count = slices.iter().map(|slice| slice.count).sum::<u64>() as f64;
        let beyond = slices.iter().map(|slice| slice.beyond).sum::<u64>() as f64;
        let share = beyond / count;
        let filled = filled as f64;
        let independent = count * share * (1.0 - share);
        let residuals: Vec<f64> =
            slices.iter().map(|slice| slice.beyond as f64 - share * slice.count as f64).collect();
        let moment = |power| residuals.iter().map(|r: &f64| r.powi(power)).sum::<f64>() / filled;
        let square = moment(2) * filled / (filled - 1.0);
        if square <= 0.0 {
            return Clusters { deff: 1.0, skew_up: 0.0, skew_down: 0.0 };
        }
        let skew = moment(3) / square.powf(1.5);
        Clusters {
            deff: (filled * square / independent).max(1.0),
            skew_up: skew.max(0.0),
            skew_down: (-skew).max(0.0),
        }
    }

    fn or_worse(self, other: Clusters) -> Clusters {
        Clusters {
            deff: self.deff.max(other.deff),
            skew_up: self.skew_up.max(other.skew_up),
            skew_down: self.skew_down.max(other.skew_down),
        }
    }
}

/// A mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// Mean of the slices' values, in their unit.
    pub mean: f64,
    /// Half-width: the interval is `mean` ± this, in the same unit.
    pub half_width: f64,
    /// Number of slices.
    pub slices: usize,
}

/// Returns the interval of a mean by batch means: `mean ± t·s/√B` over B slices of equal length,
/// with B − 1 degrees of freedom (METHOD 1.7). `confidence` is two-sided, 0 to 1.
///
/// `None` for fewer than two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<MeanInterval> {
    if values.len() < 2 {
        return None;
    }
    let slices = values.len();
    let error = (variance(values) / slices as f64).sqrt();
    let half_width = match error {
        0.0 => 0.0, // also if t is infinite
        _ => t_quantile((1.0 + confidence) / 2.0, (slices - 1) as f64) * error,
    };
    Some(MeanInterval { mean: mean(values), half_width, slices })
}

/// A value with its interval, both in one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueInterval {
    /// Lower end.
    pub low: f64,
    /// The value itself.
    pub value: f64,
    /// Upper end.
    pub high: f64,
}

/// Returns the interval of a/b of two independent estimates, each with 0 < low ≤ value ≤ high, at
/// the same confidence as theirs.
///
/// On the logarithmic scale the distances to the ends add as squares. The lower end of `a` pairs
/// with the upper end of `b`, and the reverse (Donner and Zou, Statistical Methods in Medical
/// Research 2012).
///
/// `None` if an estimate is not of that form, or is not finite.
pub fn ratio_interval(a: ValueInterval, b: ValueInterval) -> Option<ValueInterval> {
    let is_sound = |of: ValueInterval| {
        0.0 < of.low && of.low <= of.value && of.value <= of.high && of.high.is_finite()
    };
    if !is_sound(a) || !is_sound(b) {
        return None;
    }
    let below = |of: ValueInterval| (of.value / of.low).ln();
    let above = |of: ValueInterval| (of.high / of.value).ln();
    let ratio = a.value / b.value;
    Some(ValueInterval {
        value: ratio,
        low: ratio / below(a).hypot(above(b)).exp(),
        high: ratio * above(a).hypot(below(b)).exp(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tails(counts: &[(u64, u64)]) -> Vec<SliceTail> {
        counts.iter().map(|&(count, beyond)| SliceTail { count, beyond }).collect()
    }

    #[test]
    fn nothing_and_one_slice_have_no_interval() {
        assert_eq!(percentile_interval(0.5, &[], None), None);
        assert_eq!(percentile_interval(0.5, &tails(&[(0, 0), (0, 0), (0, 0)]), None), None);
        assert_eq!(percentile_interval(0.5, &tails(&[(100, 50), (0, 0)]), None), None);
        assert!(percentile_interval(0.5, &tails(&[(100, 50), (1, 0)]), None).is_some());
    }

    /// Each of 30 slices of 1,000 has 10 requests beyond p99, within the variation of independent
    /// ones.
    #[test]
    fn independent_requests() {
        let slices: Vec<_> =
            (0..30).map(|i| SliceTail { count: 1_000, beyond: 9 + i % 3 }).collect();
        let interval = percentile_interval(0.99, &slices, None).expect("30 slices");
        assert_eq!((interval.deff, interval.effective), (1.0, 30_000.0));
        assert!((interval.support - 300.0).abs() < 1e-9);
        let half = 2.045229642132704 * (0.99 * 0.01 / 30_000.0_f64).sqrt();
        assert!((interval.low_p - (0.99 - half)).abs() < 1e-12);
        assert!((interval.high_p.expect("bounded") - (0.99 + half)).abs() < 1e-12);
        assert_eq!((interval.standing, interval.needed), (Standing::Supported, 1_000));
    }

    /// All 10 beyond in every second slice: variance of the share 10 times the independent one.
    #[test]
    fn clustered_requests() {
        let slices = tails(&[(100, 10), (100, 0), (100, 10), (100, 0)]);
        let interval = percentile_interval(0.95, &slices, None).expect("4 slices");
        let deff = 100.0 / 3.0 / (400.0 * 0.05 * 0.95 / 4.0);
        assert!((interval.deff - deff).abs() < 1e-9, "{}", interval.deff);
        assert_eq!(interval.standing, Standing::Unsupported);
        assert_eq!(interval.needed, (10.0 * deff / 0.05_f64).ceil() as u64);
    }

    /// The guard may reveal clusters that the percentile's own slices do not.
    #[test]
    fn the_guard_counts_if_it_is_worse() {
        let even = tails(&[(100, 1); 4]);
        let uneven = tails(&[(100, 19), (100, 1)].repeat(2));
        let own = percentile_interval(0.99, &even, None).expect("4 slices");
        let guarded = percentile_interval(0.99, &even, Some(&uneven)).expect("4 slices");
        let guard = percentile_interval(0.9, &uneven, None).expect("4 slices");
        assert_eq!((own.deff, guarded.deff), (1.0, guard.deff));
        assert!(guarded.low_p < own.low_p && guarded.needed > own.needed);
        let reverse = percentile_interval(0.9, &uneven, Some(&even)).expect("4 slices");
        assert_eq!(reverse, guard);
    }

    #[test]
    fn guards() {
        for (p, guard) in [
            (0.999, Some(0.996)),
            (0.99, Some(0.96)),
            (0.9, Some(0.6)),
            (0.6, Some(0.5)),
            (0.5, None),
            (0.3, Some(0.5)),
            (0.01, Some(0.04)),
        ] {
            let got = guard_of(p);
            let is_near = got.zip(guard).is_some_and(|(got, guard)| (got - guard).abs() < 1e-12);
            assert!(is_near || got == guard, "{p}: {got:?}");
        }
    }

    /// One slice has all requests beyond the percentile: more may come, so the upper end moves out.
    #[test]
    fn the_end_towards_the_skew_is_moved_out() {
        let mut slices = tails(&[(10_000, 10); 30]);
        slices[7].beyond = 300;
        let interval = percentile_interval(0.98, &slices, None).expect("30 slices");
        let high_p = interval.high_p.expect("bounded");
        assert!(high_p - 0.98 > 1.5 * (0.98 - interval.low_p), "{interval:?}");
        for slice in &mut slices {
            slice.beyond = slice.count - slice.beyond;
        }
        let mirrored = percentile_interval(0.02, &slices, None).expect("30 slices");
        assert!((mirrored.low_p - (1.0 - high_p)).abs() < 1e-9, "{mirrored:?}");
    }

    /// Slices that differ in their counts and not in their shares are no evidence of clusters.
    #[test]
    fn slices_weigh_by_their_counts() {
        let slices = tails(&[(100, 10), (1_000, 100), (10, 1), (400, 40), (0, 0)]);
        let interval = percentile_interval(0.9, &slices, None).expect("4 slices with requests");
        assert_eq!(interval.deff, 1.0);
    }

    #[test]
    fn an_upper_end_needs_data_beyond_it() {
        let slices = tails(&[(50, 1), (50, 0), (50, 0), (50, 1)]);
        let interval = percentile_interval(0.99, &slices, None).expect("4 slices");
        assert_eq!((interval.high_p, interval.standing), (None, Standing::Unsupported));
    }

    /// All requests took the same time: none lies beyond any percentile.
    #[test]
    fn a_constant_is_as_good_as_independent() {
        let interval = percentile_interval(0.5, &tails(&[(100, 0); 30]), None).expect("30 slices");
        assert_eq!((interval.deff, interval.standing), (1.0, Standing::Supported));
        assert!(interval.low_p < 0.5 && interval.high_p.is_some_and(|high| high > 0.5));
    }

    #[test]
    fn standings() {
        for (support, expected) in [
            (0.0, Standing::Unsupported),
            (3.69, Standing::Unsupported),
            (3.7, Standing::Weak),
            (9.99, Standing::Weak),
            (10.0, Standing::Supported),
        ] {
            assert_eq!(standing(support), expected, "{support}");
        }
    }

    #[test]
    fn means() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        let constant = MeanInterval { mean: 7.0, half_width: 0.0, slices: 3 };
        assert_eq!(mean_interval(&[7.0; 3], 0.95), Some(constant));
        let interval = mean_interval(&[1.0, 2.0, 3.0, 4.0], 0.95).expect("4 values");
        let half = 3.182446305284263 * (5.0_f64 / 3.0 / 4.0).sqrt();
        assert!((interval.mean - 2.5).abs() < 1e-15 && (interval.half_width - half).abs() < 1e-9);
    }

    #[test]
    fn ratios() {
        let of = |low: f64, value: f64, high: f64| ValueInterval { low, value, high };
        let exact = ratio_interval(of(6.0, 6.0, 6.0), of(3.0, 3.0, 3.0));
        assert_eq!(exact, Some(ValueInterval { low: 2.0, value: 2.0, high: 2.0 }));
        // 10% on both sides of both: √2 times that on the logarithmic scale.
        let wide = of(1.0 / 1.1, 1.0, 1.1);
        let both = ratio_interval(wide, wide).expect("sound");
        let factor = 1.1_f64.powf(2.0_f64.sqrt());
        assert!((both.high - factor).abs() < 1e-12 && (both.low - 1.0 / factor).abs() < 1e-12);
        for a in [
            of(0.0, 1.0, 2.0),
            of(1.0, 0.9, 2.0),
            of(1.0, 1.0, f64::INFINITY),
            of(f64::NAN, 1.0, 1.0),
        ] {
            assert_eq!(ratio_interval(a, of(1.0, 1.0, 1.0)), None, "{a:?}");
            assert_eq!(ratio_interval(of(1.0, 1.0, 1.0), a), None, "{a:?}");
        }
    }
}
