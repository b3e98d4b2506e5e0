//! The objective of a search, and its effort.

use super::share::rise_of;
use crate::interval::ValueInterval;

/// Objective and effort of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Limits, each between 0 and 1, of the shares of requests that fail or are slow: 0.01 for a
    /// p99. A rate meets the objective if it keeps all of them.
    pub shares_max: Vec<f64>,
    /// Duration of the first trial at a rate, in seconds. While the result is open, each further
    /// trial at the rate is twice as long.
    pub initial_s: f64,
    /// Duration of a full-length trial, in seconds; shorter ones only guide the search. The
    /// percentile should have support in it (METHOD 1.11).
    pub final_s: f64,
    /// Total duration of full-length trials at a rate, in seconds, after which it gets no more.
    pub sum_s: f64,
    /// Share of that time, 0 to below 1, in which a rate may miss the objective and still pass
    /// (RFC 9971, goal exceed ratio).
    pub exceed_ratio: f64,
    /// Target width of the interval: (upper − lower)/upper.
    pub width: f64,
    /// Lowest rate to try; 10⁻⁶ of the first guess if that is more.
    pub rate_min_rps: f64,
    /// Highest rate to try.
    pub rate_max_rps: f64,
    /// Number of trials after which the search ends in any case.
    pub trials_max: usize,
}

impl Goal {
    /// Returns the defaults of METHOD 1.13 for an objective that limits several shares.
    pub fn of_shares(shares_max: Vec<f64>) -> Goal {
        Goal {
            shares_max,
            initial_s: 7.5,
            final_s: 30.0,
            sum_s: 90.0,
            exceed_ratio: 0.5,
            width: 0.02,
            rate_min_rps: 0.0,
            rate_max_rps: f64::INFINITY,
            trials_max: 100,
        }
    }

    /// Returns the rise of the response time over a trial if the backlog grew: if the rise is
    /// beyond chance, and large enough to tell the rate from the capacity. A server may well get
    /// slower by some microseconds in a trial.
    pub fn growth(&self, rises: &[f64]) -> Option<ValueInterval> {
        Some(rise_of(rises)).filter(|rise| self.grows(*rise))
    }

    pub(super) fn grows(&self, rise: ValueInterval) -> bool {
        rise.low > RISE_MAX * self.width
    }
}

/// Share of the target width by which a rate may exceed the capacity and count as equal to it.
const RISE_MAX: f64 = 0.01;
