//! Numbers to text and text to numbers: the one place for both, so that numbers are printed alike
//! everywhere and can be typed back in as a flag.
//!
//! Parsing is exact: text that is not an exact number is refused, never rounded. Each printing
//! function documents its rounding. This module is independent of the meaning of a number.

mod parse;
mod print;

pub use parse::{
    ParseError, parse_bytes, parse_count, parse_duration_ns, parse_limit_ns, parse_number,
    parse_rate, parse_share,
};
pub use print::{
    DurationColumn, byte_rate, bytes, change, confidence, count, duration, duration_at_least,
    duration_at_most, duration_of_seconds, exact_duration, exact_rate, fine_percent, number,
    percent, plain_duration, rate, rate_at_least, round_rate, short_duration, short_percent,
};

#[cfg(test)]
mod tests;
