//! The value of `-c`: a number of connections, or a range within which an open loop opens them.

use anyhow::{Context, Result, ensure};
use weir_result::ConnectionLoad;

use super::values::positive;

/// Reads a number of connections, or a range of them.
pub(super) fn connections(text: &str) -> Result<ConnectionLoad> {
    let Some((first, most)) = text.split_once("..") else {
        return Ok(ConnectionLoad::Fixed(positive(text)?));
    };
    let number = |text: &str| {
        positive(text).context("it is no number or A..B, a range of them, as in 10..1000")
    };
    let first = number(first)?;
    let most = number(most)?;
    ensure!(first <= most, "the range ends below its start: give the smaller number first");
    Ok(match first == most {
        true => ConnectionLoad::Fixed(first),
        false => ConnectionLoad::Growing { first, most },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read() {
        let check = |text: &str, expected| {
            assert_eq!(connections(text).expect(text), expected, "{text}");
        };
        check("10", ConnectionLoad::Fixed(10));
        check("1k", ConnectionLoad::Fixed(1_000));
        check("10..1k", ConnectionLoad::Growing { first: 10, most: 1_000 });
        check("7..7", ConnectionLoad::Fixed(7));
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
            let error = connections(text).expect_err(text);
            assert!(format!("{error:#}").contains(part), "{text}: {error:#}");
        }
    }
}
