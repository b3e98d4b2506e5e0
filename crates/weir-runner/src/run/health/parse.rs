//! Parsers for the text of proc(5) and sysfs(5) files. They are pure: they open no file. A missing
//! or malformed value is `None`, never a guess.

/// Ticks of some CPUs (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTicks {
    /// All ticks, including idle ones.
    pub(super) total: u64,
    /// Of `total`: ticks in which the hypervisor ran something else.
    pub(super) stolen: u64,
}

/// The sums over the lines of `cpus` in /proc/stat.
pub(super) fn cpu_ticks(stat: &str, cpus: &[u32]) -> Option<CpuTicks> {
    let mut sum = CpuTicks::default();
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if !number.is_some_and(|number| cpus.contains(&number)) {
            continue;
        }
        // user, nice, system, idle, iowait, irq, softirq, steal. Guests' time, which follows, is
        // in user and nice already.
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        let [.., stolen] = ticks[..] else { return None };
        if ticks.len() < 8 {
            return None;
        }
        sum.total += ticks.iter().sum::<u64>();
        sum.stolen += stolen;
    }
    (sum.total > 0).then_some(sum)
}

/// Time for which its quota throttled the tasks of a control group, in nanoseconds, from its
/// `cpu.stat`: `throttled_time` in version 1, `throttled_usec` in version 2 (cgroups(7)).
pub(super) fn throttled_ns(cpu_stat: &str) -> Option<u64> {
    let value = |name: &str| {
        let mut lines = cpu_stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| *key == name)?.1.trim().parse::<u64>().ok()
    };
    value("throttled_time").or_else(|| value("throttled_usec")?.checked_mul(1000))
}

/// `total` of the line `some` of a pressure file, in microseconds.
pub(super) fn pressure_us(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// One value of /proc/net/snmp or /proc/net/netstat: a line of names and then one of numbers, both
/// beginning with `group:` (proc_pid_net(5)).
pub(super) fn named(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// Packets dropped because a CPU's input queue was full, and the number of times that packet
/// processing ran out of time, summed over the lines of /proc/net/softnet_stat.
pub(super) fn softnet(stat: &str) -> Option<(u64, u64)> {
    let mut sums = (0, 0);
    for line in stat.lines() {
        let mut words = line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
        // The first column counts processed packets.
        sums.0 += words.nth(1)?.ok()?;
        sums.1 += words.next()?.ok()?;
    }
    (!stat.is_empty()).then_some(sums)
}

/// The lowest and the highest ephemeral port.
pub(super) fn port_range(ip_local_port_range: &str) -> Option<(u16, u16)> {
    let mut words = ip_local_port_range.split_whitespace();
    let range = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

/// Number of ports of the range `low..=high` in `list`, which reads like `8080,9148-9150`.
pub(super) fn reserved_ports(list: &str, (low, high): (u16, u16)) -> u64 {
    let spans = list.trim().split(',').filter_map(|span| {
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        Some((from.parse::<u16>().ok()?, to.parse::<u16>().ok()?))
    });
    let within = |(from, to): (u16, u16)| {
        let (from, to) = (u64::from(from.max(low)), u64::from(to.min(high)));
        (to + 1).saturating_sub(from)
    };
    spans.map(within).sum()
}

/// A value of one line of /proc/net/sockstat: `TCP: inuse 1 orphan 0 tw 1 alloc 1 mem 0`.
pub(super) fn sockstat(text: &str, group: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(group)?.strip_prefix(':'))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  2312559 35034 604380 1464937 6930 0 232195 11652 0 0\n\
        cpu0 1169372 19734 287796 732237 3717 0 118719 5642 0 0\n\
        cpu1 1143186 15300 316583 732700 3213 0 113475 6009 0 0\n\
        intr 82609045 0 0\nctxt 1\n";

    #[test]
    fn ticks_are_of_the_given_cpus() {
        let check = |stat, cpus: &[u32], expected: Option<(u64, u64)>| {
            let ticks = cpu_ticks(stat, cpus).map(|ticks| (ticks.total, ticks.stolen));
            assert_eq!(ticks, expected, "{cpus:?}");
        };
        check(STAT, &[0], Some((2_337_217, 5642)));
        check(STAT, &[1, 0], Some((2_337_217 + 2_330_466, 11_651)));
        check(STAT, &[7], None);
        check("cpu0 1 2 3 4\n", &[0], None);
        check("", &[0], None);
    }

    #[test]
    fn throttling_of_both_versions() {
        let v1 = "nr_periods 12\nnr_throttled 3\nthrottled_time 49123456\nnr_bursts 0\n";
        let v2 = "usage_usec 911\nuser_usec 5\nnr_periods 12\nnr_throttled 3\n\
                  throttled_usec 49123\n";
        let without_the_controller = "usage_usec 911\nuser_usec 5\nsystem_usec 6\n";
        assert_eq!(throttled_ns(v1), Some(49_123_456));
        assert_eq!(throttled_ns(v2), Some(49_123_000));
        assert_eq!(throttled_ns(without_the_controller), None);
        assert_eq!(throttled_ns("throttled_time many"), None);
    }

    #[test]
    fn pressure_is_that_of_some() {
        let text = "some avg10=3.18 avg60=2.73 avg300=1.19 total=8972379215\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure_us(text), Some(8_972_379_215));
        assert_eq!(pressure_us("full avg10=0.00 total=7"), None);
        assert_eq!(pressure_us(""), None);
    }

    #[test]
    fn values_stand_below_their_names() {
        let table = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
            Tcp: RtoAlgorithm RtoMin MaxConn RetransSegs InErrs\nTcp: 1 200 -1 70961 0\n\
            TcpExt: ListenOverflows TCPTimeouts\nTcpExt: 616 24898\n";
        assert_eq!(named(table, "Tcp", "RetransSegs"), Some(70_961));
        assert_eq!(named(table, "TcpExt", "TCPTimeouts"), Some(24_898));
        assert_eq!(named(table, "Tcp", "MaxConn"), None, "-1 is no count");
        assert_eq!(named(table, "Tcp", "TCPTimeouts"), None);
        assert_eq!(named(table, "Udp", "InErrors"), None);
        assert_eq!(named("Tcp: RetransSegs\n", "Tcp", "RetransSegs"), None);
    }

    #[test]
    fn softnet_sums_over_cpus() {
        let text = "1f7b4acc 0000d70b 00000025 00000000 00000000\n\
                    1eb721ba 00000002 00000022 00000000 00000000\n";
        assert_eq!(softnet(text), Some((0xd70d, 0x47)));
        assert_eq!(softnet(""), None);
        assert_eq!(softnet("1f7b4acc\n"), None);
    }

    #[test]
    fn ports() {
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("5 4"), None);
        assert_eq!(port_range(""), None);
        let range = (32_768, 60_999);
        assert_eq!(reserved_ports("\n", range), 0);
        assert_eq!(reserved_ports("8080,40000,50000-50009\n", range), 11);
        assert_eq!(reserved_ports("32760-32769,60999-65535", range), 3);
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
}
