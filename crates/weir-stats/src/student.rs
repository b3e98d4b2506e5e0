//! The normal distribution and Student's t distribution: probabilities and quantiles.
//!
//! Quantiles are found by bisection of the probability, down to the last bit. That takes some
//! microseconds each and has no parameters to tune; a report computes only a few.

use std::f64::consts::PI;

/// Returns the probability that a standard normal variable is at most `z`. Relative error below
/// 10⁻¹² in both tails.
pub fn normal_cdf(z: f64) -> f64 {
    let tail = normal_tail(z.abs());
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the `z` that a standard normal variable exceeds with probability 1 − `p`; `p` is 0 to 1,
/// and its ends are at infinity. Relative error below 10⁻⁹.
pub fn normal_quantile(p: f64) -> f64 {
    quantile(p, normal_tail, normal_centre)
}

/// Returns the probability that Student's variable with `df` > 0 degrees of freedom is at most `t`.
/// Relative error below 10⁻¹² in both tails.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    let (tail, _) = t_parts(t.abs(), df);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the `t` that Student's variable with `df` > 0 degrees of freedom exceeds with
/// probability 1 − `p`; `p` is 0 to 1, and its ends are at infinity. Relative error below 10⁻⁹.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    quantile(p, |t| t_parts(t, df).0, |t| t_parts(t, df).1)
}

/// Returns the quantile of a symmetric distribution. `tail(x)` is the probability above x ≥ 0,
/// `centre(x)` that between 0 and x. The function with the better relative precision is solved.
fn quantile(p: f64, tail: impl Fn(f64) -> f64, centre: impl Fn(f64) -> f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "a probability is 0 to 1, and not {p}");
    let nearer = p.min(1.0 - p);
    let from_middle = (p - 0.5).abs();
    let magnitude = if nearer == 0.0 {
        f64::INFINITY
    } else if from_middle < 0.25 {
        first(|x| centre(x) >= from_middle)
    } else {
        first(|x| tail(x) <= nearer)
    };
    if p < 0.5 { -magnitude } else { magnitude }
}

/// Returns the smallest x ≥ 0 with `holds(x)`, to the last bit; `holds` is false and then true.
fn first(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(0.0) {
        return 0.0;
    }
    let mut low = 0.0;
    let mut high = 1.0_f64;
    while high.is_finite() && !holds(high) {
        (low, high) = (high, high * 2.0);
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
}

/// Upper end of the series of [`normal_centre`]; beyond it the continued fraction of the tail is
/// used.
const NORMAL_TAIL: f64 = 2.5;

/// Returns the probability above `z` ≥ 0.
fn normal_tail(z: f64) -> f64 {
    if z < NORMAL_TAIL {
        return 0.5 - normal_centre(z);
    }
    // Laplace's continued fraction, φ(z)/(z + 1/(z + 2/(z + 3/…))) (DLMF 7.9.3), evaluated from
    // term 200 outwards.
    let fraction = (1..=200).rev().fold(z, |inner, k| z + f64::from(k) / inner);
    normal_density(z) / fraction
}

/// Returns the probability between 0 and `z` ≥ 0: φ(z)·(z + z³/3 + z⁵/(3·5) + …) (DLMF 7.6.2),
/// whose terms do not cancel.
fn normal_centre(z: f64) -> f64 {
    if z >= NORMAL_TAIL {
        return 0.5 - normal_tail(z);
    }
    let mut term = z;
    let mut sum = z;
    let mut odd = 1.0;
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    normal_density(z) * sum
}

fn normal_density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * PI).sqrt()
}

/// Returns the probability above `t` ≥ 0, ½·I_x(df/2, ½) with x = df/(df + t²) (DLMF 8.17), and
/// that between 0 and `t`. The smaller one is not the result of a subtraction.
fn t_parts(t: f64, df: f64) -> (f64, f64) {
    let (inside, outside) = t_shares(t, df);
    if outside > (df / 2.0 + 1.0) / (df / 2.0 + 2.5) {
        let centre = beta_lower(inside, outside, 0.5, df / 2.0, df) / 2.0;
        return (0.5 - centre, centre);
    }
    let tail = beta_lower(outside, inside, df / 2.0, 0.5, df) / 2.0;
    (tail, 0.5 - tail)
}

/// Returns t²/(df + t²) and df/(df + t²), neither by subtraction. `t` may be infinite.
fn t_shares(t: f64, df: f64) -> (f64, f64) {
    assert!(df > 0.0, "degrees of freedom are above 0, and not {df}");
    let ratio = t / df.sqrt();
    let inverse = 1.0 / ratio;
    (1.0 / (1.0 + inverse * inverse), 1.0 / (1.0 + ratio * ratio))
}

/// Returns I_x(a, b), where one of `a`, `b` is ½ and the other df/2; `y` is 1 − x. Uses the
/// continued fraction DLMF 8.17.22, which converges quickly for x < (a + 1)/(a + b + 2).
fn beta_lower(x: f64, y: f64, a: f64, b: f64, df: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() + b * y.ln() - ln_beta_half(df / 2.0)).exp() / a;
    front / beta_fraction(x, a, b)
}

