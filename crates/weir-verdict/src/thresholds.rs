//! Every number that a rule compares with, and the reason for it. They are engineering choices; the
//! accuracy suite (METHOD 2) calibrates them against runs with known results.

use std::ops::Range;

/// `client-overhead`: a share of a percentile that readers ignore anyway.
pub(crate) const OVERHEAD_SHARE: f64 = 0.05;
/// `client-overhead`, `idle-connections`, `probe-thread`: duration of a wake-up on a quiet machine,
/// with a margin of two. Against a server that responds within 30 µs that is a large share and has
/// no meaning.
pub(crate) const OVERHEAD_NS: f64 = 20_000.0;
/// `idle-connections`, `probe-thread`: more than a quiet client ever takes: several scheduler ticks
/// of other programs, or batches of a hundred responses.
pub(crate) const TURNAROUND_BOUND_NS: f64 = 100_000.0;

/// Gaps between messages: a stop may have lasted this much longer than the heartbeat found.
pub(crate) const BEAT_NS: u64 = 2_500_000;

/// Windows shorter than this have too few scheduler ticks for a share of CPU time to bound numbers.
pub(crate) const SHARES_WINDOW_LEAST_S: f64 = 1.0;

/// `cpu-contention`: share of the window that a thread was runnable and not running. Its effect on
/// the latencies shows in `client-overhead`.
pub(crate) const CPU_CONTENTION_FINDING: f64 = 0.05;

/// `list-reader`: share of the run that slots waited for rows of a list that were not read yet.
pub(crate) const LIST_READER_FINDING: f64 = 0.01;
pub(crate) const LIST_READER_BOUND: f64 = 0.2;

/// `cpu-steal`: share of the CPUs' time that the hypervisor gave to others.
pub(crate) const STEAL_FINDING: f64 = 0.02;
/// `cpu-quota`: throttling stops whole threads for tens of milliseconds.
pub(crate) const QUOTA_FINDING: f64 = 0.001;
/// `cpu-quota`: the share of the window that lies above p99.
pub(crate) const QUOTA_BOUND: f64 = 0.01;
/// `cpu-pressure`: share of the time in which any task on the machine waited for a CPU. It need not
/// have been the client.
pub(crate) const PRESSURE_FINDING: f64 = 0.10;

/// `client-cpu`: share of the window in which the busiest thread needed a CPU. Queues in the client
/// grow from here on.
pub(crate) const CLIENT_CPU_FINDING: f64 = 0.80;
/// `client-cpu`: the thread is saturated, so that the rate is the client's.
pub(crate) const CLIENT_CPU_BOUND: f64 = 0.95;
/// `Limit`: below this a client has CPU time left.
pub(crate) const CLIENT_CLEAN_CPU: f64 = 0.80;
/// `Limit`: a client that waited longer for a CPU has long service times by itself.
pub(crate) const CLIENT_CLEAN_CONTENTION: f64 = 0.20;

/// `idle-connections`: share of the connections' time with nothing in flight.
pub(crate) const GAP_FINDING: f64 = 0.05;
/// `idle-connections`: with this much idle time the load is not the planned one.
pub(crate) const GAP_BOUND: f64 = 0.20;

/// `late-sends`: lateness at p99 that any machine has.
pub(crate) const LATE_NS: f64 = 100_000.0;
/// `late-sends`: lateness at p99 as a share of the median service time: below, arrivals are as
/// planned.
pub(crate) const LATE_SHARE: f64 = 0.05;
/// `late-sends`: constant lateness of tools with millisecond timers.
pub(crate) const LATE_BOUND_NS: f64 = 1_000_000.0;
/// `late-sends`: lateness at p99 as a multiple of the median service time: arrivals come in bursts.
pub(crate) const LATE_BOUND_SHARE: f64 = 1.0;

