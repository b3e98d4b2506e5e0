//! Ranges of addresses: a whole block is one value, whatever its size.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A range of consecutive addresses of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct AddressRange {
    first: IpAddr,
    last: IpAddr,
}

/// Reason why a text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRangeError {
    /// An end that is no address.
    #[error("{0:?} is no IP address: write 127.0.1.1, 127.0.1.1-127.0.1.64 or 127.1.0.0/24")]
    NoAddress(String),
    /// A prefix that is no number, or too long.
    #[error("the prefix of {0:?} is not a number from 0 to {1}")]
    BadPrefix(String, u32),
    /// A block whose address is not its first one.
    #[error("the block {0:?} begins at {1}: write {1}/{2}, or the address alone")]
    NotFirst(String, IpAddr, u32),
    /// Ends of different families, IPv4 and IPv6.
    #[error("{0:?} begins with one family of addresses and ends with the other")]
    TwoFamilies(String),
    /// Ends in the wrong order.
    #[error("{0:?} ends before it begins")]
    Reversed(String),
}

impl AddressRange {
    /// Returns the first address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// Returns the number of addresses, at least 1; for the whole of IPv6 it is one too low.
    pub fn count(&self) -> u128 {
        (number(self.last) - number(self.first)).saturating_add(1)
    }

    /// Returns the address `offset` places after the first one, if it is in the range.
    pub fn nth(&self, offset: u128) -> Option<IpAddr> {
        (offset < self.count()).then(|| address(self.first, number(self.first) + offset))
    }
}

/// Returns the number of addresses in several ranges.
pub(super) fn count(ranges: &[AddressRange]) -> u128 {
    ranges.iter().fold(0, |sum: u128, range| sum.saturating_add(range.count()))
}

/// Returns the address number `index` of several ranges, one after the other and from the first
/// again; `None` if there is no range.
pub(super) fn nth_in_turn(ranges: &[AddressRange], index: u64) -> Option<IpAddr> {
    let mut left = u128::from(index).checked_rem(count(ranges))?;
    for range in ranges {
        match range.nth(left) {
            Some(address) => return Some(address),
            None => left -= range.count(),
        }
    }
    None
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Returns the address with this number, of the family of `like`.
fn address(like: IpAddr, number: u128) -> IpAddr {
    match like {
        // The number lies between two addresses of that family, so that it fits 32 bits.
        IpAddr::V4(_) => Ipv4Addr::from_bits(number as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(number).into(),
    }
}

fn parse_address(text: &str) -> Result<IpAddr, AddressRangeError> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().map_err(|_| AddressRangeError::NoAddress(text.to_owned()))
}

fn parse_block(text: &str, first: &str, prefix: &str) -> Result<AddressRange, AddressRangeError> {
    let first = parse_address(first)?;
    let bits = if first.is_ipv4() { 32 } else { 128 };
    let prefix_bits: u32 = prefix.parse().unwrap_or(u32::MAX);
    if prefix_bits > bits {
        return Err(AddressRangeError::BadPrefix(text.to_owned(), bits));
    }
    let host = 1u128.checked_shl(bits - prefix_bits).map_or(u128::MAX, |size| size - 1);
    let begin = address(first, number(first) & !host);
    if begin != first {
        return Err(AddressRangeError::NotFirst(text.to_owned(), begin, prefix_bits));
    }
    Ok(AddressRange { first, last: address(first, number(first) | host) })
}

impl FromStr for AddressRange {
    type Err = AddressRangeError;

    /// Parses `A`, `A-B` or `A/PREFIX`, IPv6 with or without brackets.
    fn from_str(text: &str) -> Result<AddressRange, AddressRangeError> {
        if let Some((first, prefix)) = text.split_once('/') {
            return parse_block(text, first, prefix);
        }
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (parse_address(first)?, parse_address(last)?),
            None => {
                let only = parse_address(text)?;
                (only, only)
            }
        };
        if first.is_ipv4() != last.is_ipv4() {
            return Err(AddressRangeError::TwoFamilies(text.to_owned()));
        }
        if number(last) < number(first) {
            return Err(AddressRangeError::Reversed(text.to_owned()));
        }
        Ok(AddressRange { first, last })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl TryFrom<String> for AddressRange {
    type Error = AddressRangeError;

    fn try_from(text: String) -> Result<AddressRange, AddressRangeError> {
        text.parse()
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> String {
        range.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, printed: &str, count: u128) {
        let range: AddressRange = text.parse().expect(text);
        assert_eq!((range.to_string().as_str(), range.count()), (printed, count), "{text}");
        assert_eq!(printed.parse(), Ok(range), "what is printed is read again");
        assert_eq!(range.nth(count - 1), Some(range.last), "{text}");
        assert_eq!(range.nth(count), None, "{text}");
    }

    #[test]
    fn ranges_are_read_and_counted() {
        check("127.0.1.1", "127.0.1.1", 1);
        check("127.0.1.1-127.0.1.64", "127.0.1.1-127.0.1.64", 64);
        check("127.1.0.0/24", "127.1.0.0-127.1.0.255", 256);
        check("10.0.0.7/32", "10.0.0.7", 1);
        check("0.0.0.0/0", "0.0.0.0-255.255.255.255", 1 << 32);
        check("127.0.0.255-127.0.1.0", "127.0.0.255-127.0.1.0", 2);
        check("::1", "::1", 1);
        check("[::1]", "::1", 1);
        check("2001:db8::/64", "2001:db8::-2001:db8::ffff:ffff:ffff:ffff", 1 << 64);
        check("2001:db8::1-2001:db8::ff", "2001:db8::1-2001:db8::ff", 255);
    }

    #[test]
    fn what_is_no_range_is_reported() {
        for (text, part) in [
            ("", "no IP address"),
            ("localhost", "no IP address"),
            ("127.0.0.1-", "no IP address"),
            ("127.0.0/24", "no IP address"),
            ("127.0.0.0/33", "from 0 to 32"),
            ("::/129", "from 0 to 128"),
            ("127.0.0.0/x", "from 0 to 32"),
            ("127.1.0.5/24", "write 127.1.0.0/24"),
            ("127.0.0.1-::1", "the other"),
            ("127.0.0.2-127.0.0.1", "ends before"),
        ] {
            let error = text.parse::<AddressRange>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_go_round_over_all_ranges() {
        let ranges = ["10.0.0.9", "10.0.1.0-10.0.1.2", "::1"].map(|text| text.parse().expect(text));
        let texts: Vec<String> = (0..7)
            .filter_map(|index| nth_in_turn(&ranges, index))
            .map(|address| address.to_string())
            .collect();
        let expected =
            ["10.0.0.9", "10.0.1.0", "10.0.1.1", "10.0.1.2", "::1", "10.0.0.9", "10.0.1.0"];
        assert_eq!(texts, expected);
        assert_eq!(nth_in_turn(&[], 3), None);
        let whole = ["::/0"].map(|text| text.parse().expect(text));
        assert_eq!(nth_in_turn(&whole, 5).map(|address| address.to_string()), Some("::5".into()));
    }
}
