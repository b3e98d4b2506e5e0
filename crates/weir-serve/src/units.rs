//! Conversion between text and numbers, for the syntax of the server's options. The only place in
//! this crate for such conversions.

use std::time::Duration;

/// Error for an invalid option value: a lower-case fragment that includes the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(crate) String);

/// Longest span that an option accepts: a day, in seconds.
const SPAN_MAX_S: f64 = 86_400.0;

/// Reads `1.4s`, `5ms`, `250us`, `250µs`, `80ns`, `2m`, `1h`; a bare number is seconds.
pub(crate) fn parse_span(text: &str) -> Result<Duration, ParseError> {
    let wrong = || {
        ParseError(format!(
            "`{text}` is not a duration: write a number and a unit, such as 5ms, 250us or 1.4s \
             (units: ns, us, ms, s, m, h)"
        ))
    };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let span_ns = number * unit_ns;
    if span_ns > SPAN_MAX_S * 1e9 {
        return Err(ParseError(format!("`{text}` is too long: a day (24h) is the most")));
    }
    Ok(Duration::from_nanos(round_ns(span_ns)))
}

/// Reads a whole number of bytes: `14`, `10k`, `4m`, `1g`, with suffixes in powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let wrong = || {
        ParseError(format!(
            "`{text}` is not a size: write whole bytes, such as 14, 10k or 1m (k = 1024)"
        ))
    };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let unit: u64 = match suffix {
        "" | "b" | "B" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

/// Reads a plain decimal number of digits only, as HTTP's `Content-Length` is written.
pub(crate) fn parse_digits(text: &[u8]) -> Option<u64> {
    let is_plain = text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()
}

/// Appends `number` in decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Rounds a computed span to the nearest whole nanosecond; negative values and NaN become zero, and
/// too large values become the maximum.
pub(crate) fn round_ns(span_ns: f64) -> u64 {
    span_ns.round() as u64
}

/// Returns the nanoseconds of a span; spans that do not fit (584 years) become the maximum.
pub(crate) fn span_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let check = |text: &str, ns: u64| {
            assert_eq!(parse_span(text), Ok(Duration::from_nanos(ns)), "{text}");
        };
        check("0", 0);
        check("1.4s", 1_400_000_000);
        check("5ms", 5_000_000);
        check("0.25ms", 250_000);
        check("250us", 250_000);
        check("250µs", 250_000);
        check("80ns", 80);
        check("2", 2_000_000_000);
        check("2m", 120_000_000_000);
        check("24h", 86_400_000_000_000);
        for text in ["", "ms", "-1s", "1 ms", "1x", "1.2.3s", "25h", "1e3s"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_error_names_the_remedy() {
        let error = parse_span("5 ms").expect_err("blank inside").to_string();
        assert!(error.contains("`5 ms` is not a duration") && error.contains("5ms"), "{error}");
        let error = parse_bytes("10q").expect_err("no such suffix").to_string();
        assert!(error.contains("`10q` is not a size") && error.contains("10k"), "{error}");
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("14"), Ok(14));
        assert_eq!(parse_bytes("10k"), Ok(10_240));
        assert_eq!(parse_bytes("4m"), Ok(4 << 20));
        assert_eq!(parse_bytes("1g"), Ok(1 << 30));
        for text in ["", "k", "-1", "1.5k", "99999999999g"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn digits_go_out_and_come_back() {
        for number in [0, 9, 10, 255, 1_000_000_007, u64::MAX] {
            let mut text = Vec::new();
            push_decimal(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
            assert_eq!(parse_digits(&text), Some(number));
        }
        for text in ["", "+1", "1 ", "18446744073709551616"] {
            assert_eq!(parse_digits(text.as_bytes()), None, "{text}");
        }
    }
}