/// `probe-thread`: the load's median as a multiple of the probe thread's.
pub(crate) const PROBE_THREAD_FINDING: f64 = 1.2;
/// `probe-thread`: half of the median is the client's overhead.
pub(crate) const PROBE_THREAD_BOUND: f64 = 2.0;

/// Losses per request, on the wire or in the kernel's queues.
pub(crate) const LOSS_FINDING: f64 = 0.000_1;
/// `packets-dropped`: packets that this machine dropped, per request.
pub(crate) const DROPPED_FINDING: f64 = 0.000_1;
/// Fewer losses than these may have any cause on a machine with other traffic.
pub(crate) const LOSSES_LEAST: u64 = 5;
/// `interface-use`, `ephemeral-ports`: share in use.
pub(crate) const FULL_FINDING: f64 = 0.90;

/// `idle-states`: exit latency as a share of the median service time.
pub(crate) const IDLE_EXIT_NOTE: f64 = 0.10;
/// `clock-step`: a step of the wall clock in nanoseconds, beyond what NTP slews.
pub(crate) const CLOCK_STEP_NOTE_NS: f64 = 1_000.0;

/// `client-stopped`: of the whole program, without the time for which it waited for a CPU. A timer
/// is never so late by itself.
pub(crate) const SHORT_STOP_FINDING_NS: f64 = 2_000_000.0;
/// `client-stopped`: shorter stretches of a thread are scheduling on a busy machine; their effect
/// shows in `client-overhead` and `late-sends`.
pub(crate) const STOP_FINDING_NS: f64 = 10_000_000.0;
/// `client-stopped`: no scheduler delays a thread for so long.
pub(crate) const STOP_BOUND_NS: f64 = 100_000_000.0;
/// `client-stopped`: in a long window, a longer stop has little effect on the measured numbers.
pub(crate) const STOP_BOUND_SHARE: f64 = 0.01;
/// `client-stopped`: with half of the window lost, neither the median nor the rate has a useful
/// bound.
pub(crate) const STOP_VOID_SHARE: f64 = 0.50;

/// `noise-floor`: the median service time as a multiple of weir's own floor, below which weir
/// measures itself.
pub(crate) const NOISE_FLOOR_FINDING: f64 = 10.0;

/// `send-dispersion`: excess of the index of dispersion over its plan.
pub(crate) const DISPERSION_SLACK: f64 = 0.05;
/// `send-dispersion`: two-sided 99% of a normal distribution, for the index of a Poisson process by
/// chance.
pub(crate) const DISPERSION_Z: f64 = 2.58;
/// `send-dispersion`: number of spans below which an index of dispersion is a guess.
pub(crate) const DISPERSION_SPANS_LEAST: u64 = 20;
/// `send-gaps`: share of gaps between sends that differ from their plan.
pub(crate) const DISPLACED_FINDING: f64 = 0.05;
/// `send-burst`: greatest number of sends in a millisecond: three times the planned number plus
/// five.
pub(crate) const BURST_FACTOR: f64 = 3.0;
/// `send-burst`: see [`BURST_FACTOR`].
pub(crate) const BURST_MORE: f64 = 5.0;
/// `send-rate`: share by which the rate may miss the plan.
pub(crate) const RATE_FINDING: f64 = 0.001;
/// `send-rate`: requests that may be on the other side of an edge, for each span counted.
pub(crate) const RATE_EDGE: f64 = 2.0;
/// `send-dispersion`, `send-burst`, `send-rate`: share of requests never sent beyond which the
/// counts do not represent the plan.
pub(crate) const NEVER_SENT_MOST: f64 = 0.001;

