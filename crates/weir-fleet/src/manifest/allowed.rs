//! The targets that agents may connect to, as rules of a network policy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde_json::{Value, json};

/// Addresses, and ports of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedTarget {
    /// All.
    Any,
    /// A block of addresses.
    Block {
        /// First address and length of the prefix.
        cidr: String,
        /// First and last port of each range; all ports if there are none.
        ports: Vec<(u16, u16)>,
    },
}

const WRONG: &str = "give any, or addresses and ports: 10.0.0.0/8:443, 10.1.2.3:80,8000-8010 or \
                     [fd00::/8]:443";

impl FromStr for AllowedTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<AllowedTarget, Self::Err> {
        if text == "any" {
            return Ok(AllowedTarget::Any);
        }
        let (block, ports) = match text.strip_prefix('[') {
            Some(rest) => {
                let (block, rest) = rest.split_once(']').ok_or(WRONG)?;
                let ports = match rest {
                    "" => None,
                    rest => Some(rest.strip_prefix(':').ok_or(WRONG)?),
                };
                (block, ports)
            }
            None if text.matches(':').count() > 1 => (text, None),
            None => match text.split_once(':') {
                Some((block, ports)) => (block, Some(ports)),
                None => (text, None),
            },
        };
        let cidr = cidr_of(block).ok_or(WRONG)?;
        let ports = ports.map_or(Some(Vec::new()), ports_of).ok_or(WRONG)?;
        Ok(AllowedTarget::Block { cidr, ports })
    }
}

impl AllowedTarget {
    /// Returns the rule of a network policy that allows connections to it.
    pub(super) fn egress(&self) -> Value {
        let AllowedTarget::Block { cidr, ports } = self else { return json!({}) };
        let mut rule = json!({ "to": [{ "ipBlock": { "cidr": cidr } }] });
        if !ports.is_empty() {
            rule["ports"] = ports.iter().map(|(first, last)| port_range(*first, *last)).collect();
        }
        rule
    }
}

fn port_range(first: u16, last: u16) -> Value {
    match first == last {
        true => json!({ "port": first, "protocol": "TCP" }),
        false => json!({ "endPort": last, "port": first, "protocol": "TCP" }),
    }
}

/// Returns a block with the host's bits cleared; an address is a block of its own.
fn cidr_of(text: &str) -> Option<String> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
        None => (text, None),
    };
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let length = length.unwrap_or(32);
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("{}/{length}", Ipv4Addr::from(u32::from(address) & mask)))
        }
        IpAddr::V6(address) => {
            let length = length.unwrap_or(128);
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("{}/{length}", Ipv6Addr::from(u128::from(address) & mask)))
        }
    }
}

fn ports_of(text: &str) -> Option<Vec<(u16, u16)>> {
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (1..=last).contains(&first).then_some((first, last))
    };
    text.split(',').map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_become_rules() {
        let rule = |text: &str| text.parse::<AllowedTarget>().expect(text).egress();
        assert_eq!(rule("any"), json!({}));
        let all_ports = json!({ "to": [{ "ipBlock": { "cidr": "10.1.2.3/32" } }] });
        assert_eq!(rule("10.1.2.3"), all_ports);
        let tcp = |port: u16| json!({ "port": port, "protocol": "TCP" });
        let block = |cidr: &str, ports: Value| {
            let to = json!([{ "ipBlock": { "cidr": cidr } }]);
            json!({ "to": to, "ports": ports })
        };
        assert_eq!(rule("10.9.0.1/8:443"), block("10.0.0.0/8", json!([tcp(443)])));
        assert_eq!(rule("[fd00::1/8]:443"), block("fd00::/8", json!([tcp(443)])));
        let range = json!({ "port": 8000, "endPort": 8010, "protocol": "TCP" });
        assert_eq!(rule("1.2.3.4:80,8000-8010"), block("1.2.3.4/32", json!([tcp(80), range])));
        assert_eq!(rule("0.0.0.0/0:1"), block("0.0.0.0/0", json!([tcp(1)])));
        assert_eq!(rule("fd00::1"), json!({ "to": [{ "ipBlock": { "cidr": "fd00::1/128" } }] }));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "host:80",
            "10.0.0.0/33",
            "10.0.0.0:",
            "10.0.0.0:0",
            "10.0.0.0:9-8",
            "[fd00::/8]443",
            "[fd00::/8",
            "10.0.0.0:80,",
            "10.0.0.0:65536",
            "::/129",
            "10.0.0/8",
        ] {
            assert!(text.parse::<AllowedTarget>().is_err(), "{text}");
        }
    }
}
