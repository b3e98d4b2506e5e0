//! The Universal Scalability Law through a sweep of concurrency: X(N) = λN/(1 + σ(N−1) + κN(N−1))
//! (METHOD 1.14). λ is one connection's throughput, σ contention, κ crosstalk.

mod least_squares;
mod signs;

pub use least_squares::Usl;

use crate::interval::ValueInterval;
use crate::moments::mean;
use crate::shuffle::Shuffle;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;

/// Resamples outside a 95% interval on each side.
const OUTSIDE: usize = RESAMPLES / 40;

/// Least number of points; three parameters need more than three.
const POINTS_MIN: usize = 5;

/// Least number of points with which the test for systematic residuals can find any.
pub const USL_POINTS_CHECKED: usize = 8;

/// Significance level of the test for systematic residuals.
const SYSTEMATIC_P: f64 = 0.05;

/// Throughputs of the runs with one number of connections.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Number of connections N, at least 1.
    pub connections: f64,
    /// Throughput X of each run, above 0.
    pub throughputs: Vec<f64>,
}

/// Fit of the law to a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct UslFit {
    /// Fitted parameters.
    pub usl: Usl,
    /// λ, σ and κ with their 95% intervals. `None` if no point has two runs: single runs contain no
    /// information about their variance.
    pub intervals: Option<[ValueInterval; 3]>,
    /// N*, if the data show one: the points suffice to check the law, the interval of κ excludes 0,
    /// and the peak is at no more than twice the largest number of connections tried.
    pub peak: Option<ValueInterval>,
    /// Per point in ascending order: the mean throughput relative to the law's, minus 1.
    pub residuals: Vec<f64>,
    /// True if the residuals' signs form fewer and longer groups than expected by chance: the law
    /// does not describe this system. Detection needs [`USL_POINTS_CHECKED`] points.
    pub is_systematic: bool,
}

/// Fits the law by weighted nonlinear least squares in throughput, from several starts.
///
/// The noise of throughput grows with it, so points weigh 1/X̄²; a separate variance for each
/// point, from three runs, would be mostly random. Without repetitions the noise is unknown, and
/// all points weigh the same. Intervals: bootstrap over the repetitions' deviations, pooled for the
/// same reason, from a fixed seed.
///
/// `None`: fewer than five points, or a value that is not a positive number.
pub fn fit_usl(points: &[SweepPoint]) -> Option<UslFit> {
    let is_positive = |value: &f64| value.is_finite() && *value > 0.0;
    let is_sound = |point: &SweepPoint| {
        point.connections.is_finite()
            && point.connections >= 1.0
            && !point.throughputs.is_empty()
            && point.throughputs.iter().all(is_positive)
    };
    if points.len() < POINTS_MIN || !points.iter().all(is_sound) {
        return None;
    }
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.connections.total_cmp(&b.connections));
    let repeats = points.iter().all(|point| point.throughputs.len() > 1);
    let observed: Vec<_> = points.iter().map(|point| mean(&point.throughputs)).collect();
    let weigh = |&throughput: &f64| if repeats { throughput.powi(-2) } else { 1.0 };
    let weights: Vec<_> = observed.iter().map(weigh).collect();
    let connections: Vec<_> = points.iter().map(|point| point.connections).collect();
    let usl = least_squares::fit(&connections, &observed, &weights);
    let resampled = repeats.then(|| resample(&points, &connections, &weights));
    let residual = |(n, x): (&f64, &f64)| x / usl.throughput(*n) - 1.0;
    let residuals: Vec<_> = connections.iter().zip(&observed).map(residual).collect();
    let intervals = resampled.as_ref().map(|fits| {
        let parameters: [fn(&Usl) -> f64; 3] = [|usl| usl.lambda, |usl| usl.sigma, |usl| usl.kappa];
        parameters.map(|of| interval(of(&usl), fits, of))
    });
    let greatest = connections[connections.len() - 1];
    let is_checked = points.len() >= USL_POINTS_CHECKED;
    let has_peak = |[_, _, kappa]: &[ValueInterval; 3]| {
        is_checked && kappa.low > 0.0 && usl.peak() <= 2.0 * greatest
    };
    let peak = resampled
        .filter(|_| intervals.as_ref().is_some_and(has_peak))
        .map(|fits| interval(usl.peak(), &fits, Usl::peak));
    let is_systematic = signs::p(&residuals) < SYSTEMATIC_P;
    Some(UslFit { usl, intervals, peak, residuals, is_systematic })
}

/// Fits resampled means: each point gets as many deviations as it has runs, drawn from the
/// deviations of all points.
fn resample(points: &[SweepPoint], connections: &[f64], weights: &[f64]) -> Vec<Usl> {
    let deviations: Vec<_> = points.iter().flat_map(deviations).collect();
    let mut random = Shuffle::new();
    let mut redraw = |runs: &[f64]| {
        let drawn = runs.iter().map(|_| deviations[random.below(deviations.len())]);
        mean(runs) * (1.0 + drawn.sum::<f64>() / runs.len() as f64)
    };
    let one = |_| {
        let drawn: Vec<_> = points.iter().map(|point| redraw(&point.throughputs)).collect();
        least_squares::fit(connections, &drawn, weights)
    };
    (0..RESAMPLES).map(one).collect()
}

/// Returns the deviations of runs from their point's mean, relative to it. A mean is nearer to its
/// own runs than the true value is, by √((r−1)/r); the factor corrects for that.
fn deviations(point: &SweepPoint) -> impl Iterator<Item = f64> {
    let runs = point.throughputs.len() as f64;
    let mean = mean(&point.throughputs);
    let factor = (runs / (runs - 1.0)).sqrt();
    point.throughputs.iter().map(move |throughput| (throughput / mean - 1.0) * factor)
}

fn interval(value: f64, fits: &[Usl], of: impl Fn(&Usl) -> f64) -> ValueInterval {
    let mut values: Vec<_> = fits.iter().map(of).collect();
    values.sort_unstable_by(f64::total_cmp);
    ValueInterval { low: values[OUTSIDE], value, high: values[RESAMPLES - 1 - OUTSIDE] }
}

#[cfg(test)]
mod tests;
