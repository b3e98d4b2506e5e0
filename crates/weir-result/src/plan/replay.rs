//! A replayed log, as a part of a plan, and the speed of a replay.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weir_text::units;

use super::Rate;
use super::stage::rounded_rate;

/// Greatest numerator and denominator of a speed.
const SPEED_MAX: u64 = 1_000_000;

/// A log whose times are the schedule, and whose requests are the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayPlan {
    /// Name of the log's file, without its directory.
    pub name: String,
    /// Format: `common`, `combined`, `jsonl`, `har`, or nginx's `log_format` string.
    pub format: String,
    /// SHA-256 of its text, in hexadecimal.
    pub sha256: String,
    /// Number of its lines, or entries, with a time.
    pub lines: u64,
    /// Number of its requests that are sent.
    pub requests: u64,
    /// Length of the replay in nanoseconds: the window.
    pub window_ns: u64,
    /// Factor by which the times are faster than those of the log: `2x`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub speed: Speed,
    /// True if all times of the log are in whole seconds, within which the requests are spread
    /// evenly.
    pub has_whole_seconds: bool,
    /// Requests left out because their method is not safe (RFC 9110 §9.2.1), by method; absent if
    /// there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// Lines left out because they have no request that could be sent: no request line, or no path.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_request: u64,
    /// True if the last line was cut, and is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ReplayPlan {
    /// Returns the mean rate, to a thousandth per second.
    pub fn mean_rate(&self) -> Rate {
        rounded_rate(self.requests as f64 / (self.window_ns.max(1) as f64 / 1e9))
    }

    /// Returns the load in words: `replay of access.log, 12,345 requests in 60 s, at 2x`.
    pub fn in_words(&self) -> String {
        self.words(&format!(" in {}", units::plain_duration(self.window_ns)))
    }

    /// Returns the load in words without its length: `replay of access.log, 12,345 requests`.
    pub fn in_short(&self) -> String {
        self.words("")
    }

    fn words(&self, length: &str) -> String {
        let noun = if self.requests == 1 { "request" } else { "requests" };
        let requests = units::count(self.requests);
        let mut text = format!("replay of {}, {requests} {noun}{length}", self.name);
        if self.speed != Speed::default() {
            text.push_str(&format!(", at {}", self.speed));
        }
        text
    }
}

/// Factor of the speed of a replay, exactly: `numerator / denominator`. In JSON it is a text, `2x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Speed {
    /// Numerator, 1 to 1,000,000.
    pub numerator: u64,
    /// Denominator, 1 to 1,000,000.
    pub denominator: u64,
}

/// The speed of the log.
impl Default for Speed {
    fn default() -> Speed {
        Speed { numerator: 1, denominator: 1 }
    }
}

impl Speed {
    /// True if both numbers are within their limits.
    pub fn is_valid(self) -> bool {
        [self.numerator, self.denominator].iter().all(|number| (1..=SPEED_MAX).contains(number))
    }
}

/// Prints the speed: `2x`, `0.5x`.
impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.numerator as f64 / self.denominator as f64)
    }
}

impl From<Speed> for String {
    fn from(speed: Speed) -> String {
        speed.to_string()
    }
}

impl TryFrom<String> for Speed {
    type Error = String;

    fn try_from(text: String) -> Result<Speed, String> {
        text.parse()
    }
}

/// Reads `2x`, `0.5x`, `1.25`.
impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Speed, String> {
        let failed =
            || format!("{text:?} is no speed from 0.000001x to 1000000x, as in 2x or 0.5x");
        let digits = text.strip_suffix(['x', 'X']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !is_number || whole.is_empty() || whole.len() > 7 || fraction.len() > 6 {
            return Err(failed());
        }
        let scale = 10_u64.pow(fraction.len() as u32);
        let numerator = format!("{whole}{fraction}").parse::<u64>().map_err(|_| failed())?;
        let mut x = numerator;
        let mut y = scale;
        while y != 0 {
            (x, y) = (y, x % y);
        }
        let speed = Speed { numerator: numerator / x, denominator: scale / x };
        Some(speed).filter(|speed| speed.is_valid()).ok_or_else(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_exact() {
        for (text, numerator, denominator, printed) in [
            ("2x", 2, 1, "2x"),
            ("0.5x", 1, 2, "0.5x"),
            ("10", 10, 1, "10x"),
            ("1.250X", 5, 4, "1.25x"),
            ("0.000001", 1, 1_000_000, "0.000001x"),
        ] {
            let speed: Speed = text.parse().expect(text);
            assert_eq!(speed, Speed { numerator, denominator }, "{text}");
            assert_eq!(speed.to_string(), printed);
            assert_eq!(String::from(speed).try_into(), Ok(speed));
        }
        for text in ["", "x", "0", "0x", "-1", "2xx", ".5", "1.2.3", "1e3", "0.0000001", "٢"] {
            let read = text.parse::<Speed>();
            assert!(read.is_err(), "{text}: {read:?}");
        }
        assert!("1000001".parse::<Speed>().is_err() && "99999.999999".parse::<Speed>().is_err());
    }

    #[test]
    fn the_load_has_words() {
        let mut plan = ReplayPlan {
            name: "access.log".to_owned(),
            requests: 12_345,
            window_ns: 60_000_000_000,
            ..ReplayPlan::default()
        };
        assert_eq!(plan.in_words(), "replay of access.log, 12,345 requests in 60 s");
        plan.speed = "2x".parse().expect("a speed");
        assert_eq!(plan.in_words(), "replay of access.log, 12,345 requests in 60 s, at 2x");
        assert_eq!(plan.in_short(), "replay of access.log, 12,345 requests, at 2x");
        assert_eq!(plan.mean_rate().to_string(), "205.75/s");
    }
}
