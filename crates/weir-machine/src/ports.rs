//! Local ports that connections may come from, and the number of TCP sockets that hold some.

use std::ops::RangeInclusive;

use crate::root::{Root, Unreadable};

const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";
const RESERVED: &str = "proc/sys/net/ipv4/ip_local_reserved_ports";
const SOCKSTAT: &str = "proc/net/sockstat";

/// Ports that the kernel chooses from for new connections (ip(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EphemeralPorts {
    /// The lowest.
    pub low: u16,
    /// The highest.
    pub high: u16,
    /// Number of ports within the range that the kernel does not choose.
    pub reserved: u64,
}

impl EphemeralPorts {
    /// Reads the range, and the ports reserved in it: none if their list cannot be read.
    ///
    /// # Errors
    /// When the range cannot be read.
    pub fn read(root: &Root) -> Result<EphemeralPorts, Unreadable> {
        let range = port_range(&root.text(RANGE)?).ok_or_else(|| Unreadable::form(RANGE))?;
        let reserved = reserved_ports(&root.text(RESERVED).unwrap_or_default(), &range);
        Ok(EphemeralPorts { low: *range.start(), high: *range.end(), reserved })
    }

    /// Returns the number of ports in the range.
    pub fn in_range(self) -> u64 {
        u64::from(self.high - self.low) + 1
    }

    /// Returns the number of ports that the kernel may choose.
    pub fn usable(self) -> u64 {
        self.in_range().saturating_sub(self.reserved)
    }
}

/// Numbers of TCP sockets of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketCounts {
    /// Sockets in use, of IPv4 and IPv6.
    pub in_use: u64,
    /// Sockets in TIME_WAIT, of both.
    pub time_wait: u64,
}

impl SocketCounts {
    /// Reads /proc/net/sockstat and sockstat6.
    ///
    /// # Errors
    /// When the first of them cannot be read.
    pub fn read(root: &Root) -> Result<SocketCounts, Unreadable> {
        let sockets = root.text(SOCKSTAT)?;
        let of = |name| sockstat(&sockets, "TCP", name).ok_or_else(|| Unreadable::form(SOCKSTAT));
        let v6 = root.text("proc/net/sockstat6").unwrap_or_default();
        let in_use = of("inuse")? + sockstat(&v6, "TCP6", "inuse").unwrap_or(0);
        Ok(SocketCounts { in_use, time_wait: of("tw")? })
    }
}

/// Parses the range of ephemeral ports.
fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut words = text.split_whitespace();
    let range = words.next()?.parse().ok()?..=words.next()?.parse().ok()?;
    (!range.is_empty()).then_some(range)
}

/// Counts the ports of `range` in a list like `8080,9148-9150`.
fn reserved_ports(list: &str, range: &RangeInclusive<u16>) -> u64 {
    let spans = list.trim().split(',').filter_map(|span| {
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        let from = from.parse::<u16>().ok()?.max(*range.start());
        let to = to.parse::<u16>().ok()?.min(*range.end());
        (from <= to).then(|| u64::from(to - from) + 1)
    });
    spans.sum()
}

/// Parses `name VALUE` out of the line of `protocol` in /proc/net/sockstat.
fn sockstat(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        assert_eq!(port_range("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(port_range("5 4"), None);
        assert_eq!(port_range(""), None);
        let range = 32_768..=60_999;
        assert_eq!(reserved_ports("\n", &range), 0);
        assert_eq!(reserved_ports("8080,40000,50000-50009\n", &range), 11);
        assert_eq!(reserved_ports("32760-32769,60999-65535", &range), 3);
        let ports = EphemeralPorts { low: 32_768, high: 60_999, reserved: 3 };
        assert_eq!((ports.in_range(), ports.usable()), (28_232, 28_229));
    }

    #[test]
    fn sockets_in_use() {
        let text = "sockets: used 16\nTCP: inuse 5 orphan 0 tw 17 alloc 9 mem 0\n\
                    UDP: inuse 3 mem 0\nTCP6: inuse 2\n";
        assert_eq!(sockstat(text, "TCP", "tw"), Some(17));
        assert_eq!(sockstat(text, "TCP6", "inuse"), Some(2));
        assert_eq!(sockstat(text, "TCP6", "tw"), None);
        assert_eq!(sockstat(text, "RAW", "inuse"), None);
    }

    #[test]
    fn this_machine_has_ports_and_sockets() {
        let root = Root::machine();
        assert!(EphemeralPorts::read(&root).is_ok_and(|ports| ports.usable() > 0));
        assert!(SocketCounts::read(&root).is_ok());
    }
}