/// `delayed-ack`: share of responses; fewer move no median.
pub(crate) const DELAYED_ACK_FINDING: f64 = 0.05;
/// `delayed-ack`: service times that one causes, in nanoseconds: 40 ms, up to a tick of 4 ms, and
/// the rest of the response.
pub(crate) const DELAYED_ACK_NS: Range<u64> = 39_500_000..45_000_000;
/// `delayed-ack`: the span below, of the same length.
pub(crate) const BELOW_DELAYED_ACK_NS: Range<u64> = 34_000_000..39_500_000;
/// `delayed-ack`: the span above, of the same length.
pub(crate) const ABOVE_DELAYED_ACK_NS: Range<u64> = 45_000_000..50_500_000;
/// `delayed-ack`: multiple of the responses in both spans beside it, from which they are a peak.
pub(crate) const DELAYED_ACK_PEAK: f64 = 4.0;

/// `connection-waits`: share of requests that waited for a connection (METHOD 1.3).
pub(crate) const WAITED_FINDING: f64 = 0.001;
/// `upload-windows`: waits for the server's flow-control windows as a share of the mean service
/// time.
pub(crate) const UPLOAD_WAIT_FINDING: f64 = 0.05;
/// `growing-backlog`: growth of the backlog per second, as a share of the rate (METHOD 1.7).
pub(crate) const GROWTH_FINDING: f64 = 0.01;
/// `growing-backlog`: confidence with which the backlog must have grown.
pub(crate) const GROWTH_CONFIDENCE: f64 = 0.99;
/// `littles-law`: difference of two counts of the same requests (METHOD 1.7).
pub(crate) const LITTLE_FINDING: f64 = 0.001;
/// `littles-law`: difference beyond which requests were lost or counted twice.
pub(crate) const LITTLE_VOID: f64 = 0.01;

/// `server-count`: both counts are exact, so that one request more or less has a cause.
pub(crate) const SERVER_COUNT_FINDING: f64 = 0.0;
/// `dropped-accepts`: a dropped connection fails, or costs a client its wait for another.
pub(crate) const DROPPED_ACCEPTS_FINDING: f64 = 0.0;

/// `warmup-too-short`: share of the window that should rather be left out (METHOD 1.12).
pub(crate) const TRANSIENT_FINDING: f64 = 0.05;

/// `Target`: least share of failed requests at which it is degraded.
pub(crate) const TARGET_DEGRADED: f64 = 0.001;
/// `Target`: least share of failed requests at which it failed.
pub(crate) const TARGET_FAILED: f64 = 0.50;
/// `Load`: share of planned requests that may be missing.
pub(crate) const NEVER_SENT_SHARE: f64 = 0.000_1;

/// `Limit`: least share of the missing requests that lost time explains, if the client limits. A
/// stop of a twentieth of the window is not the cause if three quarters of the plan are missing.
pub(crate) const MISS_SHARE: f64 = 0.5;
/// `Limit`: the same in a closed loop, as a share of the window.
pub(crate) const LOST_SHARE: f64 = 0.20;
/// `Limit`: the TCP round trip as a share of the median service time, if the network limits.
pub(crate) const NETWORK_SHARE: f64 = 0.5;
/// `Limit`: the median service time as a multiple of the one-connection probe's, if the server
/// limits.
pub(crate) const SERVER_ABOVE: f64 = 2.0;
/// `Limit`: CPU time of the local server's busiest thread, as a share of the window.
pub(crate) const SERVER_BUSY: f64 = 0.95;
/// `Limit`: the same multiple, if more connections would carry more.
pub(crate) const CONNECTIONS_BELOW: f64 = 1.2;

/// `parts-apart`: share of the window in which all parts ran. The rest met a smaller load; a tenth
/// of the requests moves a p90 and everything above it.
pub(crate) const PARTS_TOGETHER_FINDING: f64 = 0.9;

/// `clock-drift`: share by which an agent's clock runs at another rate. Quartz is within 50 ppm and
/// NTP corrects up to 500; at this one a minute is 12 ms longer.
pub(crate) const CLOCK_DRIFT_FINDING: f64 = 200e-6;

/// `start-spread`: time between the begins of two agents, in nanoseconds. A wider one is seen in
/// the first slots, and clocks on one network are known better.
pub(crate) const START_SPREAD_FINDING_NS: f64 = 5e6;
