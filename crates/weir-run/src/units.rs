//! Numbers to text and text to numbers: the one place for both, so that a number printed anywhere
//! reads like every other one and can be typed back in as a flag.
//!
//! Parsing is exact: what a flag cannot say exactly is refused, never rounded. Printing functions
//! say which way they round. Nothing here knows what a number means.

mod parse;
mod print;

pub use parse::{
    ParseError, parse_bytes, parse_count, parse_duration_ns, parse_number, parse_rate, parse_share,
};
pub use print::{
    DurationColumn, byte_rate, bytes, confidence, count, duration, duration_at_least,
    duration_of_seconds, exact_duration, exact_rate, fine_percent, number, percent, rate,
    rate_at_least, round_rate, short_duration, short_percent,
};

#[cfg(test)]
mod tests;
