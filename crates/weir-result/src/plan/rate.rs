//! A rate of requests or connects, without rounding.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weir_text::units::{self, ParseError};

/// An exact rate: `numerator / denominator` requests, or connects, per second, both at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Number of requests or connects.
    pub numerator: u64,
    /// Number of seconds in which they are made.
    pub denominator: u64,
}

impl Rate {
    /// Returns the rate in requests per second, rounded to the nearest float.
    pub fn rps(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Prints the rate without rounding: `20,000/s`, `1 per 3 s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::exact_rate(self.numerator, self.denominator))
    }
}

/// Reads what [`units::parse_rate`] accepts, exactly: `20k`, `6000/m`, `1 per 3 s`.
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let (numerator, denominator) = units::parse_rate(text)?;
        Ok(Rate { numerator, denominator })
    }
}
