//! Evidence about the client: lateness of its threads, CPU time that its machine took from it, and
//! kernel time stamps of some of its requests. The verdict is derived from it (METHOD 1.9).

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::rules;
use weir_stats::histogram::Histogram;

merged! {
    /// Times from kernel time stamps, of the requests on stamped connections: members of M that
    /// ended `ok` (METHOD 1.2). All histograms but `tx_delay` and `wire_time` have one value per
    /// such request.
    #[derive(Clone, Debug, Default)]
    pub struct Stamped {
        /// Connections that requested time stamps from the kernel and got them enabled.
        pub connections: u32 => rules::saturating,
        /// `Te − T0`.
        pub response: Histogram => rules::merge,
        /// `Te − T0 − sched_lag`.
        pub unlagged: Histogram => rules::merge,
        /// `Te − T0 − sched_lag − rx delay`: the response time without the parts that the client
        /// added.
        pub outside: Histogram => rules::merge,
        /// `Te − Ke`: time that the response spent in the client's socket buffer.
        pub rx_delay: Histogram => rules::merge,
        /// `Kx − Ts`, if the kernel stamped the send of the request.
        pub tx_delay: Histogram => rules::merge,
        /// `Ke − Kx`, if the kernel stamped both.
        pub wire_time: Histogram => rules::merge,
        /// Requests whose receive stamp is missing, or lies before `Ts` or after `Te`: after a
        /// clock step, or on a kernel that does not stamp. They are in no histogram here.
        pub missed: u64 => rules::sum,
    }
}

/// Sends per millisecond of some spans of an open loop's window, as the client alone would have
/// made them. Each is counted at `T0 + sched_lag`, so that waiting for a busy connection, which the
/// server causes, has no effect (METHOD 1.9, `send-dispersion` and `send-burst`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// Spans, in milliseconds from t0: the start of each and its number of bins in `sent`. Spans
    /// are in order and disjoint.
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

/// A part of the window that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CountedSpan"))]
pub struct DepartureSpan {
    /// Start of the part, in milliseconds from t0.
    pub start_ms: u64,
    /// Length of the part in milliseconds.
    #[serde(rename = "length_ms")]
    pub bins: u32,
}

impl Departures {
    /// Adds another worker's counts, millisecond by millisecond. Workers of one window have the
    /// same spans; where spans differ, the sum's spans are cut at every border of either, so that
    /// every bin keeps its counts whatever the order of additions.
    pub(crate) fn add(&mut self, other: &Departures) {
        if self.spans == other.spans {
            add_bins(&mut self.sent, &other.sent);
            add_bins(&mut self.planned, &other.planned);
        } else {
            let (spans, sent, planned) = union(self, other);
            (self.spans, self.sent, self.planned) = (spans, sent, planned);
        }
        self.displaced += other.displaced;
        self.gaps += other.gaps;
    }

    /// Returns the position in `sent` and `planned` of each span's first bin.
    fn positions(&self) -> Vec<usize> {
        let mut next = 0;
        let mut first = |span: &DepartureSpan| {
            next += span.bins as usize;
            next - span.bins as usize
        };
        self.spans.iter().map(&mut first).collect()
    }

    /// Returns the bins of `[from_ms, until_ms)`, which lies within one span or outside all: none
    /// outside. `positions` has the first bin of each span.
    fn bins(&self, positions: &[usize], from_ms: u64, until_ms: u64) -> Range<usize> {
        let after = self.spans.partition_point(|span| span.start_ms <= from_ms);
        let candidate = after.checked_sub(1).map(|index| (&self.spans[index], positions[index]));
        match candidate.filter(|(span, _)| from_ms < span.end_ms()) {
            Some((span, position)) => {
                let first = position + (from_ms - span.start_ms) as usize;
                first..first + (until_ms.min(span.end_ms()) - from_ms) as usize
            }
            None => 0..0,
        }
    }
}

