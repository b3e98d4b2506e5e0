//! Units of limits and of printed numbers. `units` formats and parses the digits; this file only
//! selects its functions.

use weir_result::Rate;
use weir_result::quantile::{Bound, PERCENTILES};
use weir_text::units;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    Seconds,
    PerSecond,
    BytesPerSecond,
    Bytes,
    /// Share of 1.
    Share,
    Count,
    /// Plain number, as the document has it.
    Number,
}

impl Unit {
    /// The unit of a field of the document, by the end of its name.
    pub(super) fn of_field(name: &str) -> Unit {
        match name {
            name if name == "ns" || name.ends_with("_ns") => Unit::Nanoseconds,
            name if name.ends_with("_s") => Unit::Seconds,
            name if name.ends_with("_rps") => Unit::PerSecond,
            "bytes_per_second" => Unit::BytesPerSecond,
            name if name.ends_with("_per_second") => Unit::PerSecond,
            name if name.ends_with("_bytes") || name.starts_with("bytes_") => Unit::Bytes,
            _ => Unit::Number,
        }
    }

    /// Parses a limit. The error is the reason why it is no number of this unit.
    pub(super) fn parse(self, text: &str) -> Result<f64, String> {
        let is_zero = text == "0";
        let number = match self {
            Unit::Nanoseconds if is_zero => Ok(0.0),
            Unit::Nanoseconds => return units::parse_limit_ns(text).map(|ns| ns as f64),
            Unit::Seconds => units::parse_duration_ns(text).map(|ns| ns as f64 / 1e9),
            // A rate of 0 is no plan, but it is a limit.
            Unit::PerSecond if is_zero => Ok(0.0),
            Unit::PerSecond => text.parse::<Rate>().map(|rate| rate.rps()),
            Unit::BytesPerSecond => units::parse_bytes(text.strip_suffix("/s").unwrap_or(text))
                .map(|bytes| bytes as f64),
            Unit::Bytes => units::parse_bytes(text).map(|bytes| bytes as f64),
            Unit::Share => units::parse_share(text),
            Unit::Count => units::parse_count(text).map(|count| count as f64),
            Unit::Number if text.ends_with('%') => units::parse_share(text),
            Unit::Number => units::parse_number(text),
        };
        number.map_err(|error| error.to_string())
    }

    /// Formats a number, to the nearest digit.
    pub(super) fn print(self, value: f64) -> String {
        match self {
            Unit::Nanoseconds => units::duration(whole(value)),
            Unit::Seconds => units::duration_of_seconds(value),
            Unit::PerSecond => units::rate(value),
            Unit::BytesPerSecond => units::byte_rate(value),
            Unit::Bytes => units::bytes(whole(value)),
            Unit::Share => units::fine_percent(value),
            Unit::Count => units::count(whole(value)),
            Unit::Number => units::number(value),
        }
    }
}

/// Parses the field of a percentile that documents list: `p95_ns`, `p99_9_ns`.
pub(super) fn percentile_field(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?.strip_suffix("_ns")?;
    let p: f64 = digits.replacen('_', ".", 1).parse().ok()?;
    PERCENTILES.contains(&p).then_some(p)
}

/// The nearest whole number; negative numbers become 0.
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Formats a number or a bound, which is rounded outwards if it is a time: `4.21 ms`, `≤ 3.06 ms`,
/// `> 2.00 s`, `≥ 71,000.0/s`.
pub(super) fn in_words(value: f64, bound: Bound, unit: Unit) -> String {
    match (bound, unit) {
        (Bound::Exact, _) => unit.print(value),
        (Bound::Upper, Unit::Nanoseconds) => {
            format!("≤ {}", units::duration_at_most(whole(value.ceil())))
        }
        (Bound::Upper, _) => format!("≤ {}", unit.print(value)),
        (Bound::Lower, Unit::Nanoseconds) => {
            format!("> {}", units::duration_at_least(whole(value.floor())))
        }
        (Bound::Lower, _) => format!("≥ {}", unit.print(value)),
        (Bound::Unknown, _) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of percentiles rounds bounds outwards too.
    #[test]
    fn bounds_are_rounded_as_in_the_table() {
        let column = units::DurationColumn::of(171_135);
        for (bound, value, expected, in_table) in [
            (Bound::Exact, 171_135.0, "171 µs", column.value(171_135)),
            (Bound::Upper, 171_135.0, "≤ 172 µs", column.at_most(171_135)),
            (Bound::Lower, 171_735.0, "> 171 µs", column.at_least(171_735)),
            (Bound::Upper, 171_000.4, "≤ 172 µs", column.at_most(171_001)),
        ] {
            let found = in_words(value, bound, Unit::Nanoseconds);
            assert_eq!((found.as_str(), found.clone()), (expected, in_table), "{bound:?}");
        }
    }
}
