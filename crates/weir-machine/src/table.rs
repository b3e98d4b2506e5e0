//! Tables of text as the kernel writes them: a name and a value in each line, or a line of names
//! above a line of values. The meaning of a name is the caller's affair.

/// Returns the first word after `name`, and after a colon if there is one, at the beginning of a
/// line: /proc/meminfo, /proc/vmstat, /proc/PID/status, cpu.stat.
pub fn word<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.strip_prefix([' ', '\t'])?.split_whitespace().next()
    })
}

/// Returns the same as a number.
pub fn value(table: &str, name: &str) -> Option<u64> {
    word(table, name)?.parse().ok()
}

/// Returns one value of /proc/net/snmp or /proc/net/netstat: a line of names and then one of
/// numbers, both beginning with `group:` (proc_pid_net(5)).
pub fn named(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let names = lines.next()?;
    let values = lines.next()?;
    let place = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_names() {
        let status = "Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t9\nCpus_allowed_list:\t0-1,3\n";
        assert_eq!(value(status, "VmRSS"), Some(1_234));
        assert_eq!(value(status, "VmSwap"), None);
        assert_eq!(value(status, "Name"), None, "no number");
        assert_eq!(word(status, "Cpus_allowed_list"), Some("0-1,3"));
        assert_eq!(value("nr_throttled 3\nnr_throttled_more 4\n", "nr_throttled"), Some(3));
        assert_eq!(value("nr_throttled_more 4\n", "nr_throttled"), None);
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
}
