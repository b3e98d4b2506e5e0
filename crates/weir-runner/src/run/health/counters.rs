//! The kernel's counters at one instant, and the differences between two. A counter that a kernel
//! does not provide is `None`, never zero.

use std::collections::BTreeMap;
use weir_machine::{
    CpuTicks, Group, PressureStall, Root, Softnet, groups, named, sys, throttled_ns,
};
use weir_result::ClientHealth;

use super::server::{ServerProcesses, ThreadTimes};

/// The sources of all counters, found once so that a reading is fast.
#[derive(Debug)]
pub(super) struct CounterSources {
    root: Root,
    cpus: Vec<u32>,
    /// The control groups up to the root: any of them may have the quota that limits.
    groups: Vec<Group>,
    /// Network interfaces by their directories, with their speeds in bytes per second. Loopback has
    /// no speed.
    interfaces: Vec<(String, f64)>,
    /// Idle states of the CPUs by their directories, with their exit latencies in nanoseconds.
    idle_states: Vec<(String, u64)>,
    /// The server on this machine; empty if it is elsewhere or unknown.
    pub(super) server: ServerProcesses,
}

impl CounterSources {
    /// Finds the sources on this machine.
    pub(super) fn find(server: ServerProcesses) -> CounterSources {
        const INTERFACES: &str = "sys/class/net";
        let root = Root::machine();
        let cpus = sys::usable_cpus().unwrap_or_default();
        let interfaces = root.names(INTERFACES).into_iter().filter_map(|name| {
            let directory = format!("{INTERFACES}/{name}");
            // In Mbit/s; −1 or an error for an interface without a speed.
            let speed = root.number(&format!("{directory}/speed")).ok()?;
            (speed > 0).then_some((directory, speed as f64 * 125e3))
        });
        let idle_states = cpus.iter().flat_map(|cpu| {
            let states = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
            root.names(&states).into_iter().map(move |state| format!("{states}/{state}"))
        });
        let idle_states = idle_states.filter_map(|directory| {
            let exit_us = root.number(&format!("{directory}/latency")).ok()?;
            Some((directory, exit_us.saturating_mul(1000)))
        });
        CounterSources {
            groups: groups(&root),
            interfaces: interfaces.collect(),
            idle_states: idle_states.collect(),
            cpus,
            server,
            root,
        }
    }
}

/// One reading of all counters.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineCounters {
    cpu: Option<CpuTicks>,
    /// Throttled time in nanoseconds, by control group.
    throttled_ns: BTreeMap<String, u64>,
    pressure_us: Option<u64>,
    retransmitted_segments: Option<u64>,
    tcp_timeouts: Option<u64>,
    listen_overflows: Option<u64>,
    softnet: Option<Softnet>,
    /// Bytes received and sent, and the speed in bytes per second, by interface.
    carried: BTreeMap<String, (u64, u64, f64)>,
    /// Times entered, and the exit latency in nanoseconds, by idle state.
    entered: BTreeMap<String, (u64, u64)>,
    /// CPU time of the server's threads.
    pub(super) server: Option<ThreadTimes>,
}

impl MachineCounters {
    /// Reads all counters.
    pub(super) fn read(sources: &CounterSources) -> MachineCounters {
        let CounterSources { root, cpus, groups, interfaces, idle_states, server } = sources;
        let text = |path: &str| root.text(path).unwrap_or_default();
        let number = |directory: &str, name: &str| root.number(&format!("{directory}/{name}")).ok();
        let snmp = text("proc/net/snmp");
        let netstat = text("proc/net/netstat");
        let throttled = groups.iter().filter_map(|group| {
            let ns = throttled_ns(&root.text(&group.cpu_stat()).ok()?)?;
            Some((group.directory.clone(), ns))
        });
        let carried = interfaces.iter().filter_map(|(directory, bytes_per_s)| {
            let bytes = |name| number(directory, name);
            let received = bytes("statistics/rx_bytes")?;
            let sent = bytes("statistics/tx_bytes")?;
            Some((directory.clone(), (received, sent, *bytes_per_s)))
        });
        let entered = idle_states.iter().filter_map(|(directory, exit_ns)| {
            Some((directory.clone(), (number(directory, "usage")?, *exit_ns)))
        });
        MachineCounters {
            cpu: CpuTicks::parse(&text("proc/stat"), cpus),
            throttled_ns: throttled.collect(),
            pressure_us: PressureStall::parse(&text("proc/pressure/cpu"))
                .map(|waits| waits.total_us),
            retransmitted_segments: named(&snmp, "Tcp", "RetransSegs"),
            tcp_timeouts: named(&netstat, "TcpExt", "TCPTimeouts"),
            listen_overflows: named(&netstat, "TcpExt", "ListenOverflows"),
            softnet: Softnet::parse(&text("proc/net/softnet_stat")),
            carried: carried.collect(),
            entered: entered.collect(),
            server: server.thread_times(root),
        }
    }

