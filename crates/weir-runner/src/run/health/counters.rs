//! The kernel's counters at one instant, and the differences between two. A counter that a kernel
//! does not provide is `None`, never zero.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use weir_result::{ClientHealth, ServerCpu};

use super::cgroup;
use super::parse::{self, CpuTicks};
use super::server::{Server, ThreadTimes};

/// The sources of all counters, found once so that a reading is fast.
#[derive(Debug)]
pub(super) struct Sources {
    cpus: Vec<u32>,
    /// The `cpu.stat` of the control groups.
    cpu_stats: Vec<PathBuf>,
    interfaces: Vec<Interface>,
    idle_states: Vec<IdleState>,
    /// The server on this machine; empty if it is elsewhere or unknown.
    server: Server,
}

/// A network interface with a known speed. Loopback has none.
#[derive(Debug)]
struct Interface {
    directory: PathBuf,
    bytes_per_s: f64,
}

/// An idle state of a usable CPU.
#[derive(Debug)]
struct IdleState {
    directory: PathBuf,
    exit_ns: u64,
}

impl Sources {
    /// Finds the sources on this machine.
    pub(super) fn find(server: Server) -> Sources {
        let cpus = weir_sys::usable_cpus().unwrap_or_default();
        let interfaces = entries(Path::new("/sys/class/net")).filter_map(|directory| {
            // In Mbit/s; −1 or an error for an interface without a speed.
            let speed = number(&directory.join("speed"))?;
            (speed > 0).then_some(Interface { directory, bytes_per_s: speed as f64 * 125e3 })
        });
        let idle_states = cpus.iter().flat_map(|cpu| {
            entries(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")))
        });
        let idle_states = idle_states.filter_map(|directory| {
            let exit_us = number(&directory.join("latency"))?;
            Some(IdleState { directory, exit_ns: exit_us.saturating_mul(1000) })
        });
        Sources {
            cpu_stats: cgroup::cpu_stat_files(),
            interfaces: interfaces.collect(),
            idle_states: idle_states.collect(),
            cpus,
            server,
        }
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// One reading of all counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    cpu: Option<CpuTicks>,
    /// Throttled time in nanoseconds, by control group.
    throttled_ns: BTreeMap<PathBuf, u64>,
    pressure_us: Option<u64>,
    retransmitted_segments: Option<u64>,
    tcp_timeouts: Option<u64>,
    listen_overflows: Option<u64>,
    softnet: Option<(u64, u64)>,
    /// Bytes received and sent, and the speed in bytes per second, by interface.
    carried: BTreeMap<PathBuf, (u64, u64, f64)>,
    /// Times entered, and the exit latency in nanoseconds, by idle state.
    entered: BTreeMap<PathBuf, (u64, u64)>,
    /// CPU time of the server's threads.
    server: Option<ThreadTimes>,
}

impl Counters {
    /// Reads all counters.
    pub(super) fn read(sources: &Sources) -> Counters {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (snmp, netstat) = (text("/proc/net/snmp"), text("/proc/net/netstat"));
        let throttled = sources.cpu_stats.iter().filter_map(|file| {
            let ns = parse::throttled_ns(&fs::read_to_string(file).ok()?)?;
            Some((file.clone(), ns))
        });
        let carried =
            sources.interfaces.iter().filter_map(|Interface { directory, bytes_per_s }| {
                let bytes = |name| number(&directory.join("statistics").join(name));
                Some((directory.clone(), (bytes("rx_bytes")?, bytes("tx_bytes")?, *bytes_per_s)))
            });
        let entered = sources.idle_states.iter().filter_map(|IdleState { directory, exit_ns }| {
            Some((directory.clone(), (number(&directory.join("usage"))?, *exit_ns)))
        });
        Counters {
            cpu: parse::cpu_ticks(&text("/proc/stat"), &sources.cpus),
            throttled_ns: throttled.collect(),
            pressure_us: parse::pressure_us(&text("/proc/pressure/cpu")),
            retransmitted_segments: parse::named(&snmp, "Tcp", "RetransSegs"),
            tcp_timeouts: parse::named(&netstat, "TcpExt", "TCPTimeouts"),
            listen_overflows: parse::named(&netstat, "TcpExt", "ListenOverflows"),
            softnet: parse::softnet(&text("/proc/net/softnet_stat")),
            carried: carried.collect(),
            entered: entered.collect(),
            server: sources.server.thread_times(),
        }
    }

    /// CPU time of the server's threads since `earlier`.
    pub(super) fn server_since(
        &self,
        earlier: &Counters,
        sources: &Sources,
        span_ns: u64,
    ) -> Option<ServerCpu> {
        sources.server.usage(earlier.server.as_ref(), self.server.as_ref(), span_ns)
    }

    /// The differences from `earlier`, which was read `span_ns` nanoseconds before.
    pub(super) fn since(&self, earlier: &Counters, span_ns: u64) -> ClientHealth {
        let counted = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let span_us = span_ns as f64 / 1e3;
        let pressure_us = counted(self.pressure_us, earlier.pressure_us);
        let dropped = |counters: &Counters| counters.softnet.map(|softnet| softnet.0);
        let squeezed = |counters: &Counters| counters.softnet.map(|softnet| softnet.1);
        ClientHealth {
            watched_ns: span_ns,
            steal: self.steal_since(earlier),
            throttled_ns: self.throttled_since(earlier),
            cpu_pressure: pressure_us.map(|us| (us as f64 / span_us.max(1.0)).min(1.0)),
            retransmitted_segments: counted(
                self.retransmitted_segments,
                earlier.retransmitted_segments,
            ),
            tcp_timeouts: counted(self.tcp_timeouts, earlier.tcp_timeouts),
            listen_overflows: counted(self.listen_overflows, earlier.listen_overflows),
            softnet_dropped: counted(dropped(self), dropped(earlier)),
            softnet_squeezed: counted(squeezed(self), squeezed(earlier)),
            interface_use: self.interface_use_since(earlier, span_ns),
            idle_exit_ns: self.idle_exit_since(earlier),
            ..ClientHealth::default()
        }
    }

    fn steal_since(&self, earlier: &Counters) -> Option<f64> {
        let (now, then) = (self.cpu?, earlier.cpu?);
        let total = now.total.saturating_sub(then.total);
        let stolen = now.stolen.saturating_sub(then.stolen);
        (total > 0).then(|| (stolen as f64 / total as f64).min(1.0))
    }

    /// Throttled time of the most throttled control group, in nanoseconds.
    fn throttled_since(&self, earlier: &Counters) -> Option<u64> {
        let spans = self
            .throttled_ns
            .iter()
            .filter_map(|(group, now)| Some(now.saturating_sub(*earlier.throttled_ns.get(group)?)));
        spans.max()
    }

    /// Utilisation of the busiest interface in its busier direction, as a share of 1.
    fn interface_use_since(&self, earlier: &Counters, span_ns: u64) -> Option<f64> {
        let uses = self.carried.iter().filter_map(|(name, (received, sent, bytes_per_s))| {
            let (received_before, sent_before, _) = earlier.carried.get(name)?;
            let received = received.saturating_sub(*received_before);
            let sent = sent.saturating_sub(*sent_before);
            let room = bytes_per_s * (span_ns as f64 / 1e9);
            (room > 0.0).then(|| (received.max(sent) as f64 / room).min(1.0))
        });
        uses.max_by(f64::total_cmp)
    }

    fn idle_exit_since(&self, earlier: &Counters) -> Option<u64> {
        let entered = self.entered.iter().filter(|(state, (times, _))| {
            earlier.entered.get(*state).is_some_and(|(before, _)| times > before)
        });
        // CPUs with idle states that entered none had no exit latency.
        let deepest = entered.map(|(_, (_, exit_ns))| *exit_ns).max();
        deepest.or((!self.entered.is_empty()).then_some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_counters_are_none() {
        let expected = ClientHealth { watched_ns: 1000, ..ClientHealth::default() };
        assert_eq!(Counters::default().since(&Counters::default(), 1000), expected);
        let before = Counters { pressure_us: Some(1), ..Counters::default() };
        assert_eq!(Counters::default().since(&before, 1000), expected);
    }

    #[test]
    fn what_was_counted_in_between() {
        let name = |text: &str| PathBuf::from(text);
        let before = Counters {
            cpu: Some(CpuTicks { total: 1000, stolen: 10 }),
            throttled_ns: [(name("a"), 5), (name("b"), 100), (name("gone"), 1)].into(),
            pressure_us: Some(100),
            retransmitted_segments: Some(7),
            tcp_timeouts: Some(3),
            listen_overflows: Some(0),
            softnet: Some((2, 20)),
            carried: [(name("slow"), (0, 0, 1e6)), (name("fast"), (0, 0, 1e9))].into(),
            entered: [(name("c1"), (5, 2_000)), (name("c6"), (9, 80_000))].into(),
            server: None,
        };
        let after = Counters {
            cpu: Some(CpuTicks { total: 1400, stolen: 30 }),
            throttled_ns: [(name("a"), 50), (name("b"), 120), (name("new"), 9000)].into(),
            pressure_us: Some(500_100),
            retransmitted_segments: Some(9),
            tcp_timeouts: Some(3),
            listen_overflows: Some(1),
            softnet: Some((2, 24)),
            carried: [(name("slow"), (400_000, 1_500_000, 1e6)), (name("fast"), (9, 9, 1e9))]
                .into(),
            entered: [(name("c1"), (6, 2_000)), (name("c6"), (9, 80_000))].into(),
            server: None,
        };
        let expected = ClientHealth {
            watched_ns: 2_000_000_000,
            steal: Some(0.05),
            throttled_ns: Some(45),
            cpu_pressure: Some(0.25),
            retransmitted_segments: Some(2),
            tcp_timeouts: Some(0),
            listen_overflows: Some(1),
            softnet_dropped: Some(0),
            softnet_squeezed: Some(4),
            interface_use: Some(0.75),
            idle_exit_ns: Some(2_000),
            ..ClientHealth::default()
        };
        assert_eq!(after.since(&before, 2_000_000_000), expected);
        let idle = after.since(&after, 2_000_000_000);
        assert_eq!((idle.steal, idle.idle_exit_ns), (None, Some(0)));
    }

    #[test]
    fn every_linux_has_the_basic_counters() {
        let sources = Sources::find(Server::default());
        let before = Counters::read(&sources);
        let health = Counters::read(&sources).since(&before, 1_000_000);
        assert!(before.cpu.is_some() && health.retransmitted_segments.is_some(), "{health:?}");
        assert!(health.softnet_dropped.is_some(), "{health:?}");
    }
}
