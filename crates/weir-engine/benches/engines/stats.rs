//! The median of ratios, and its confidence interval.

/// Confidence that an interval contains the true median.
const CONFIDENCE: f64 = 0.95;

/// Returns the median of at least one value, and the interval of the sign test; `None` for fewer
/// than six values.
pub(crate) fn median(mut values: Vec<f64>) -> (f64, Option<(f64, f64)>) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
    let rank = interval_rank(count);
    (median, rank.map(|rank| (values[rank - 1], values[count - rank])))
}

/// Returns the largest `k` for which fewer than `k` of `count` fair coins show heads with a
/// probability of at most `(1 - CONFIDENCE) / 2`. The median then lies between the `k`-th smallest
/// and largest.
fn interval_rank(count: usize) -> Option<usize> {
    let mut exactly = 0.5_f64.powf(count as f64);
    let mut fewer = 0.0;
    let mut rank = 0;
    while rank < count / 2 {
        fewer += exactly;
        if 2.0 * fewer > 1.0 - CONFIDENCE {
            break;
        }
        exactly *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}
