//! A straight line through points (METHOD 1.7, saturation).

use crate::moments::mean;
use crate::student::t_quantile;

/// The slope of a straight line, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Units of y per unit of x.
    pub slope: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Least squares of `y` on `x`; `confidence` is two-sided, 0 to 1. The interval takes the points'
/// errors for independent and alike.
///
/// `None` of fewer than three points, or when all x are equal.
///
/// # Panics
///
/// When there are not as many `y` as `x`.
pub fn regression(x: &[f64], y: &[f64], confidence: f64) -> Option<Slope> {
    assert_eq!(x.len(), y.len(), "a point has an x and a y");
    if x.len() < 3 {
        return None;
    }
    let (x_mean, y_mean) = (mean(x), mean(y));
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
    Some(Slope { slope, low: slope - half, high: slope + half })
}