/// Returns 1 + d₁/(1 + d₂/(1 + …)), by Lentz's method in Thompson and Barnett's form. Near the mean
/// it takes some √(a + b) terms.
pub(crate) fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let mut value = 1.0;
    let mut above = 1.0;
    let mut below = 0.0;
    for m in 0..200_000 {
        let k = f64::from(m);
        let odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        let next = k + 1.0;
        let even = next * (b - next) * x / ((a + 2.0 * next - 1.0) * (a + 2.0 * next));
        let mut change = 1.0;
        for coefficient in [odd, even] {
            below = 1.0 / (1.0 + coefficient * below);
            above = 1.0 + coefficient / above;
            change = above * below;
            value *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// Returns ln B(½, a). Γ(a + ½)/Γ(a) is expanded directly (DLMF 5.11.13): the difference of two
/// logarithms of Γ would lose digits for large `a`.
fn ln_beta_half(a: f64) -> f64 {
    let mut a = a;
    let mut ratio = 1.0;
    while a < 20.0 {
        ratio *= a / (a + 0.5);
        a += 1.0;
    }
    let inverse = 1.0 / a;
    let square = inverse * inverse;
    let series =
        -1.0 / 8.0 + square * (1.0 / 192.0 + square * (-1.0 / 640.0 + square * (17.0 / 14_336.0)));
    PI.ln() / 2.0 - (ratio.ln() + a.ln() / 2.0 + inverse * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the tables below, which were computed with 40 digits.
    fn check(name: &str, got: f64, expected: f64, relative: f64) {
        assert!(
            (got - expected).abs() <= expected.abs() * relative,
            "{name}: {got:e}, and not {expected:e}"
        );
    }

    #[test]
    fn students_quantiles() {
        for (p, df, t) in [
            (0.975, 1.0, 12.7062047361747),
            (0.975, 2.0, 4.302652729749464),
            (0.975, 4.0, 2.776445105197794),
            (0.975, 9.0, 2.262157162798206),
            (0.975, 29.0, 2.045229642132704),
            (0.995, 29.0, 2.756385903670605),
            (0.9995, 29.0, 3.659405019466333),
            (0.6, 3.0, 0.2766706623326899),
            (0.51, 0.5, 0.03710700354529339),
            (0.025, 29.0, -2.045229642132704),
            (0.975, 1e3, 1.962339080826408),
            (0.975, 1e6, 1.959966356814107),
            (0.999999, 7.0, 14.24146965198145),
            (0.500001, 12.0, 2.5593362582289e-6),
            (0.5, 12.0, 0.0),
            (1.0, 12.0, f64::INFINITY),
            (0.0, 12.0, f64::NEG_INFINITY),
        ] {
            if t.is_finite() {
                check(&format!("t({p}, {df})"), t_quantile(p, df), t, 1e-9);
            } else {
                assert_eq!(t_quantile(p, df), t, "t({p}, {df})");
            }
            check(&format!("P({t}, {df})"), t_cdf(t, df), p, 1e-9);
        }
    }

    #[test]
    fn one_degree_of_freedom_is_cauchys_and_two_has_a_formula() {
        for t in [-1e6_f64, -30.0, -1.0, -0.01, 0.0, 0.5, 2.0, 1e4] {
            let exact = if t < -1.0 { (-1.0 / t).atan() / PI } else { 0.5 + t.atan() / PI };
            check(&format!("P({t}, 1)"), t_cdf(t, 1.0), exact, 1e-13);
            let root = (2.0 + t * t).sqrt();
            let exact = if t < 0.0 { 1.0 / (root * (root - t)) } else { 0.5 + t / (2.0 * root) };
            check(&format!("P({t}, 2)"), t_cdf(t, 2.0), exact, 1e-13);
        }
    }

    #[test]
    fn normal_probabilities() {
        for (z, p) in [
            (-37.0, 5.725571222524577e-300),
            (-10.0, 7.619853024160526e-24),
            (-5.0, 2.866515718791939e-7),
            (-2.5, 0.006209665325776135),
            (-2.499, 0.006227215551988518),
            (-1.0, 0.15865525393145705),
            (0.0, 0.5),
            (0.3, 0.6179114221889526),
            (1.0, 0.8413447460685429),
            (1.959963984540054, 0.975),
            (3.0, 0.9986501019683699),
            (6.0, 0.9999999990134124),
            (f64::NEG_INFINITY, 0.0),
            (f64::INFINITY, 1.0),
        ] {
            check(&format!("P({z})"), normal_cdf(z), p, 1e-12);
        }
    }

    #[test]
    fn normal_quantiles() {
        for (p, z) in [
            (1e-300, -37.0470962993612),
            (1e-10, -6.361340902404056),
            (0.005, -2.575829303548901),
            (0.025, -1.959963984540054),
            (0.3, -0.5244005127080408),
            (0.500001, 2.506628274633625e-6),
            (0.5, 0.0),
            (0.8, 0.8416212335729142),
            (0.975, 1.959963984540054),
            (0.995, 2.575829303548901),
            (0.999999, 4.753424308822899),
        ] {
            check(&format!("z({p})"), normal_quantile(p), z, 1e-9);
        }
    }
}
