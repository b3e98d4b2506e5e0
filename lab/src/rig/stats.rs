//! Statistics of repeated measurements: the median with a distribution-free interval.

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    /// Interval of the median; none for fewer than six values.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Computes the estimate for at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Estimate {
        values.sort_by(f64::total_cmp);
        let interval =
            interval_rank(values.len()).map(|rank| (values[rank - 1], values[values.len() - rank]));
        Estimate { median: median_of_sorted(&values), interval }
    }
}

/// Returns the median of at least one value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

fn median_of_sorted(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

/// Returns the largest rank `k` such that the median lies between the `k`-th smallest and the
/// `k`-th largest of `count` values with [`CONFIDENCE`]. The probability that fewer than `k` values
/// fall on one side of it is that of fewer than `k` heads among `count` fair coins (an inverted
/// sign test).
fn interval_rank(count: usize) -> Option<usize> {
    let count_f = count as f64;
    let mut exactly = 0.5_f64.powf(count_f);
    let mut fewer = 0.0;
    let mut rank = 0;
    while rank < count / 2 {
        fewer += exactly;
        if 2.0 * fewer > 1.0 - CONFIDENCE {
            break;
        }
        exactly *= (count_f - rank as f64) / (rank as f64 + 1.0);
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![9.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 9.0, 3.0]), 3.5);
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Two-sided critical values of the sign test at 5 %.
        let table = [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (10, Some(2))];
        let more = [(12, Some(3)), (15, Some(4)), (20, Some(6)), (25, Some(8)), (30, Some(10))];
        for (count, rank) in table.into_iter().chain(more) {
            assert_eq!(interval_rank(count), rank, "of {count}");
        }
    }

    #[test]
    fn intervals_leave_out_as_many_on_both_sides() {
        let ten = (1..=10).rev().map(f64::from).collect();
        let expected = Estimate { median: 5.5, interval: Some((2.0, 9.0)) };
        assert_eq!(Estimate::of(ten), expected);
        assert_eq!(Estimate::of(vec![1.0, 2.0]).interval, None);
    }
}
