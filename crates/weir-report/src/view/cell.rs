//! A typed value. A renderer prints its text, or takes the number out of it.

use weir_result::Rate;
use weir_result::document::RateInterval;
use weir_result::quantile::{Bound, Quantile};
use weir_text::units::{self, DurationColumn};

use super::Tone;

/// A value of a table or of a fact.
#[derive(Clone, Debug)]
pub enum Cell {
    /// No value.
    Empty,
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A number without a unit, with one decimal.
    Number(f64),
    /// A share of 1.
    Share(f64),
    /// A share of all requests; one above 0 never reads as 0.
    Frequency(f64),
    /// A length as a part of the greatest one of its column, 0 to 1.
    Bar(f64),
    /// A size in bytes.
    Bytes(u64),
    /// Bytes per second.
    ByteRate(f64),
    /// Requests per second.
    Rate(f64),
    /// Requests per second with a 95% interval, if it is known.
    RateWithin(f64, Option<RateInterval>),
    /// A lower bound of requests per second.
    RateAtLeast(f64),
    /// Requests per second by plan.
    PlannedRate(Rate),
    /// A time in nanoseconds.
    Duration(u64),
    /// A time by plan, in nanoseconds.
    PlannedDuration(u64),
    /// A time or a bound of it, in the unit of its column.
    Time {
        /// The time and the kind of bound.
        value: Quantile,
        /// True if too few independent samples support it.
        imprecise: bool,
        /// Unit of the column.
        unit: DurationColumn,
    },
    /// A time of which only a part is known, in the unit of its column.
    OrMore {
        /// Known part in nanoseconds.
        ns: u64,
        /// Unit of the column.
        unit: DurationColumn,
    },
    /// An interval of a time, in the unit of its column.
    Interval {
        /// Lower end in nanoseconds.
        low_ns: u64,
        /// Upper end in nanoseconds; none if it is unbounded.
        high_ns: Option<u64>,
        /// Unit of the column.
        unit: DurationColumn,
    },
    /// Times between two round ones.
    Range {
        /// Lower end in nanoseconds.
        low_ns: u64,
        /// Upper end in nanoseconds, exclusive; none if it is unbounded.
        high_ns: Option<u64>,
    },
}

impl<T: Into<String>> From<T> for Cell {
    fn from(words: T) -> Cell {
        Cell::Text(words.into())
    }
}

impl Cell {
    /// A time that enough samples support.
    pub(super) fn time(value: Quantile, unit: DurationColumn) -> Cell {
        Cell::Time { value, imprecise: false, unit }
    }

    /// Formats the value; empty for an absent one and for a bar.
    pub fn to_text(&self) -> String {
        match self {
            Cell::Empty | Cell::Bar(_) => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => units::count(*count),
            Cell::Number(number) => format!("{number:.1}"),
            Cell::Share(share) => units::percent(*share),
            Cell::Frequency(share) if *share > 0.0 && *share < 0.000_05 => "<0.01%".to_owned(),
            Cell::Frequency(share) => units::percent(*share),
            Cell::Bytes(bytes) => units::bytes(*bytes),
            Cell::ByteRate(rate) => units::byte_rate(*rate),
            Cell::Rate(rps) => units::round_rate(*rps),
            Cell::RateWithin(rps, interval) => within(*rps, *interval),
            Cell::RateAtLeast(rps) => format!("≥ {}", units::rate_at_least(*rps)),
            Cell::PlannedRate(rate) => rate.to_string(),
            Cell::Duration(ns) => units::duration(*ns),
            Cell::PlannedDuration(ns) => units::exact_duration(*ns),
            Cell::Time { value, imprecise, unit } => time(*value, *imprecise, unit),
            Cell::OrMore { ns, unit } => unit.or_more(*ns),
            Cell::Interval { low_ns, high_ns, unit } => unit.interval(*low_ns, *high_ns),
            Cell::Range { low_ns, high_ns } => range(*low_ns, *high_ns),
        }
    }

    /// Returns the tone of the value by itself: a bound is one to notice.
    pub fn tone(&self) -> Tone {
        match self {
            Cell::Time { value, .. } => match value.bound {
                Bound::Exact => Tone::Plain,
                Bound::Lower => Tone::Bad,
                Bound::Upper | Bound::Unknown => Tone::Caution,
            },
            Cell::Interval { .. } | Cell::Frequency(_) => Tone::Aside,
            _ => Tone::Plain,
        }
    }
}

fn time(value: Quantile, imprecise: bool, unit: &DurationColumn) -> String {
    let text = match value.bound {
        Bound::Exact => unit.value(value.ns),
        Bound::Lower => unit.at_least(value.ns),
        Bound::Upper => unit.at_most(value.ns),
        Bound::Unknown => return "unknown".to_owned(),
    };
    let mark = if imprecise { "~ " } else { "" };
    format!("{mark}{text}")
}

/// Formats `71,500/s ± 0.3%`: half the interval's width as a share of the rate, rounded up.
fn within(rps: f64, interval: Option<RateInterval>) -> String {
    let rate = units::round_rate(rps);
    let Some(RateInterval { low_rps, high_rps }) = interval.filter(|_| rps > 0.0) else {
        return rate;
    };
    let share = (high_rps - low_rps) / 2.0 / rps;
    let share = (share * 1e4).ceil() / 1e4;
    format!("{rate} ± {}", units::short_percent(share))
}

/// Formats `200–500 µs`, `≥ 20 ms`: a unit that both ends share is printed once.
fn range(low_ns: u64, high_ns: Option<u64>) -> String {
    let low = units::short_duration(low_ns);
    let Some(high_ns) = high_ns else {
        return format!("≥ {low}");
    };
    let high = units::short_duration(high_ns);
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    match low.rsplit_once(' ') {
        Some((number, _)) if unit(&low) == unit(&high) => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}
