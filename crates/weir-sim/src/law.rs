//! Probability distributions of time spans: service times, network delays and other delays.

use crate::random::Random;

/// The distribution of a time span in nanoseconds. Draws are rounded to the nearest nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the same span.
    Fixed(u64),
    /// Uniform between two bounds, both included.
    Uniform {
        /// Shortest span.
        low_ns: u64,
        /// Longest span.
        high_ns: u64,
    },
    /// Exponential, by its mean.
    Exponential {
        /// Mean span.
        mean_ns: u64,
    },
    /// Log-normal.
    LogNormal {
        /// Median span.
        median_ns: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// One of two spans, usually the fast one.
    Bimodal {
        /// Usual span.
        fast_ns: u64,
        /// Other span.
        slow_ns: u64,
        /// Probability of the other span.
        slow_share: f64,
    },
}

impl Law {
    /// A span of zero.
    pub const ZERO: Law = Law::Fixed(0);

    /// Returns a random span in nanoseconds.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Law::Fixed(span_ns) => span_ns,
            Law::Uniform { low_ns, high_ns } => random.between(low_ns, high_ns),
            Law::Exponential { mean_ns } => round(-(mean_ns as f64) * (1.0 - random.unit()).ln()),
            Law::LogNormal { median_ns, sigma } => {
                round((median_ns as f64) * (sigma * normal(random)).exp())
            }
            Law::Bimodal { slow_ns, slow_share, .. } if random.chance(slow_share) => slow_ns,
            Law::Bimodal { fast_ns, .. } => fast_ns,
        }
    }
}

/// Returns a standard normal number (Box and Muller's method, one of its two results).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Rounds to the nearest nanosecond; a float beyond the range saturates.
fn round(span_ns: f64) -> u64 {
    span_ns.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    fn check(law: Law, mean: f64, p50: f64, p99: f64) {
        let mut random = Random::new(Seed(3), 0);
        let mut spans: Vec<u64> = (0..200_000).map(|_| law.draw(&mut random)).collect();
        spans.sort_unstable();
        let sum: u128 = spans.iter().map(|&span| u128::from(span)).sum();
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.02;
        let found = (sum as f64 / 2e5, spans[100_000] as f64, spans[198_000] as f64);
        assert!(near(found.0, mean), "{law:?}: mean {found:?}");
        assert!(near(found.1, p50), "{law:?}: median {found:?}");
        assert!(near(found.2, p99), "{law:?}: p99 {found:?}");
    }

    #[test]
    fn laws_have_the_moments_they_promise() {
        check(Law::Fixed(5_000), 5_000.0, 5_000.0, 5_000.0);
        check(Law::Uniform { low_ns: 0, high_ns: 10_000 }, 5_000.0, 5_000.0, 9_900.0);
        check(Law::Exponential { mean_ns: 1_000_000 }, 1e6, 693_147.0, 4_605_170.0);
        let sigma = 0.5;
        check(Law::LogNormal { median_ns: 1_000_000, sigma }, 1_133_148.0, 1e6, 3_200_000.0);
        let bimodal = Law::Bimodal { fast_ns: 1_000, slow_ns: 9_000, slow_share: 0.02 };
        check(bimodal, 1_160.0, 1_000.0, 9_000.0);
    }
}
