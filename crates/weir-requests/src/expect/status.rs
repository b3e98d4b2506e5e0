//! A set of status codes.

use crate::expect::ExpectError;

/// Lowest and highest code that the syntax of HTTP allows.
const CODE_MIN: u16 = 100;
const CODE_MAX: u16 = 999;

/// A set of status codes: single codes and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCodes(Vec<(u16, u16)>);

impl StatusCodes {
    /// Returns the set of all codes from `min` to `max`, inclusive.
    pub fn between(min: u16, max: u16) -> StatusCodes {
        StatusCodes(vec![(min, max)])
    }

    /// Parses a set: `200`, `200-299`, `200-299,304`.
    ///
    /// # Errors
    /// If a code does not lie between 100 and 999, or a range ends before it begins.
    pub(super) fn parse(text: &str) -> Result<StatusCodes, ExpectError> {
        let ranges = text.split(',').map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let range = code(first).zip(code(last)).filter(|(first, last)| first <= last);
            range.ok_or_else(|| ExpectError::Status(text.to_owned()))
        });
        ranges.collect::<Result<_, _>>().map(StatusCodes)
    }

    /// True if the set contains the code.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

fn code(text: &str) -> Option<u16> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let code = text.parse().ok().filter(|_| is_number)?;
    (CODE_MIN..=CODE_MAX).contains(&code).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_ranges_are_a_set() {
        let check = |text: &str, inside: &[u16], outside: &[u16]| {
            let codes = StatusCodes::parse(text).expect(text);
            assert!(inside.iter().all(|code| codes.contains(*code)), "{text}");
            assert!(!outside.iter().any(|code| codes.contains(*code)), "{text}");
        };
        check("200", &[200], &[199, 201, 0]);
        check("200-299", &[200, 250, 299], &[199, 300]);
        check("200-204, 304,404", &[200, 204, 304, 404], &[205, 303, 403]);
        check("100-999", &[100, 999], &[99]);
    }

    #[test]
    fn other_texts_are_no_codes() {
        for text in
            ["", "ok", "2xx", "99", "1000", "300-200", "200-", "-200", "+200", "200,", "2 0"]
        {
            assert_eq!(StatusCodes::parse(text), Err(ExpectError::Status(text.to_owned())));
        }
    }
}
