//! Intervals from the slices of one run, computed independently of weir's code (METHOD 1.11).
//! Neighbouring requests wait in the same queue, so a thousand of them contain less information
//! than a thousand independent ones.

use anyhow::{Context, Result};
use weir_result::Document;

use super::distribution::Distribution;

/// Student's t at 99% on both sides for 29 degrees of freedom; a run has 30 slices.
const STUDENT: f64 = 2.756;

/// The slices of a run.
pub(super) struct Batches {
    slices: Vec<Distribution>,
    means_s: Vec<f64>,
}

/// A quantile and its interval.
pub(super) struct Quantile {
    pub(super) value_s: f64,
    pub(super) low_s: f64,
    pub(super) high_s: f64,
}

impl Batches {
    pub(super) fn of(document: &Document) -> Result<Batches> {
        let mut batches = Batches { slices: Vec::new(), means_s: Vec::new() };
        for slice in &document.slices {
            let ok = slice.ok.as_ref().context("a slice has no completed request")?;
            batches.slices.push(Distribution::read(&ok.histogram)?);
            batches.means_s.push(ok.exact.sum_ns as f64 / ok.exact.count as f64 / 1e9);
        }
        Ok(batches)
    }

    /// Returns half of the width of the mean's interval.
    pub(super) fn mean_half_s(&self) -> f64 {
        STUDENT * (variance(&self.means_s) / self.means_s.len() as f64).sqrt()
    }

    /// Returns a quantile of the whole with its interval, which follows from the variance over
    /// slices of the share of requests beyond the quantile.
    pub(super) fn quantile_s(&self, whole: &Distribution, p: f64) -> Quantile {
        let value_ns = whole.quantile_ns(p);
        let beyond =
            |slice: &Distribution| slice.above(value_ns as u64) as f64 / slice.count() as f64;
        let shares: Vec<f64> = self.slices.iter().map(beyond).collect();
        let (slices, count) = (shares.len() as f64, whole.count() as f64);
        let independent = p * (1.0 - p) / count;
        let half = STUDENT * (variance(&shares) / slices).max(independent).sqrt();
        Quantile {
            value_s: value_ns / 1e9,
            low_s: whole.quantile_ns((p - half).max(0.0)) / 1e9,
            high_s: whole.quantile_ns((p + half).min(1.0)) / 1e9,
        }
    }
}

/// Returns the unbiased variance.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = super::distribution::mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variances_are_unbiased() {
        assert_eq!(variance(&[1.0, 2.0, 3.0]), 1.0);
    }
}
