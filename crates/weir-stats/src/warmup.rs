//! How much of the beginning of a series is not like the rest (METHOD 1.12).

/// Means of consecutive runs of `size` values; what is left over at the end is left out.
///
/// # Panics
///
/// When `size` is 0.
pub fn batch(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size).map(crate::moments::mean).collect()
}

/// Fewer values than this say nothing about their own beginning.
const LEAST: usize = 4;

/// How many values to delete from the beginning so that the mean of the rest is known best (MSER;
/// White, Simulation 1997): the d ≤ m/2 with the least Σ(Z_j − Z̄)²/(m − d)² over the rest. The
/// least such d, when several are equal.
///
/// The values are batched already, by 5 for MSER-5. A result of m/2 means that the series has not
/// settled. `None` of fewer than 4 values.
pub fn mser(values: &[f64]) -> Option<usize> {
    let total = values.len();
    if total < LEAST {
        return None;
    }
    // From the end, so that each step adds one value to the mean and the squares (Welford).
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (deleted, value) in values.iter().enumerate().rev() {
        let kept = (total - deleted) as f64;
        let change = value - mean;
        mean += change / kept;
        squares += change * (value - mean);
        let error = squares / (kept * kept);
        if deleted <= total / 2 && error <= best.0 {
            best = (error, deleted);
        }
    }
    Some(best.1)
}
