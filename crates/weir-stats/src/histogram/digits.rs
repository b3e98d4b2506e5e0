//! A 128-bit number as a JSON string of decimal digits: it may be more than a JSON number holds
//! exactly.

use serde::{Deserialize, Deserializer, Serializer, de};

/// Writes the number.
///
/// # Errors
/// If it cannot be written.
pub fn serialize<S: Serializer>(number: &u128, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(number)
}

/// Reads the number.
///
/// # Errors
/// If the text is none.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| de::Error::custom("a sum is not a number in decimal digits"))
}