impl DepartureSpan {
    /// Returns the end of the span, exclusive, in milliseconds from t0.
    pub(crate) fn end_ms(&self) -> u64 {
        self.start_ms.saturating_add(self.bins.into())
    }
}

/// Returns the spans of both counts, cut at every border of either, with their bins.
fn union(mine: &Departures, theirs: &Departures) -> (Vec<DepartureSpan>, Vec<u32>, Vec<u32>) {
    let all = || mine.spans.iter().chain(&theirs.spans);
    let borders: BTreeSet<u64> = all().flat_map(|span| [span.start_ms, span.end_ms()]).collect();
    let sides = [mine, theirs].map(|counts| (counts, counts.positions()));
    let mut spans = Vec::new();
    let mut sent = Vec::new();
    let mut planned = Vec::new();
    for (from_ms, until_ms) in borders.iter().zip(borders.iter().skip(1)) {
        let both = sides
            .each_ref()
            .map(|(counts, positions)| (counts, counts.bins(positions, *from_ms, *until_ms)));
        let bins = both.iter().map(|(_, bins)| bins.len()).max().unwrap_or(0);
        if bins == 0 {
            continue;
        }
        // No longer than the span that it was cut from.
        spans.push(DepartureSpan { start_ms: *from_ms, bins: bins as u32 });
        let sent_from = sent.len();
        let planned_from = planned.len();
        sent.resize(sent_from + bins, 0);
        planned.resize(planned_from + bins, 0);
        for (counts, bins) in both {
            add_bins(&mut sent[sent_from..], counts.sent.get(bins.clone()).unwrap_or(&[]));
            add_bins(&mut planned[planned_from..], counts.planned.get(bins).unwrap_or(&[]));
        }
    }
    (spans, sent, planned)
}

fn add_bins(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = mine.saturating_add(*theirs);
    }
}

merged! {
    /// Little's law, counted twice (METHOD 1.7). One count is the number of requests on the wire,
    /// integrated over the window as it changes. The other is the time that each request spent
    /// there, summed as requests end.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Occupancy {
        /// `∫ N dt` over the window, with N the requests on the wire, in nanoseconds.
        pub integral_ns: u128 => rules::sum,
        /// `Σ |[Ts, Te) ∩ window|` over all requests, in nanoseconds.
        pub sum_ns: u128 => rules::sum,
        /// `∫ N dt` over the window, with N the requests that the connections allow at once, in
        /// nanoseconds: streams, or connections that come and leave by plan; 0 if that is constant.
        pub capacity_ns: u128 => rules::sum,
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
    /// Time from S on that slots waited for their rows of a list, in nanoseconds: a connection was
    /// free, and the row was not read yet.
    #[serde(default)]
    pub list_wait_ns: u64,
    /// Longest stretch in which the thread could not act, in nanoseconds: from its wake-up
    /// deadline, or its wake-up by an event, to the end of that turn of its loop. Counts from t0 to
    /// the end of the window's last request.
    pub gap_max_ns: u64,
    /// Start of that stretch, in nanoseconds from t0.
    pub gap_at_ns: u64,
    /// Requests of an open loop's window that were sent during catch-ups: from a send more than 2
    /// ms late until nothing was overdue and no more requests were in flight than before.
    #[serde(default)]
    pub catch_up_requests: u64,
    /// Requests of an open loop's window that were sent during catch-ups after a silence: for more
    /// than 2 ms no response came while all connections were busy. If the client was not stopped
    /// then, the server was slow.
    #[serde(default)]
    pub after_silence_requests: u64,
    /// Greatest lateness of one of the catch-ups, in nanoseconds; several stops in it add up.
    #[serde(default)]
    pub catch_up_lag_ns: u64,
    /// Time before t0 at which the first late request of a catch-up was due that reached the
    /// window, in nanoseconds; 0 if there was none.
    #[serde(default)]
    pub carried_ns: u64,
}

