//! Growth of the backlog, seen by the response time: in a server that falls behind, each request
//! waits longer than the one before.

use crate::moments::{mean, variance};
use crate::student::t_quantile;

use super::share::TAIL;

/// Rise of the response time in seconds per second of the trial, and its 99% interval.
///
/// At a rate R above the capacity C it is R/C − 1, whatever the limit of the objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// Lower end.
    pub low: f64,
    /// The observed rise.
    pub mean: f64,
    /// Upper end.
    pub high: f64,
}

impl Rise {
    /// Computes the rise from `steps`: for two consecutive slices the difference of their mean
    /// response times, per second between them.
    ///
    /// The steps of a queue at its capacity are independent. Below the capacity a queue that grew
    /// shrinks again, so that its steps cancel out and vary more than their sum: the interval is
    /// wider than it had to be. So chance alone rarely looks like growth, and a queue that the
    /// warm-up did not fill does not either.
    pub(super) fn of(steps: &[f64]) -> Rise {
        if steps.len() < 2 {
            return Rise { low: f64::NEG_INFINITY, mean: 0.0, high: f64::INFINITY };
        }
        let (count, mean) = (steps.len() as f64, mean(steps));
        let reach = t_quantile(1.0 - TAIL, count - 1.0) * (variance(steps) / count).sqrt();
        Rise { low: mean - reach, mean, high: mean + reach }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_steps_show_nothing() {
        for steps in [&[][..], &[3.0]] {
            assert_eq!(Rise::of(steps).low, f64::NEG_INFINITY);
        }
    }

    /// A queue that fills at 1% over its capacity, with and without noise of each slice's mean.
    #[test]
    fn steady_growth_is_beyond_chance() {
        assert_eq!(Rise::of(&[0.125; 29]), Rise { low: 0.125, mean: 0.125, high: 0.125 });
        let noisy: Vec<f64> = (0..29).map(|nth| 0.01 + [0.008, -0.008][nth % 2]).collect();
        let rise = Rise::of(&noisy);
        assert!(rise.low > 0.005 && rise.high < 0.015, "{rise:?}");
    }

    /// Means that alternate between two values end higher than they began, by chance.
    #[test]
    fn means_that_only_vary_do_not_grow() {
        let steps: Vec<f64> = (0..29).map(|nth| [0.5, -0.5][nth % 2]).collect();
        let rise = Rise::of(&steps);
        assert!(rise.mean > 0.01 && rise.low < 0.0, "{rise:?}");
    }
}
