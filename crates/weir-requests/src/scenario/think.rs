//! Think times: pauses of a user between two requests.

use std::str::FromStr;

use weir_text::units::parse_duration_ns;

use crate::list::below;
use crate::scenario::draws::share;

/// Longest think time that is accepted, in nanoseconds: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// A pause of a user after a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkTime {
    /// None.
    #[default]
    None,
    /// `2s`: the same each time, in nanoseconds.
    Fixed(u64),
    /// `1s..3s`: all times between these are equally likely, in nanoseconds.
    Between(u64, u64),
    /// `exp:2s`: exponentially distributed, with this mean in nanoseconds.
    Exponential(u64),
}

impl ThinkTime {
    /// Returns the pause in nanoseconds that a random number stands for.
    pub fn span_ns(self, random: u64) -> u64 {
        match self {
            ThinkTime::None => 0,
            ThinkTime::Fixed(span_ns) => span_ns,
            ThinkTime::Between(least_ns, most_ns) => {
                least_ns + below(most_ns - least_ns + 1, random)
            }
            // 1 − share lies in (0, 1], so that the logarithm is finite.
            ThinkTime::Exponential(mean_ns) => {
                (-(1.0 - share(random)).ln() * mean_ns as f64).round() as u64
            }
        }
    }

    /// Returns the mean pause in nanoseconds.
    pub fn mean_ns(self) -> u64 {
        match self {
            ThinkTime::None => 0,
            ThinkTime::Fixed(span_ns) | ThinkTime::Exponential(span_ns) => span_ns,
            ThinkTime::Between(least_ns, most_ns) => least_ns.midpoint(most_ns),
        }
    }
}

impl FromStr for ThinkTime {
    type Err = String;

    fn from_str(text: &str) -> Result<ThinkTime, String> {
        let span = |text: &str| {
            let span_ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
            match span_ns > LONGEST_NS {
                true => Err(format!("{} is longer than a day", text.trim())),
                false => Ok(span_ns),
            }
        };
        if let Some(mean) = text.trim().strip_prefix("exp:") {
            return span(mean).map(ThinkTime::Exponential);
        }
        let Some((least, most)) = text.split_once("..") else {
            return span(text).map(ThinkTime::Fixed);
        };
        let least_ns = span(least)?;
        let most_ns = span(most)?;
        match least_ns <= most_ns {
            true => Ok(ThinkTime::Between(least_ns, most_ns)),
            false => Err(format!("{text} ends before it begins: write the shorter time first")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::mixed;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn texts_are_times() {
        for (text, expected) in [
            ("2s", ThinkTime::Fixed(2 * SECOND_NS)),
            ("0.5", ThinkTime::Fixed(SECOND_NS / 2)),
            ("1s..3s", ThinkTime::Between(SECOND_NS, 3 * SECOND_NS)),
            ("0s .. 100ms", ThinkTime::Between(0, SECOND_NS / 10)),
            ("exp:2s", ThinkTime::Exponential(2 * SECOND_NS)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", "2 apples", "3s..1s", "1s..", "exp:", "exp:1s..2s", "25h"] {
            assert!(text.parse::<ThinkTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_their_mean_and_their_limits() {
        const DRAWS: u64 = 100_000;
        let between = ThinkTime::Between(SECOND_NS, 3 * SECOND_NS);
        for think in [between, ThinkTime::Exponential(2 * SECOND_NS)] {
            let spans = (0..DRAWS).map(|draw| think.span_ns(mixed(7, draw)));
            let sum: u128 = spans.map(u128::from).sum();
            let mean_s = sum as f64 / DRAWS as f64 / 1e9;
            // Standard errors are 0.002 and 0.006; the bound is at five of the greater.
            assert!((mean_s - 2.0).abs() < 0.032, "{think:?}: {mean_s}");
        }
        assert_eq!(between.span_ns(0), SECOND_NS);
        assert_eq!(between.span_ns(u64::MAX), 3 * SECOND_NS);
        assert_eq!(ThinkTime::Exponential(SECOND_NS).span_ns(0), 0);
        assert!(ThinkTime::Exponential(SECOND_NS).span_ns(u64::MAX) < 40 * SECOND_NS);
        assert_eq!((between.mean_ns(), ThinkTime::None.span_ns(5)), (2 * SECOND_NS, 0));
    }
}
