//! Tables, and number formats for readers.

pub(crate) use xtask::measured::Table;

use super::stats::MedianInterval;

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
}
