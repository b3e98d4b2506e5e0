//! Addresses to which a load may connect.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use weir_io::Endpoint;

/// Addresses to which a load may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PermittedTargets {
    /// Addresses of this machine's loopback interface, 127.0.0.0/8 and ::1, with any port.
    #[default]
    Loopback,
    /// These.
    Listed(Vec<AllowedTarget>),
    /// All addresses, and Unix sockets too.
    Any,
}

impl PermittedTargets {
    /// True if a load may connect to this host, or may do so once its name has an address.
    pub fn may_have(&self, host: &str, port: u16) -> bool {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        match (self, address) {
            (_, Ok(address)) => self.has(&Endpoint::Tcp(SocketAddr::new(address, port))),
            (PermittedTargets::Any, Err(_)) => true,
            (PermittedTargets::Loopback, Err(_)) => host == "localhost",
            (PermittedTargets::Listed(listed), Err(_)) => {
                listed.iter().any(|target| target.has_port(port))
            }
        }
    }

    /// True if a load may connect there.
    pub(crate) fn has(&self, endpoint: &Endpoint) -> bool {
        match (self, endpoint) {
            (PermittedTargets::Any, _) => true,
            (_, Endpoint::Unix(_)) => false,
            (PermittedTargets::Loopback, Endpoint::Tcp(address)) => {
                address.ip().to_canonical().is_loopback()
            }
            (PermittedTargets::Listed(listed), Endpoint::Tcp(address)) => {
                listed.iter().any(|target| target.has(*address))
            }
        }
    }
}

impl fmt::Display for PermittedTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermittedTargets::Loopback => f.write_str("loopback"),
            PermittedTargets::Any => f.write_str("any"),
            PermittedTargets::Listed(listed) => {
                let texts: Vec<String> = listed.iter().map(AllowedTarget::to_string).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

/// Addresses of a network, and their ports: `10.0.0.0/8:80,8000-8010`, `[fd00::/8]:443`. One that
/// is written as IPv4 within IPv6 (RFC 4291 §2.5.5.2) is the IPv4 address, to which the kernel
/// connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedTarget {
    /// Address of the network.
    network: IpAddr,
    /// Number of its leading bits that are those of all its addresses.
    prefix: u8,
    /// Ports, ranges of them; none for all.
    ports: Vec<RangeInclusive<u16>>,
}

impl AllowedTarget {
    /// The network and the number of its leading bits.
    pub fn network(&self) -> (IpAddr, u8) {
        (self.network, self.prefix)
    }

    /// Its ranges of ports; none for all ports.
    pub fn ports(&self) -> &[RangeInclusive<u16>] {
        &self.ports
    }

    fn has(&self, address: SocketAddr) -> bool {
        let network = masked(address.ip().to_canonical(), self.prefix);
        network == Some(self.network) && self.has_port(address.port())
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|range| range.contains(&port))
    }
}

/// Returns the address with all but its leading bits 0; none if it has fewer bits.
fn masked(address: IpAddr, prefix: u8) -> Option<IpAddr> {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
            Some(IpAddr::V4((address.to_bits() & mask).into()))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(prefix)?).unwrap_or(0);
            Some(IpAddr::V6((address.to_bits() & mask).into()))
        }
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllowedTarget { network, prefix, ports } = self;
        match (network, ports.is_empty()) {
            (IpAddr::V6(_), false) => write!(f, "[{network}/{prefix}]")?,
            _ => write!(f, "{network}/{prefix}")?,
        }
        for (number, range) in ports.iter().enumerate() {
            f.write_str(if number == 0 { ":" } else { "," })?;
            match range.start() == range.end() {
                true => write!(f, "{}", range.start())?,
                false => write!(f, "{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

impl FromStr for AllowedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowedTarget, String> {
        let (network, ports) = match text.strip_prefix('[') {
            Some(rest) => {
                let (network, rest) = rest.split_once(']').ok_or("a ] is missing")?;
                match rest.strip_prefix(':') {
                    Some(ports) => (network, Some(ports)),
                    None if rest.is_empty() => (network, None),
                    None => return Err("ports follow a colon: [fd00::/8]:443".to_owned()),
                }
            }
            // IPv6 with ports has brackets.
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(at, ports)| (at, Some(ports))),
        };
        let (address, prefix) = match network.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (network, None),
        };
        let address: IpAddr = address.parse().map_err(|_| {
            "give addresses, not names: 10.0.0.5, 10.0.0.0/8:443, [fd00::/8]:443 or any".to_owned()
        })?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), |text| text.parse().map_err(|_| text));
        let prefix = prefix.map_err(|text| format!("/{text} is no number of bits"))?;
        let network = masked(address, prefix)
            .ok_or_else(|| format!("/{prefix} is more than the {bits} bits of an address"))?;
        if network != address {
            return Err(format!(
                "{address} has bits behind the first {prefix}: {network}/{prefix}"
            ));
        }
        let ports = ports.map_or(Ok(Vec::new()), |ports| ports.split(',').map(range).collect())?;
        Ok(AllowedTarget { network, prefix, ports })
    }
}

