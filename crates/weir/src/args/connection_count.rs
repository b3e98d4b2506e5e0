//! The value of `-c`: a number of connections, or a range within which an open loop opens them.

use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};

use super::values::positive;

/// A number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionCount {
    /// Connections, with `most` those at the start; at least 1.
    pub(crate) first: u32,
    /// Greatest number, above `first`; `None` if the number is fixed.
    pub(crate) most: Option<u32>,
}

impl FromStr for ConnectionCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<ConnectionCount> {
        let Some((first, most)) = text.split_once("..") else {
            return Ok(ConnectionCount { first: positive(text)?, most: None });
        };
        let number = |text: &str| {
            positive(text).context("it is no number or A..B, a range of them, as in 10..1000")
        };
        let (first, most) = (number(first)?, number(most)?);
        ensure!(first <= most, "the range ends below its start: give the smaller number first");
        Ok(ConnectionCount { first, most: Some(most).filter(|most| *most > first) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read() {
        let check = |text: &str, first, most| {
            let count: ConnectionCount = text.parse().expect(text);
            assert_eq!(count, ConnectionCount { first, most }, "{text}");
        };
        check("10", 10, None);
        check("1k", 1_000, None);
        check("10..1k", 10, Some(1_000));
        check("7..7", 7, None);
    }

    #[test]
    fn a_range_has_two_numbers_in_order() {
        for (text, part) in [
            ("0", "must be at least 1"),
            ("0..5", "as in 10..1000"),
            ("5..", "as in 10..1000"),
            ("..5", "as in 10..1000"),
            ("1..2..3", "as in 10..1000"),
            ("20..10", "give the smaller number first"),
        ] {
            let error = text.parse::<ConnectionCount>().expect_err(text);
            assert!(format!("{error:#}").contains(part), "{text}: {error:#}");
        }
    }
}
