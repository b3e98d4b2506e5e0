//! Mean, variance and median of a few numbers.

/// Returns the arithmetic mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        count => values.iter().sum::<f64>() / count as f64,
    }
}

/// Returns the unbiased sample variance (divisor n − 1); 0 for fewer than two values. Sums squared
/// deviations instead of subtracting squares, so that a large mean loses no digits.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Returns the middle value, or the mean of the two in the middle; 0 for no values. Sorts its
/// argument.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Returns the lag-1 autocorrelation about the common mean, −1 to 1. The values must not be all
/// equal.
pub(crate) fn lag1(values: &[f64]) -> f64 {
    let mean = mean(values);
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases() {
        assert_eq!((mean(&[]), variance(&[]), median(&mut [])), (0.0, 0.0, 0.0));
        assert_eq!((mean(&[4.0]), variance(&[4.0]), median(&mut [4.0])), (4.0, 0.0, 4.0));
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!((mean(&values), variance(&values)), (2.5, 5.0 / 3.0));
        assert_eq!(median(&mut values), 2.5);
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        assert_eq!(variance(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]), 1.0);
    }
}