/// Reads a port or a range of ports.
fn range(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err(format!("{text} is no port, nor two with a - between them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_printed() {
        for (text, printed) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("10.1.2.3:80,8000-8010", "10.1.2.3/32:80,8000-8010"),
            ("0.0.0.0/0:443", "0.0.0.0/0:443"),
            ("[fd00::/8]:443", "[fd00::/8]:443"),
            ("[::1]", "::1/128"),
            ("fd00::/8", "fd00::/8"),
        ] {
            let target: AllowedTarget = text.parse().expect(text);
            assert_eq!(target.to_string(), printed);
            assert_eq!(printed.parse(), Ok(target));
        }
        for (text, part) in [
            ("example.org:443", "not names"),
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.0.0.0/33", "32 bits"),
            ("10.0.0.0/x", "no number of bits"),
            ("10.0.0.0/8:", "no port"),
            ("10.0.0.0/8:0", "no port"),
            ("10.0.0.0/8:90-80", "no port"),
            ("[fd00::/8", "] is missing"),
            ("[fd00::/8]443", "follow a colon"),
            ("", "not names"),
        ] {
            let error = text.parse::<AllowedTarget>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_are_compared_bit_by_bit() {
        let targets = |text: &str| PermittedTargets::Listed(vec![text.parse().expect(text)]);
        let at = |text: &str| Endpoint::Tcp(text.parse().expect(text));
        for (allowed, address, is_in) in [
            ("10.0.0.0/8:443", "10.255.0.1:443", true),
            ("10.0.0.0/8:443", "10.255.0.1:80", false),
            ("10.0.0.0/8:443", "11.0.0.1:443", false),
            ("10.0.0.0/8:443", "[::ffff:10.0.0.1]:443", true),
            ("::/0", "10.0.0.1:80", false),
            ("::/0", "[::ffff:10.0.0.1]:80", false),
            ("0.0.0.0/0", "169.254.169.254:80", true),
            ("192.168.1.128/25", "192.168.1.127:1", false),
            ("[fd00::/8]:80-90", "[fdff::1]:85", true),
            ("[fd00::/8]:80-90", "[fe00::1]:85", false),
        ] {
            assert_eq!(targets(allowed).has(&at(address)), is_in, "{allowed} {address}");
        }
    }

    #[test]
    fn loopback_is_permitted_by_default_and_nothing_else() {
        let own = PermittedTargets::default();
        for (address, is_in) in [
            ("127.0.0.1:80", true),
            ("127.9.9.9:1", true),
            ("[::1]:443", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:80", false),
            ("10.0.0.1:80", false),
            ("[fe80::1]:80", false),
        ] {
            assert_eq!(
                own.has(&Endpoint::Tcp(address.parse().expect(address))),
                is_in,
                "{address}"
            );
        }
        let socket = Endpoint::Unix("/run/docker.sock".into());
        assert!(!own.has(&socket) && PermittedTargets::Any.has(&socket));
    }
}
