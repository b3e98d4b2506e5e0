//! The Universal Scalability Law through a sweep of concurrency: X(N) = λN/(1 + σ(N−1) + κN(N−1))
//! (METHOD 1.14). λ is one connection's throughput, σ contention, κ crosstalk.

mod least_squares;
mod signs;

use crate::shuffle::Shuffle;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;

/// What lies outside a 95% interval on each side, of the resamples.
const OUTSIDE: usize = RESAMPLES / 40;

/// Three parameters need more points than three.
const POINTS_MIN: usize = 5;

/// A sign pattern as regular as this has one chance in twenty.
const SYSTEMATIC_P: f64 = 0.05;

/// The throughputs of the runs with one number of connections.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// N, at least 1.
    pub connections: f64,
    /// X of each run, above 0.
    pub throughputs: Vec<f64>,
}

/// The law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: throughput of one connection, above 0.
    pub lambda: f64,
    /// σ: the share that cannot be done side by side, 0 to below 1.
    pub sigma: f64,
    /// κ: what each pair of connections costs by keeping in step, at least 0.
    pub kappa: f64,
}

impl Usl {
    /// X at so many connections.
    pub fn throughput(&self, connections: f64) -> f64 {
        self.lambda * shape(connections, self.sigma, self.kappa)
    }

    /// N* = √((1−σ)/κ), where X is greatest; infinite without crosstalk.
    pub fn peak(&self) -> f64 {
        ((1.0 - self.sigma) / self.kappa).sqrt()
    }
}

/// A value with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Lower end.
    pub low: f64,
    /// The value itself.
    pub value: f64,
    /// Upper end.
    pub high: f64,
}

/// The law as fitted to a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct UslFit {
    /// Its parameters.
    pub usl: Usl,
    /// λ, σ and κ with their intervals. `None` where no point has two runs: one run each says
    /// nothing of how runs vary.
    pub intervals: Option<[Estimate; 3]>,
    /// N*, where it is one: the interval of κ has 0 outside, and the peak is at no more than twice
    /// the greatest number of connections that was tried.
    pub peak: Option<Estimate>,
    /// Per point in ascending order: the mean throughput relative to the law's, less 1.
    pub residuals: Vec<f64>,
    /// The residuals' signs come in fewer and longer groups than chance makes: the law does not
    /// describe this system. Takes eight points to show.
    pub is_systematic: bool,
}

/// Fits the law by weighted nonlinear least squares in throughput, from several starts.
///
/// Noise of throughput grows with it, so that points weigh 1/X̄²; a variance of each point's own,
/// from three runs, would be luck for the most part. Without repetitions nothing is known of the
/// noise, and points weigh the same. Intervals: bootstrap over the repetitions' deviations, pooled
/// for the same reason, from a fixed seed.
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
        [
            interval(usl.lambda, fits, |usl| usl.lambda),
            interval(usl.sigma, fits, |usl| usl.sigma),
            interval(usl.kappa, fits, |usl| usl.kappa),
        ]
    });
    let greatest = connections[connections.len() - 1];
    let has_peak = |[_, _, kappa]: &[Estimate; 3]| kappa.low > 0.0 && usl.peak() <= 2.0 * greatest;
    let peak = resampled
        .filter(|_| intervals.as_ref().is_some_and(has_peak))
        .map(|fits| interval(usl.peak(), &fits, Usl::peak));
    let is_systematic = signs::p(&residuals) < SYSTEMATIC_P;
    Some(UslFit { usl, intervals, peak, residuals, is_systematic })
}

/// Fits to means that might as well have been observed: at each point as many deviations as it has
/// runs, drawn from those of all points.
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

/// Of runs from their point's mean, relative to it. A mean lies nearer to its own runs than the
/// truth does: by √((r−1)/r), which is made up for.
fn deviations(point: &SweepPoint) -> impl Iterator<Item = f64> {
    let (runs, mean) = (point.throughputs.len() as f64, mean(&point.throughputs));
    let factor = (runs / (runs - 1.0)).sqrt();
    point.throughputs.iter().map(move |throughput| (throughput / mean - 1.0) * factor)
}

fn interval(value: f64, fits: &[Usl], of: impl Fn(&Usl) -> f64) -> Estimate {
    let mut values: Vec<_> = fits.iter().map(of).collect();
    values.sort_unstable_by(f64::total_cmp);
    Estimate { low: values[OUTSIDE], value, high: values[RESAMPLES - 1 - OUTSIDE] }
}

/// X/λ.
fn shape(connections: f64, sigma: f64, kappa: f64) -> f64 {
    let others = connections - 1.0;
    connections / (1.0 + sigma * others + kappa * connections * others)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
