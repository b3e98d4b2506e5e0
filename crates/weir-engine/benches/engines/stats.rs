//! The median of ratios, and how far it can be trusted.

/// How sure an interval is to hold the true median.
const CONFIDENCE: f64 = 0.95;

/// The median of at least one value, and the interval of the sign test; none for fewer than six.
pub(crate) fn median(mut values: Vec<f64>) -> (f64, Option<(f64, f64)>) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
    let rank = interval_rank(count);
    (median, rank.map(|rank| (values[rank - 1], values[count - rank])))
}

/// The largest `k` such that fewer than `k` of `count` fair coins show heads in at most half of
/// what [`CONFIDENCE`] leaves: the median then lies between the `k`-th smallest and largest.
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
