//! A straight line through points (METHOD 1.7, saturation).

use crate::interval::ValueInterval;
use crate::moments::mean;
use crate::student::t_quantile;

/// Returns the slope of `y` on `x` by least squares, in units of y per unit of x, with its
/// interval; `confidence` is two-sided, 0 to 1. The interval assumes that the points' errors are
/// independent and identically distributed.
///
/// `None` for fewer than three points, or if all x are equal.
///
/// # Panics
///
/// `x` and `y` have different lengths.
pub fn regression(x: &[f64], y: &[f64], confidence: f64) -> Option<ValueInterval> {
    assert_eq!(x.len(), y.len(), "a point has an x and a y");
    if x.len() < 3 {
        return None;
    }
    let x_mean = mean(x);
    let y_mean = mean(y);
    let spread: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let product: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let slope = product / spread;
    let residual: f64 =
        x.iter().zip(y).map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2)).sum();
    let df = (x.len() - 2) as f64;
    let half = t_quantile((1.0 + confidence) / 2.0, df) * (residual / df / spread).sqrt();
    Some(ValueInterval { low: slope - half, value: slope, high: slope + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(points: &[(f64, f64)], expected: Option<[f64; 3]>) {
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let got = regression(&x, &y, 0.99).map(|line| [line.value, line.low, line.high]);
        let is_near = |(got, expected): ([f64; 3], [f64; 3])| {
            got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9)
        };
        assert!(got == expected || got.zip(expected).is_some_and(is_near), "{points:?}: {got:?}");
    }

    #[test]
    fn lines() {
        check(&[], None);
        check(&[(1.0, 2.0), (2.0, 3.0)], None);
        check(&[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)], None);
        check(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)], Some([2.0; 3]));
        check(&[(0.0, 4.0), (1.0, 4.0), (2.0, 4.0)], Some([0.0; 3]));
        // The residuals' squares are 1.5 over 2 degrees of freedom, the spread of x is 5.
        let half = 9.92484320091807 * (1.5_f64 / 2.0 / 5.0).sqrt();
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (3.0, 2.0)];
        check(&points, Some([0.5, 0.5 - half, 0.5 + half]));
    }
}
