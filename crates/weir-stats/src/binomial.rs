//! Tail probabilities of the binomial distribution, for the confidence of assertions
//! (METHOD 1.11).
//!
//! Counts are real numbers: n/DEFF effective requests are seldom a whole number. The distribution
//! function is then the regularized incomplete beta function, which continues it (DLMF 8.17.5).

use std::f64::consts::PI;

use crate::student::beta_fraction;

/// The probability of at most `hits` hits among `trials` independent trials that each hit with
/// probability `p`. Relative error below 10⁻⁹ up to 10⁹ trials.
pub fn binomial_at_most(hits: f64, trials: f64, p: f64) -> f64 {
    if hits < 0.0 {
        return 0.0;
    }
    if hits >= trials || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    incomplete_beta(1.0 - p, p, trials - hits, hits + 1.0)
}

/// The probability of at least `hits` hits among `trials` independent trials that each hit with
/// probability `p`. Relative error below 10⁻⁹ up to 10⁹ trials.
pub fn binomial_at_least(hits: f64, trials: f64, p: f64) -> f64 {
    if hits <= 0.0 {
        return 1.0;
    }
    if hits > trials || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    incomplete_beta(p, 1.0 - p, hits, trials - hits + 1.0)
}

/// I_x(a, b) with `y` = 1 − x. The continued fraction DLMF 8.17.22 converges quickly below
/// (a + 1)/(a + b + 2); beyond, the other tail is subtracted from 1.
fn incomplete_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - front(y, x, b, a) / b / beta_fraction(y, b, a);
    }
    front(x, y, a, b) / a / beta_fraction(x, a, b)
}

/// x^a·y^b/B(a, b), by deviances and Stirling's errors, so that large terms do not cancel (Loader,
/// Fast and Accurate Computation of Binomial Probabilities, 2000).
fn front(x: f64, y: f64, a: f64, b: f64) -> f64 {
    let n = a + b;
    let deviance = deviance(a, n * x) + deviance(b, n * y);
    let errors = stirling_error(n) - stirling_error(a) - stirling_error(b);
    (errors - deviance).exp() * (a / n * b / (2.0 * PI)).sqrt()
}

/// x·ln(x/mean) + mean − x, without cancellation near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let d = (x - mean) / mean;
    if d.abs() > 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    // (1 + d)·ln(1 + d) − d = Σ (−d)^k/(k(k − 1)) from k = 2.
    let mut power = -d;
    let mut sum = 0.0;
    for k in 2..=20 {
        power *= -d;
        sum += power / f64::from(k * (k - 1));
    }
    mean * sum
}

/// ln Γ(z) − ((z − ½)·ln z − z + ½·ln 2π) for z > 0 (DLMF 5.11.1).
fn stirling_error(z: f64) -> f64 {
    let mut shifted = z;
    let mut product = 1.0;
    while shifted < 20.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / shifted;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0 + square * (-1.0 / 360.0 + square * (1.0 / 1260.0 - square / 1680.0)));
    if shifted == z {
        return series;
    }
    let main = |z: f64| (z - 0.5) * z.ln() - z;
    series + main(shifted) - main(z) - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, got: f64, expected: f64, relative: f64) {
        assert!(
            (got - expected).abs() <= expected.abs() * relative,
            "{name}: {got:e}, and not {expected:e}"
        );
    }

    /// Expected values computed with 40 digits.
    #[test]
    fn tails_are_those_of_tables() {
        for (hits, trials, p, expected) in [
            (0.0, 100.0, 0.01, 0.3660323412732295),
            (3.0, 20.0, 0.1, 0.8670466765656649),
            (10.0, 20.0, 0.5, 0.5880985260009766),
            (19.0, 20.0, 0.5, 0.9999990463256836),
            (0.0, 3000.0, 0.001, 0.04971239399803629),
            (2.5, 40.7, 0.05, 0.7745482694840379),
            (100.0, 20338.0, 0.01, 5.103658102902553e-16),
            (203.0, 20338.0, 0.01, 0.5079672962620836),
            (250.0, 20338.0, 0.01, 0.9993496079640645),
            (10000.0, 1000000.0, 0.01, 0.5026596147995158),
            (9700.0, 1000000.0, 0.01, 0.001249341268267886),
            (0.3, 1.2, 0.5, 0.6282353647322375),
            (999000.0, 1000000.0, 0.999, 0.504211555166992),
        ] {
            check(
                &format!("P(≤ {hits} of {trials} at {p})"),
                binomial_at_most(hits, trials, p),
                expected,
                1e-9,
            );
        }
        for (hits, trials, p, expected) in [
            (3.0, 20.0, 0.1, 0.323073194810534),
            (10.0, 20.0, 0.5, 0.5880985260009766),
            (19.0, 20.0, 0.5, 2.002716064453125e-5),
            (2.5, 40.7, 0.05, 0.4645264439579506),
            (100.0, 20338.0, 0.01, 0.9999999999999998),
            (203.0, 20338.0, 0.01, 0.5201521150012968),
            (250.0, 20338.0, 0.01, 0.0008163088425774649),
            (10000.0, 1000000.0, 0.01, 0.5013498725636671),
            (9700.0, 1000000.0, 0.01, 0.9987919379495693),
            (999000.0, 1000000.0, 0.999, 0.5084093682207758),
        ] {
            check(
                &format!("P(≥ {hits} of {trials} at {p})"),
                binomial_at_least(hits, trials, p),
                expected,
                1e-9,
            );
        }
    }

    #[test]
    fn both_tails_and_one_count_add_up() {
        for trials in [1_u32, 7, 60] {
            for hits in 0..=trials {
                let k = f64::from(hits);
                let n = f64::from(trials);
                let sum = binomial_at_most(k, n, 0.3) + binomial_at_least(k + 1.0, n, 0.3);
                check(&format!("{hits} of {trials}"), sum, 1.0, 1e-12);
            }
        }
    }

    #[test]
    fn ends_are_certain() {
        for (hits, trials, p, at_most, at_least) in [
            (0.0, 0.0, 0.5, 1.0, 1.0),
            (-1.0, 5.0, 0.5, 0.0, 1.0),
            (5.0, 5.0, 0.5, 1.0, 0.03125),
            (6.0, 5.0, 0.5, 1.0, 0.0),
            (3.0, 5.0, 0.0, 1.0, 0.0),
            (3.0, 5.0, 1.0, 0.0, 1.0),
        ] {
            assert_eq!(binomial_at_most(hits, trials, p), at_most, "≤ {hits} of {trials}");
            check("at least", binomial_at_least(hits, trials, p), at_least, 1e-12);
        }
    }
}
