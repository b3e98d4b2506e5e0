//! The share of requests that failed or were slow, with an interval from slices.

use crate::interval::{SliceTail, ValueInterval};
use crate::moments::{mean, variance};
use crate::student::t_quantile;

/// Tail probability of the intervals, on each side. A search tests some rates near the true one,
/// each more than once, and fails if one of these tests does. With 99% per test, 95% of searches
/// are right (verified by the tests of the search).
pub(super) const TAIL: f64 = 0.005;

/// A share of requests, 0 to 1, and its 99% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareInterval {
    /// Lower end.
    pub low: f64,
    /// The observed share.
    pub share: f64,
    /// Upper end.
    pub high: f64,
    /// Requests per independent request; at least 1 (METHOD 1.11, DEFF).
    pub deff: f64,
}

/// Returns the share of `beyond` in `count` over slices of one or more trials.
///
/// Slow requests come in clusters, so the interval follows from the slices' spread (METHOD 1.11),
/// and is never narrower than for independent requests. It is symmetric in the logarithm: shares
/// near a limit such as 1% are skewed, and with a plain ± a bad rate without a cluster in it would
/// look good too often. With fewer than two non-empty slices, or if every request has the same
/// outcome, it is the interval of independent requests.
pub fn share_interval(slices: &[SliceTail]) -> ShareInterval {
    let count: u64 = slices.iter().map(|slice| slice.count).sum();
    let beyond: u64 = slices.iter().map(|slice| slice.beyond).sum();
    if count == 0 {
        return ShareInterval { low: 0.0, share: 0.0, high: 1.0, deff: 1.0 };
    }
    let n = count as f64;
    let share = beyond as f64 / count as f64;
    if beyond == 0 || beyond == count {
        // The share at which so many equal outcomes are as rare as the tail.
        let reach = 1.0 - TAIL.powf(1.0 / n);
        let (low, high) = if beyond == 0 { (0.0, reach) } else { (1.0 - reach, 1.0) };
        return ShareInterval { low, share, high, deff: 1.0 };
    }
    let used = slices.iter().filter(|slice| slice.count > 0);
    let slices = used.clone().count() as f64;
    let excess = |slice: &SliceTail| (slice.beyond as f64 - share * slice.count as f64).powi(2);
    let independent = share * (1.0 - share) / n;
    let (variance, t) = if slices < 2.0 {
        (independent, t_quantile(1.0 - TAIL, 1.0))
    } else {
        let spread = used.map(excess).sum::<f64>() * slices / (slices - 1.0) / (n * n);
        (spread.max(independent), t_quantile(1.0 - TAIL, slices - 1.0))
    };
    let factor = (t * variance.sqrt() / share).exp();
    let deff = variance / independent;
    ShareInterval { low: share / factor, share, high: (share * factor).min(1.0), deff }
}

/// Computes the rise of the response time in seconds per second of the trial, and its 99% interval,
/// from `steps`: for two consecutive slices the difference of their mean response times, per second
/// between them. At a rate R above the capacity C it is R/C − 1, whatever the limit of the
/// objective.
///
/// The steps of a queue at its capacity are independent. Below the capacity a queue that grew
/// shrinks again, so that its steps cancel out and vary more than their sum: the interval is wider
/// than it had to be. So chance alone rarely looks like growth, and a queue that the warm-up did
/// not fill does not either.
pub(super) fn rise_of(steps: &[f64]) -> ValueInterval {
    if steps.len() < 2 {
        return ValueInterval { low: f64::NEG_INFINITY, value: 0.0, high: f64::INFINITY };
    }
    let count = steps.len() as f64;
    let mean = mean(steps);
    let reach = t_quantile(1.0 - TAIL, count - 1.0) * (variance(steps) / count).sqrt();
    ValueInterval { low: mean - reach, value: mean, high: mean + reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(counts: &[(u64, u64)]) -> Vec<SliceTail> {
        counts.iter().map(|&(count, beyond)| SliceTail { count, beyond }).collect()
    }

    #[test]
    fn extremes() {
        let nothing = ShareInterval { low: 0.0, share: 0.0, high: 1.0, deff: 1.0 };
        assert_eq!(share_interval(&[]), nothing);
        assert_eq!(share_interval(&slices(&[(0, 0), (0, 0)])), nothing);
        let none = share_interval(&slices(&[(500, 0), (500, 0)]));
        assert_eq!((none.low, none.share), (0.0, 0.0));
        // 1 - 0.005^(1/1000).
        assert!((none.high - 0.005_284).abs() < 1e-6, "{none:?}");
        let all = share_interval(&slices(&[(500, 500), (500, 500)]));
        assert_eq!((all.low, all.share, all.high), (1.0 - none.high, 1.0, 1.0));
    }

    /// 10 of 1,000 in each: exactly as precise as independent requests.
    #[test]
    fn even_slices_are_no_more_than_independent() {
        let even = share_interval(&slices(&[(1_000, 10); 30]));
        let factor = (2.756_385_903_670_606 * (0.99 / (0.01 * 30_000.0_f64)).sqrt()).exp();
        assert!((even.low - 0.01 / factor).abs() < 1e-12, "{even:?}");
        assert!((even.high - 0.01 * factor).abs() < 1e-12, "{even:?}");
    }

    #[test]
    fn clusters_widen() {
        let clustered: Vec<_> = (0..30)
            .map(|slice| SliceTail { count: 1_000, beyond: if slice % 10 == 0 { 100 } else { 0 } })
            .collect();
        let even = share_interval(&slices(&[(1_000, 10); 30]));
        let clustered = share_interval(&clustered);
        assert_eq!(clustered.share, even.share);
        assert!(even.deff == 1.0 && (90.0..110.0).contains(&clustered.deff), "{clustered:?}");
        assert!(clustered.high > 2.0 * even.high && clustered.low < even.low / 2.0);
    }

    #[test]
    fn few_steps_show_nothing() {
        for steps in [&[][..], &[3.0]] {
            assert_eq!(rise_of(steps).low, f64::NEG_INFINITY);
        }
    }

    /// A queue that fills at 1% over its capacity, with and without noise of each slice's mean.
    #[test]
    fn steady_growth_is_beyond_chance() {
        assert_eq!(rise_of(&[0.125; 29]), ValueInterval { low: 0.125, value: 0.125, high: 0.125 });
        let noisy: Vec<f64> = (0..29).map(|nth| 0.01 + [0.008, -0.008][nth % 2]).collect();
        let rise = rise_of(&noisy);
        assert!(rise.low > 0.005 && rise.high < 0.015, "{rise:?}");
    }

    /// Means that alternate between two values end higher than they began, by chance.
    #[test]
    fn means_that_only_vary_do_not_grow() {
        let steps: Vec<f64> = (0..29).map(|nth| [0.5, -0.5][nth % 2]).collect();
        let rise = rise_of(&steps);
        assert!(rise.value > 0.01 && rise.low < 0.0, "{rise:?}");
    }
}
