//! Evidence about the client: lateness of its threads, CPU time that its machine took from it, and
//! kernel time stamps of some of its requests. The verdict is derived from it (METHOD 1.9).

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Times from kernel time stamps, of the requests on stamped connections: members of M that ended
/// `ok` (METHOD 1.2). All histograms but `tx_delay` and `wire_time` have one value per such
/// request.
#[derive(Clone, Debug, Default)]
pub struct Stamped {
    /// Connections that requested time stamps from the kernel and got them enabled.
    pub connections: u32,
    /// `Te − T0`.
    pub response: Histogram,
    /// `Te − T0 − sched_lag`.
    pub unlagged: Histogram,
    /// `Te − T0 − sched_lag − rx delay`: the response time without the parts that the client added.
    pub outside: Histogram,
    /// `Te − Ke`: time that the response spent in the client's socket buffer.
    pub rx_delay: Histogram,
    /// `Kx − Ts`, if the kernel stamped the send of the request.
    pub tx_delay: Histogram,
    /// `Ke − Kx`, if the kernel stamped both.
    pub wire_time: Histogram,
    /// Requests whose receive stamp is missing, or lies before `Ts` or after `Te`: after a clock
    /// step, or on a kernel that does not stamp. They are in no histogram here.
    pub missed: u64,
}

impl Stamped {
    pub(crate) fn add(&mut self, other: &Stamped) {
        self.connections = self.connections.saturating_add(other.connections);
        self.response.add(&other.response);
        self.unlagged.add(&other.unlagged);
        self.outside.add(&other.outside);
        self.rx_delay.add(&other.rx_delay);
        self.tx_delay.add(&other.tx_delay);
        self.wire_time.add(&other.wire_time);
        self.missed += other.missed;
    }
}

/// Sends per millisecond of some spans of an open loop's window, as the client alone would have
/// made them. Each is counted at `T0 + sched_lag`, so that waiting for a busy connection, which the
/// server causes, has no effect (METHOD 1.9, `send-dispersion` and `send-burst`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// Spans, in milliseconds from t0: the start of each and its number of bins in `sent`. Spans
    /// are in order, disjoint, and the same for all workers.
    pub spans: Vec<DepartureSpan>,
    /// Sends per bin of 1 ms, one span after the other.
    pub sent: Vec<u32>,
    /// Planned sends per bin: counted at `T0`.
    pub planned: Vec<u32>,
    /// Gaps between sends of one worker that differ from their plan by more than 5% of the mean gap
    /// and by more than 50 µs (`send-gaps`).
    pub displaced: u64,
    /// Gaps compared for `displaced`.
    pub gaps: u64,
}

/// A span of the window with counts in [`Departures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepartureSpan {
    /// Start of the span, in milliseconds from t0.
    pub start_ms: u64,
    /// Number of bins of 1 ms.
    pub bins: u32,
}

impl Departures {
    /// Adds another worker's counts. Workers have the same spans; one without any adds none.
    pub(crate) fn add(&mut self, other: &Departures) {
        if self.spans.is_empty() {
            *self = Departures { displaced: self.displaced, gaps: self.gaps, ..other.clone() };
        } else if self.spans == other.spans {
            add_bins(&mut self.sent, &other.sent);
            add_bins(&mut self.planned, &other.planned);
        }
        self.displaced += other.displaced;
        self.gaps += other.gaps;
    }
}

fn add_bins(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = mine.saturating_add(*theirs);
    }
}

/// Little's law, counted twice (METHOD 1.7). One count is the number of requests on the wire,
/// integrated over the window as it changes. The other is the time that each request spent there,
/// summed as requests end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// `∫ N dt` over the window, with N the requests on the wire, in nanoseconds.
    pub integral_ns: u128,
    /// `Σ |[Ts, Te) ∩ window|` over all requests, in nanoseconds.
    pub sum_ns: u128,
}

impl Occupancy {
    pub(crate) fn add(&mut self, other: &Occupancy) {
        self.integral_ns += other.integral_ns;
        self.sum_ns += other.sum_ns;
    }
}

