//! Ids that the shop gives to sessions, tokens and carts: a number, by which they are found, and a
//! secret, so that no id can be guessed from another.

use std::fmt;
use std::str::FromStr;

use crate::units::parse_digits;

/// The id of a session or of a token: written `NUMBER-SECRET`, both hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShopId {
    pub(super) number: u64,
    pub(super) secret: u64,
}

impl fmt::Display for ShopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:016x}", self.number, self.secret)
    }
}

impl FromStr for ShopId {
    type Err = ();

    fn from_str(text: &str) -> Result<ShopId, ()> {
        let (number, secret) = text.split_once('-').ok_or(())?;
        let read = |digits: &str| u64::from_str_radix(digits, 16).map_err(|_| ());
        let id = ShopId { number: read(number)?, secret: read(secret)? };
        // Of the forms that a number has, one is the id.
        if id.to_string() == text { Ok(id) } else { Err(()) }
    }
}

/// The id of a cart: a decimal number that JSON holds exactly (RFC 8259 §6), whose last bits are
/// the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CartId {
    pub(super) number: u64,
    /// Below [`CartId::SECRETS`].
    pub(super) secret: u64,
}

impl CartId {
    /// Number of different secrets.
    pub(super) const SECRETS: u64 = 1 << 20;
}

impl fmt::Display for CartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number * CartId::SECRETS + self.secret)
    }
}

impl FromStr for CartId {
    type Err = ();

    fn from_str(text: &str) -> Result<CartId, ()> {
        let id = parse_digits(text.as_bytes()).ok_or(())?;
        Ok(CartId { number: id / CartId::SECRETS, secret: id % CartId::SECRETS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_and_read() {
        for (number, secret) in [(0, 0), (1, 2), (u64::MAX, u64::MAX)] {
            let id = ShopId { number, secret };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for (number, secret) in [(0, 0), (0, 5), (1_000_000, CartId::SECRETS - 1)] {
            let id = CartId { number, secret };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(ShopId { number: 26, secret: 1 }.to_string(), "1a-0000000000000001");
        for text in ["", "1", "1-", "-1", "1-1", "01-0000000000000001", "1A-0000000000000001"] {
            assert_eq!(text.parse::<ShopId>(), Err(()), "{text}");
        }
        for text in ["", "-1", "1.0", "a"] {
            assert_eq!(text.parse::<CartId>(), Err(()), "{text}");
        }
    }
}
