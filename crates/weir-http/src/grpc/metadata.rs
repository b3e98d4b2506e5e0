//! Texts of metadata: deadlines, and messages of statuses ("gRPC over HTTP2", Requests and
//! Responses). Independent of messages.

use std::time::Duration;

/// Units of `grpc-timeout` in nanoseconds, from the finest to the widest.
const UNITS: [(u128, char); 6] = [
    (1, 'n'),
    (1_000, 'u'),
    (1_000_000, 'm'),
    (1_000_000_000, 'S'),
    (60_000_000_000, 'M'),
    (3_600_000_000_000, 'H'),
];

/// Greatest number of `grpc-timeout`: it has at most eight digits.
const NUMBER_MAX: u128 = 99_999_999;

/// Returns the value of `grpc-timeout` for a deadline: in the finest unit in which it has eight
/// digits at most, rounded up.
pub fn timeout_text(timeout: Duration) -> String {
    let ns = timeout.as_nanos();
    let rounded = |(unit_ns, unit): &(u128, char)| (ns.div_ceil(*unit_ns), *unit);
    let mut fitting = UNITS.iter().map(rounded).filter(|(number, _)| *number <= NUMBER_MAX);
    let (number, unit) = fitting.next().unwrap_or((NUMBER_MAX, 'H'));
    format!("{number}{unit}")
}

/// Decodes the value of `grpc-message`: `%` and two hexadecimal digits are a byte. Others stay as
/// they are.
pub fn percent_decoded(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, tail @ ..] = rest {
        let digit = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let byte = digit(0).zip(digit(1)).filter(|_| *first == b'%');
        let byte = byte.and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_written_in_the_finest_unit() {
        let check = |ns: u64, expected: &str| {
            assert_eq!(timeout_text(Duration::from_nanos(ns)), expected);
        };
        check(0, "0n");
        check(1_500_000, "1500000n");
        check(99_999_999, "99999999n");
        check(100_000_001, "100001u");
        check(2_000_000_000, "2000000u");
        check(200_000_000_001, "200001m");
        check(u64::MAX, "5124096H");
    }

    #[test]
    fn messages_of_statuses_are_decoded() {
        let check = |text: &str, expected: &str| {
            assert_eq!(percent_decoded(text.as_bytes()), expected.as_bytes(), "{text}");
        };
        check("", "");
        check("a%20b%C3%a9", "a b\u{e9}");
        check("100%", "100%");
        check("%2", "%2");
        check("%zz%41", "%zzA");
    }
}