/// Handshakes made inside the window beside the load, to measure the network's queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Handshakes that succeeded.
    pub connects: u64,
    /// Median round trip of these handshakes, in nanoseconds; `None` without any.
    pub rtt_ns: Option<u64>,
}

/// CPU time of the processes that hold the server's listening socket, between t0 and t1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerCpu {
    /// Number of processes, as far as this user may see them.
    pub processes: u32,
    /// CPU time of their busiest thread, as a share of the window, 0 to 1.
    pub busiest_thread_share: f64,
    /// CPU time of all of their threads, as a multiple of the window.
    pub total_share: f64,
}

/// CPU time, waiting and stalls of one worker's thread between its t0 and its t1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerUsage {
    /// Time from t0 to t1 as the worker observed them, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Of `cpu_ns`: time spent spinning without anything to do.
    pub spun_ns: u64,
    /// Time that the thread was runnable but not running (`/proc/PID/task/TID/schedstat`, second
    /// field), in nanoseconds; null if the kernel does not report it.
    pub run_delay_ns: Option<u64>,
    /// Polls for events, asleep or not, that returned some.
    #[serde(default)]
    pub wakes: u64,
    /// Events that these polls returned, mostly responses or parts of them.
    #[serde(default)]
    pub events: u64,
    /// Longest stretch in which the thread could not act, in nanoseconds: from its wake-up
    /// deadline, or its wake-up by an event, to the end of that turn of its loop.
    pub gap_max_ns: u64,
    /// Start of that stretch, in nanoseconds from t0.
    pub gap_at_ns: u64,
}

/// Health of the client's machine between t0 and t1. Fields are null if this kernel does not report
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientHealth {
    /// Time for which the machine was watched, in nanoseconds.
    pub watched_ns: u64,
    /// Share of the usable CPUs' time that the hypervisor gave to others (`/proc/stat`), 0 to 1.
    pub steal: Option<f64>,
    /// Time for which the cgroup's CPU quota throttled this program, in nanoseconds (`cpu.stat`),
    /// in the one of its cgroups that was throttled longest.
    pub throttled_ns: Option<u64>,
    /// Share of the time in which some runnable task of the machine waited for a CPU
    /// (`/proc/pressure/cpu`), 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// TCP segments retransmitted, machine-wide (`/proc/net/snmp`): of all programs, so that no
    /// rule uses them; this run's own are in `network`.
    pub retransmitted_segments: Option<u64>,
    /// TCP retransmission timeouts, machine-wide (`/proc/net/netstat`).
    pub tcp_timeouts: Option<u64>,
    /// Connections that were refused because an accept queue of this machine was full.
    pub listen_overflows: Option<u64>,
    /// Packets dropped because a CPU's input queue was full (`/proc/net/softnet_stat`).
    pub softnet_dropped: Option<u64>,
    /// Times that packet processing used up its share of time.
    pub softnet_squeezed: Option<u64>,
    /// Greatest share of the ephemeral ports, 0 to 1, that sockets to one destination held at the
    /// end, those in TIME_WAIT included. If all sockets of the machine together would hold less
    /// than a quarter, that share is given instead.
    pub ephemeral_ports: Option<f64>,
    /// Greatest share of a network interface's speed in use, 0 to 1; loopback has none.
    pub interface_use: Option<f64>,
    /// True if the server's address is one of this machine.
    pub is_server_local: Option<bool>,
    /// CPU time of a server on this machine; absent if it is elsewhere or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<ServerCpu>,
    /// Exit latency of the deepest idle state that the usable CPUs entered, in nanoseconds.
    pub idle_exit_ns: Option<u64>,
    /// Greatest change of CLOCK_REALTIME against CLOCK_MONOTONIC between two checks, in
    /// nanoseconds: a step of the wall clock, which spoils kernel time stamps.
    pub clock_step_ns: Option<u64>,
    /// Greatest lateness of a thread that only sleeps, 5 ms at a time, in nanoseconds: the whole
    /// program or the machine was stopped.
    pub heartbeat_gap_ns: Option<u64>,
    /// Start of that lateness, in nanoseconds from t0.
    pub heartbeat_gap_at_ns: Option<u64>,
}
