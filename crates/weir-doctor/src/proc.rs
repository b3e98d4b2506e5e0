//! Parsers for the text of proc(5) files. They are pure: they open no file. A missing or malformed
//! value is `None`, never a guess.

use std::net::{IpAddr, SocketAddr};

/// Ticks of some CPUs (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// All ticks.
    pub(crate) total: u64,
    /// Of `total`: ticks without a runnable program, waits for disks included.
    pub(crate) idle: u64,
    /// Of `total`: ticks in which the hypervisor ran something else.
    pub(crate) stolen: u64,
}

impl CpuTicks {
    /// Sums the lines of `cpus` in /proc/stat.
    pub(crate) fn parse(stat: &str, cpus: &[u32]) -> Option<CpuTicks> {
        let mut sum = CpuTicks::default();
        for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
            let mut words = line.split_whitespace();
            let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if !number.is_some_and(|number| cpus.contains(&number)) {
                continue;
            }
            // Guests' time, which follows, is in user and nice already.
            let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
            let [_user, _nice, _system, idle, iowait, _irq, _softirq, steal] = ticks[..] else {
                return None;
            };
            sum.total += ticks.iter().sum::<u64>();
            sum.idle += idle + iowait;
            sum.stolen += steal;
        }
        (sum.total > 0).then_some(sum)
    }

    /// Returns the ticks since an earlier reading.
    pub(crate) fn since(self, earlier: CpuTicks) -> CpuTicks {
        CpuTicks {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

/// Flag of a kernel thread (PF_KTHREAD in the kernel's sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process and the CPU time that it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Name of its program, at most 15 bytes.
    pub(crate) name: String,
    /// CPU time of all its threads, in ticks.
    pub(crate) ticks: u64,
    /// True if it is a thread of the kernel.
    pub(crate) is_kernel: bool,
}

impl Process {
    /// Parses /proc/PID/stat (proc_pid_stat(5)). The name may have blanks and parentheses.
    pub(crate) fn parse(stat: &str) -> Option<Process> {
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        // Flags, utime and stime are the fields 9, 14 and 15; the first one here is the third.
        let fields: Vec<&str> = tail.split_whitespace().take(13).collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let is_kernel = field(9)? & KERNEL_THREAD != 0;
        Some(Process { name: name.to_owned(), ticks: field(14)? + field(15)?, is_kernel })
    }
}

/// Turns of a thread on a CPU, from its begin to its end or to a preemption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slices {
    /// Time on a CPU, in nanoseconds.
    pub(crate) run_ns: u64,
    /// Number of turns that have begun.
    pub(crate) count: u64,
}

impl Slices {
    /// Parses /proc/PID/task/TID/schedstat: time on a CPU, time in the run queue, time slices.
    pub(crate) fn parse(schedstat: &str) -> Option<Slices> {
        let mut words = schedstat.split_whitespace().map(str::parse);
        let (run, _waited, count) = (words.next()?, words.next()?, words.next()?);
        Some(Slices { run_ns: run.ok()?, count: count.ok()? })
    }

    /// Returns the turns since an earlier reading.
    pub(crate) fn since(self, earlier: Slices) -> Slices {
        Slices {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            count: self.count.saturating_sub(earlier.count),
        }
    }

    /// Returns the mean length of a turn. One that began before the span counts as one of it.
    pub(crate) fn mean_ns(self) -> u64 {
        self.run_ns / self.count.max(1)
    }
}

/// Parses one value of /proc/net/netstat: a line of names and then one of numbers, both beginning
/// with `group:` (proc_pid_net(5)).
pub(crate) fn netstat(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// Parses the first word after `name`, and after a colon if there is one, at the beginning of a
/// line: /proc/meminfo, /proc/vmstat, /proc/PID/status, cpu.stat.
pub(crate) fn word<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.strip_prefix([' ', '\t'])?.split_whitespace().next()
    })
}

/// Parses the same as a number.
pub(crate) fn value(table: &str, name: &str) -> Option<u64> {
    word(table, name)?.parse().ok()
}

/// Parses `name VALUE` out of the line of `protocol` in /proc/net/sockstat.
pub(crate) fn sockstat(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

/// Parses `avg10` of the line `some` of a pressure file, as a share of time.
pub(crate) fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let percent = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    Some(percent.parse::<f64>().ok()? / 100.0)
}

/// Parses the lowest and the highest ephemeral port.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut words = text.split_whitespace();
    let range = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

/// Counts the ports of the range `low..=high` in a list like `8080,9148-9150`.
pub(crate) fn reserved_ports(list: &str, (low, high): (u16, u16)) -> u64 {
    let spans = list.trim().split(',').filter_map(|span| {
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        let (from, to) = (from.parse::<u16>().ok()?.max(low), to.parse::<u16>().ok()?.min(high));
        (from <= to).then(|| u64::from(to - from) + 1)
    });
    spans.sum()
}

/// Formats an address as in /proc/net/tcp and tcp6: words of 32 bits in the machine's byte order,
/// in hex, and the port.
pub(crate) fn listed_address(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| {
        let word = word.try_into().expect("chunks of four");
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}
