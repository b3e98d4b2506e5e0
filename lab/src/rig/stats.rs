//! Statistics of repeated measurements: the median with a distribution-free interval.

use weir_stats::{binomial_at_most, median};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MedianInterval {
    pub(crate) median: f64,
    /// Interval of the median; none for fewer than six values.
    pub(crate) interval: Option<(f64, f64)>,
}

impl MedianInterval {
    /// Computes the estimate for at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> MedianInterval {
        let median = median(&mut values);
        // The median has sorted the values.
        let interval =
            interval_rank(values.len()).map(|rank| (values[rank - 1], values[values.len() - rank]));
        MedianInterval { median, interval }
    }
}

/// Returns the largest rank `k` such that the median lies between the `k`-th smallest and the
/// `k`-th largest of `count` values with [`CONFIDENCE`]. The probability that fewer than `k` values
/// fall on one side of it equals the probability of fewer than `k` heads among `count` fair coins
/// (an inverted sign test).
fn interval_rank(count: usize) -> Option<usize> {
    let outside = |rank: usize| 2.0 * binomial_at_most((rank - 1) as f64, count as f64, 0.5);
    (1..=count / 2).take_while(|rank| outside(*rank) <= 1.0 - CONFIDENCE).last()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let expected = MedianInterval { median: 5.5, interval: Some((2.0, 9.0)) };
        assert_eq!(MedianInterval::of(ten), expected);
        assert_eq!(MedianInterval::of(vec![1.0, 2.0]).interval, None);
    }
}
