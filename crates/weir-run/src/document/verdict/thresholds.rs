//! Every number that a rule compares with, and why it is that one. They are engineering choices;
//! the accuracy suite (METHOD 2) calibrates them against runs whose truth is known.

/// C1: the response time as a multiple of what it is without the client's part, at any percentile
/// printed: a twentieth is what a reader overlooks anyway.
pub(super) const CLIENT_RATIO_CAVEAT: f64 = 1.05;
/// C1: at p50 or p99 a quarter more is another result.
pub(super) const CLIENT_RATIO_INVALID: f64 = 1.25;
/// C1, C5, C7: what a wake-up and a harvest take on a machine that is well, with a margin of two.
/// Against a server that answers within 30 µs that is a large share and says nothing.
pub(super) const CLIENT_PART_CAVEAT_NS: f64 = 20_000.0;
/// C1, C5, C7: what no client that is well takes: several scheduler ticks of others, or batches of
/// a hundred answers.
pub(super) const CLIENT_PART_INVALID_NS: f64 = 100_000.0;

/// C2, C3, C4: a shorter window has too few scheduler ticks to be invalid for what CPUs did.
pub(super) const SHARES_WINDOW_LEAST_S: f64 = 1.0;

/// C2: share of the window that a thread was ready and had no CPU.
pub(super) const CPU_WAIT_CAVEAT: f64 = 0.005;
/// C2: a thread that lacks its CPU so often sends late whatever it does.
pub(super) const CPU_WAIT_INVALID: f64 = 0.05;

/// C3: share of the CPUs' time that the hypervisor gave to others.
pub(super) const STEAL_CAVEAT: f64 = 0.01;
/// C3: the same as for C2, which does not see it.
pub(super) const STEAL_INVALID: f64 = 0.05;
/// C3: any throttling stops whole threads for tens of milliseconds.
pub(super) const THROTTLED_CAVEAT: f64 = 0.0;
/// C3: so much of the window is p99 throttled.
pub(super) const THROTTLED_INVALID: f64 = 0.01;
/// C3: share of the time in which anything on the machine waited for a CPU. It need not have been
/// the client, so it invalidates nothing.
pub(super) const PRESSURE_CAVEAT: f64 = 0.10;

/// C4: CPU time of the busiest thread without idle spinning, as a share of the window. Queues in
/// the client grow from here on.
pub(super) const BUSY_CAVEAT: f64 = 0.80;
/// C4: saturated: the rate is the client's.
pub(super) const BUSY_INVALID: f64 = 0.95;

/// C5: share of the connections' time in which they had nothing in flight.
pub(super) const GAP_CAVEAT: f64 = 0.05;
/// C5: with so much idle time the load is not the one that was asked for.
pub(super) const GAP_INVALID: f64 = 0.20;

/// C6: lateness at p99 that is nobody's fault.
pub(super) const LATE_CAVEAT_NS: f64 = 100_000.0;
/// C6: lateness at p99 as a share of the median service time: below, arrivals are as planned.
pub(super) const LATE_CAVEAT_SHARE: f64 = 0.05;
/// C6: a millisecond late is what tools with millisecond timers are all the time.
pub(super) const LATE_INVALID_NS: f64 = 1_000_000.0;
/// C6: lateness at p99 as a multiple of the median service time: arrivals come in heaps.
pub(super) const LATE_INVALID_SHARE: f64 = 1.0;

/// C7: the load's median as a multiple of the witness's.
pub(super) const WITNESS_CAVEAT: f64 = 1.2;
/// C7: half of the median is the client's.
pub(super) const WITNESS_INVALID: f64 = 2.0;

/// C8: losses per request, on the wire or in the kernel's queues.
pub(super) const LOSS_CAVEAT: f64 = 0.000_1;
/// C8: packets that this machine threw away, per request.
pub(super) const DROPPED_INVALID: f64 = 0.01;
/// C8: fewer than these may be anybody's on a machine that talks to others too.
pub(super) const LOSSES_LEAST: u64 = 5;
/// C8: share of the interface's speed, and of the ephemeral ports.
pub(super) const FULL_CAVEAT: f64 = 0.90;

/// C10: exit latency of an idle state as a share of the median service time.
pub(super) const IDLE_EXIT_NOTE: f64 = 0.10;
/// C11: a step of the wall clock in nanoseconds, beyond what NTP slews.
pub(super) const CLOCK_STEP_NOTE_NS: f64 = 1_000.0;

/// C13: a stretch in which the client could not act. Shorter ones are the scheduler's on a machine
/// that is busy; what they do shows in C1 and C6.
pub(super) const STOP_CAVEAT_NS: f64 = 10_000_000.0;
/// C13: somebody stopped it.
pub(super) const STOP_INVALID_NS: f64 = 100_000_000.0;
/// C13: in a long window a longer stop is lost among what is measured.
pub(super) const STOP_INVALID_SHARE: f64 = 0.01;

/// The median service time as a multiple of weir's own floor, below which weir measures itself.
pub(super) const FLOOR_CAVEAT: f64 = 10.0;

/// A1: what the index of dispersion may have beyond its plan.
pub(super) const DISPERSION_SLACK: f64 = 0.05;
/// A1: two-sided 99% of a normal distribution: what chance gives the index of a Poisson process.
pub(super) const DISPERSION_Z: f64 = 2.58;
/// A1: spans below which an index of dispersion is a guess.
pub(super) const DISPERSION_SPANS_LEAST: u64 = 20;
/// A2: share of gaps between sends that differ from their plan.
pub(super) const DISPLACED_CAVEAT: f64 = 0.05;
/// A3: most sends in a millisecond: as many as planned three times over, and five more.
pub(super) const BURST_FACTOR: f64 = 3.0;
/// A3: see [`BURST_FACTOR`].
pub(super) const BURST_MORE: f64 = 5.0;
/// A4: share by which the rate may miss the plan.
pub(super) const RATE_CAVEAT: f64 = 0.001;
/// A4: requests that may be on the other side of an edge, for each span counted.
pub(super) const RATE_EDGE: f64 = 2.0;
/// A1, A3, A4: share of requests never sent from which on nobody knows what the client would have
/// done with them.
pub(super) const NEVER_SENT_MOST: f64 = 0.001;

/// Share of requests that waited for a connection (METHOD 1.3).
pub(super) const WAITED_CAVEAT: f64 = 0.001;
/// Growth of the backlog per second, as a share of the rate (METHOD 1.7).
pub(super) const GROWTH_CAVEAT: f64 = 0.01;
/// Confidence with which the backlog must have grown.
pub(super) const GROWTH_CONFIDENCE: f64 = 0.99;
/// Two counts of the same requests may differ so much (METHOD 1.7).
pub(super) const LITTLE_CAVEAT: f64 = 0.001;
/// Beyond, requests were lost or counted twice.
pub(super) const LITTLE_INVALID: f64 = 0.01;

/// Share of the window that may be better left out (METHOD 1.12).
pub(super) const TRANSIENT_CAVEAT: f64 = 0.05;
