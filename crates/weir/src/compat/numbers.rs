//! Numbers and times as wrk writes them: whole, with one unit at most. The syntax is narrower than
//! in `weir_text::units` (no `1.5k`, no `500ms`) and laxer (`1 K`). Scripts may rely on either,
//! hence a separate parser.

/// Maximum time in seconds, about 584 years: its nanoseconds must fit 64 bits.
const SECONDS_MAX: u64 = u64::MAX / 1_000_000_000;

/// Parses a count: digits and then, in either case, k, M, G, T or P, each a thousand times the one
/// before. `None` if it is no such number or does not fit 64 bits.
pub(super) fn count(text: &str) -> Option<u64> {
    let (digits, unit) = split(text)?;
    let mut powers = (0..).zip(["", "k", "m", "g", "t", "p"]);
    let (power, _) = powers.find(|(_, known)| unit.eq_ignore_ascii_case(known))?;
    digits.checked_mul(1_000_u64.pow(power))
}

/// Parses a time in whole seconds: digits and then, in either case, s, m or h; seconds without one.
/// `None` if it is no such time or its nanoseconds do not fit 64 bits.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (digits, unit) = split(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.checked_mul(scale).filter(|&seconds| seconds <= SECONDS_MAX)
}

/// Splits a text into the number and the unit after it. Blanks before either are skipped, and text
/// after a blank behind the unit is ignored, as in scanf(3).
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(is_blank);
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let unit = rest.trim_start_matches(is_blank).split(is_blank).next().unwrap_or_default();
    Some((digits.parse().ok()?, unit))
}

/// True for whitespace as isspace(3) defines it in the C locale.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("007", Some(7)),
            ("+7", Some(7)),
            (" 7", Some(7)),
            ("7 ", Some(7)),
            ("10k", Some(10_000)),
            ("1K", Some(1_000)),
            ("1 k", Some(1_000)),
            ("1\t\u{b}K", Some(1_000)),
            ("1 k z", Some(1_000)),
            ("1k z", Some(1_000)),
            ("2m", Some(2_000_000)),
            ("2M", Some(2_000_000)),
            ("3g", Some(3_000_000_000)),
            ("3T", Some(3_000_000_000_000)),
            ("3p", Some(3_000_000_000_000_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("18446744073709551615k", None),
            ("18447p", None),
            ("", None),
            (" ", None),
            ("k", None),
            ("-1", None),
            ("- 1", None),
            ("+ 1", None),
            ("+-1", None),
            ("1.5k", None),
            ("1.0", None),
            ("1,000", None),
            ("1_000", None),
            ("1e3", None),
            ("0x10", None),
            ("10kx", None),
            ("10kxy", None),
            ("10kk", None),
            ("1ki", None),
            ("1 zz", None),
            ("1 2", None),
            ("1s", None),
            ("1h", None),
            ("1é", None),
            ("１", None),
        ] {
            assert_eq!(count(text), expected, "{text:?}");
        }
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("0", Some(0)),
            ("30", Some(30)),
            ("30s", Some(30)),
            ("30S", Some(30)),
            ("30 s", Some(30)),
            ("30 s x", Some(30)),
            ("2m", Some(120)),
            ("2M", Some(120)),
            ("2 m", Some(120)),
            ("1h", Some(3600)),
            ("1H", Some(3600)),
            ("18446744073", Some(18_446_744_073)),
            ("18446744074", None),
            ("5124096h", None),
            ("99999999999999999h", None),
            ("99999999999999999999", None),
            ("500ms", None),
            ("1.5s", None),
            ("1d", None),
            ("1m30s", None),
            ("1m 30s", Some(60)),
            ("5k", None),
            ("-5s", None),
            ("s", None),
            ("", None),
            ("1us", None),
            ("1sec", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }
}
