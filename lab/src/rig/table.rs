//! Tables, and number formats for readers.

use weir_stats::{binomial_at_most, median};

pub(crate) use xtask::measured::Table;

/// Formats a number as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a rate to the nearest whole number.
pub(crate) fn rate(rps: f64) -> String {
    thousands(rps.round() as u64)
}

/// Formats an estimate as `1.23 (1.20–1.27)`, the median in bold.
pub(crate) fn estimate(estimate: &MedianInterval) -> String {
    let MedianInterval { median, interval } = estimate;
    match interval {
        Some((low, high)) => format!("**{median:.2}** ({low:.2}–{high:.2})"),
        None => format!("**{median:.2}** (too few rounds for an interval)"),
    }
}

/// Formats seconds with a suitable unit.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s >= 0.9995 => format!("{s:.3} s"),
        s if s >= 0.0009995 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

/// Formats bytes as MiB.
pub(crate) fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or("—".to_owned(), |bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20)))
}

/// Formats nanoseconds as microseconds.
pub(crate) fn micros(ns: f64) -> String {
    let us = ns / 1e3;
    if us < 100.0 { format!("{us:.1}") } else { thousands(us.round() as u64) }
}

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
/// fall on one side of it is that of fewer than `k` heads among `count` fair coins (an inverted
/// sign test).
fn interval_rank(count: usize) -> Option<usize> {
    let outside = |rank: usize| 2.0 * binomial_at_most((rank - 1) as f64, count as f64, 0.5);
    (1..=count / 2).take_while(|rank| outside(*rank) <= 1.0 - CONFIDENCE).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let cases =
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1 << 20, "1,048,576")];
        for (number, text) in cases {
            assert_eq!(thousands(number), text);
        }
        assert_eq!(micros(56_700.0), "56.7");
        assert_eq!((seconds(1.5), seconds(0.25)), ("1.500 s".into(), "250.000 ms".into()));
        assert_eq!(seconds(0.000_05), "50.0 µs");
        assert_eq!(micros(1_234_567.0), "1,235");
        assert_eq!((mebibytes(Some(3 << 19)), mebibytes(None)), ("1.5".into(), "—".into()));
    }

    #[test]
    fn estimates_have_their_interval() {
        let sure = MedianInterval { median: 1.234, interval: Some((1.2, 1.3)) };
        assert_eq!(estimate(&sure), "**1.23** (1.20–1.30)");
        let unsure = MedianInterval { median: 1.234, interval: None };
        assert!(estimate(&unsure).contains("too few"));
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
        let expected = MedianInterval { median: 5.5, interval: Some((2.0, 9.0)) };
        assert_eq!(MedianInterval::of(ten), expected);
        assert_eq!(MedianInterval::of(vec![1.0, 2.0]).interval, None);
    }
}