    /// The differences from `earlier`, which was read `span_ns` nanoseconds before.
    pub(super) fn since(&self, earlier: &MachineCounters, span_ns: u64) -> ClientHealth {
        let counted =
            |of: fn(&MachineCounters) -> Option<u64>| Some(of(self)?.saturating_sub(of(earlier)?));
        let span_us = (span_ns as f64 / 1e3).max(1.0);
        ClientHealth {
            watched_ns: span_ns,
            steal: self.cpu.zip(earlier.cpu).and_then(|(now, then)| now.since(then).stolen_share()),
            throttled_ns: self.throttled_since(earlier),
            cpu_pressure: counted(|of| of.pressure_us).map(|us| (us as f64 / span_us).min(1.0)),
            retransmitted_segments: counted(|of| of.retransmitted_segments),
            tcp_timeouts: counted(|of| of.tcp_timeouts),
            listen_overflows: counted(|of| of.listen_overflows),
            softnet_dropped: counted(|of| Some(of.softnet?.dropped)),
            softnet_squeezed: counted(|of| Some(of.softnet?.squeezed)),
            interface_use: self.interface_use_since(earlier, span_ns),
            idle_exit_ns: self.idle_exit_since(earlier),
            ..ClientHealth::default()
        }
    }

    /// Throttled time of the most throttled control group, in nanoseconds.
    fn throttled_since(&self, earlier: &MachineCounters) -> Option<u64> {
        let earlier = &earlier.throttled_ns;
        let since = |(group, now): (&String, &u64)| Some(now.saturating_sub(*earlier.get(group)?));
        self.throttled_ns.iter().filter_map(since).max()
    }

    /// Utilisation of the busiest interface in its busier direction, as a share of 1.
    fn interface_use_since(&self, earlier: &MachineCounters, span_ns: u64) -> Option<f64> {
        let uses = self.carried.iter().filter_map(|(name, (received, sent, bytes_per_s))| {
            let (received_before, sent_before, _) = earlier.carried.get(name)?;
            let received = received.saturating_sub(*received_before);
            let sent = sent.saturating_sub(*sent_before);
            let room = bytes_per_s * (span_ns as f64 / 1e9);
            (room > 0.0).then(|| (received.max(sent) as f64 / room).min(1.0))
        });
        uses.max_by(f64::total_cmp)
    }

    fn idle_exit_since(&self, earlier: &MachineCounters) -> Option<u64> {
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
        assert_eq!(MachineCounters::default().since(&MachineCounters::default(), 1000), expected);
        let before = MachineCounters { pressure_us: Some(1), ..MachineCounters::default() };
        assert_eq!(MachineCounters::default().since(&before, 1000), expected);
    }

    #[test]
    fn what_was_counted_in_between() {
        let name = |text: &str| text.to_owned();
        let before = MachineCounters {
            cpu: Some(CpuTicks { total: 1000, idle: 0, stolen: 10 }),
            throttled_ns: [(name("a"), 5), (name("b"), 100), (name("gone"), 1)].into(),
            pressure_us: Some(100),
            retransmitted_segments: Some(7),
            tcp_timeouts: Some(3),
            listen_overflows: Some(0),
            softnet: Some(Softnet { dropped: 2, squeezed: 20 }),
            carried: [(name("slow"), (0, 0, 1e6)), (name("fast"), (0, 0, 1e9))].into(),
            entered: [(name("c1"), (5, 2_000)), (name("c6"), (9, 80_000))].into(),
            server: None,
        };
        let after = MachineCounters {
            cpu: Some(CpuTicks { total: 1400, idle: 0, stolen: 30 }),
            throttled_ns: [(name("a"), 50), (name("b"), 120), (name("new"), 9000)].into(),
            pressure_us: Some(500_100),
            retransmitted_segments: Some(9),
            tcp_timeouts: Some(3),
            listen_overflows: Some(1),
            softnet: Some(Softnet { dropped: 2, squeezed: 24 }),
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
        let sources = CounterSources::find(ServerProcesses::default());
        let before = MachineCounters::read(&sources);
        let health = MachineCounters::read(&sources).since(&before, 1_000_000);
        assert!(before.cpu.is_some() && health.retransmitted_segments.is_some(), "{health:?}");
        assert!(health.softnet_dropped.is_some(), "{health:?}");
    }
}