/// Stops of the whole program that could delay requests of the window: SIGSTOP, a frozen control
/// group, a paused machine. Lengths are less up to 2.5 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stops {
    /// Number of stops.
    pub count: u32,
    /// Whole length of the longest one, in nanoseconds.
    pub longest_ns: u64,
    /// Start of the longest one, in nanoseconds from t0; negative in the warm-up.
    pub longest_at_ns: i64,
    /// Sum of the parts that could delay requests of the window, in nanoseconds: from t0, or the
    /// due time of the first late request whose catch-up reached the window, to the end of the
    /// window's last request.
    pub effective_ns: u64,
    /// Of `effective_ns`: inside the window.
    pub window_ns: u64,
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
    /// Greatest lateness, inside the window, of a thread that only sleeps, 2.5 ms at a time, in
    /// nanoseconds: the whole program or the machine was stopped, or short of CPU time.
    pub heartbeat_gap_ns: Option<u64>,
    /// Start of that lateness, in nanoseconds from t0.
    pub heartbeat_gap_at_ns: Option<u64>,
    /// Stops of the whole program; absent in documents that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stops: Option<Stops>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts whose bin of millisecond `ms` holds `each * (ms + 1)` sends, of twice as many
    /// planned.
    fn counts(spans: &[(u64, u32)], each: u32) -> Departures {
        let spans =
            spans.iter().map(|(start_ms, bins)| DepartureSpan { start_ms: *start_ms, bins: *bins });
        let spans: Vec<DepartureSpan> = spans.collect();
        let milliseconds = spans.iter().flat_map(|span| span.start_ms..span.end_ms());
        let sent: Vec<u32> = milliseconds.map(|ms| each * (ms as u32 + 1)).collect();
        let planned = sent.iter().map(|count| 2 * count).collect();
        Departures { spans, sent, planned, displaced: 1, gaps: 5 }
    }

    fn sum(parts: &[&Departures]) -> Departures {
        let mut sum = Departures::default();
        parts.iter().for_each(|part| sum.add(part));
        sum
    }

    #[test]
    fn bins_with_different_spans_add_without_loss() {
        let one = counts(&[(0, 4), (10, 2)], 1);
        let other = counts(&[(2, 3), (11, 1)], 100);
        let both = sum(&[&one, &other]);
        let spans: Vec<(u64, u32)> =
            both.spans.iter().map(|span| (span.start_ms, span.bins)).collect();
        assert_eq!(spans, [(0, 2), (2, 2), (4, 1), (10, 1), (11, 1)]);
        assert_eq!(both.sent, [1, 2, 303, 404, 500, 11, 1212]);
        assert_eq!(both.planned, [2, 4, 606, 808, 1000, 22, 2424]);
        assert_eq!((both.displaced, both.gaps), (2, 10));
    }

    #[test]
    fn the_order_of_additions_makes_no_difference() {
        let parts = [
            counts(&[(0, 10), (10, 10)], 1),
            counts(&[(0, 10), (10, 3)], 10),
            counts(&[(5, 9), (60, 2)], 100),
            counts(&[], 1),
        ];
        let [a, b, c, none] = &parts;
        let whole = sum(&[a, b, c, none]);
        assert_eq!(sum(&[c, none, b, a]), whole);
        assert_eq!(sum(&[&sum(&[c, a]), &sum(&[b, none])]), whole);
        let all = |of: fn(&Departures) -> &Vec<u32>| parts.iter().flat_map(of).sum::<u32>();
        assert_eq!(whole.sent.iter().sum::<u32>(), all(|part| &part.sent));
        assert_eq!(whole.planned.iter().sum::<u32>(), all(|part| &part.planned));
    }

    #[test]
    fn equal_spans_stay_as_they_are() {
        let one = counts(&[(0, 10), (10, 10)], 1);
        let both = sum(&[&one, &one]);
        assert_eq!(both.spans, one.spans);
        assert_eq!(both.sent, counts(&[(0, 10), (10, 10)], 2).sent);
    }
}
