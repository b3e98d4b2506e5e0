//! The state of a load at one instant, as a value: frames of the parts of a run add up, and are
//! written as JSON. It holds histograms, because percentiles cannot be summed; who shows a frame
//! computes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_engine::WorkerFrame;
use weir_result::quantile::rank_of;
use weir_result::{NameTotals, SparseHistogram};

/// Percentile of the client overhead.
const P: f64 = 99.0;

/// Least number of stamped requests for an overhead: fewer have no 99th percentile.
const STAMPED_MIN: u64 = 100;

/// State of the load at one instant, over all workers. All histograms but `latency` have merged
/// buckets ([`WorkerFrame::COARSENESS`]) and count measured requests since the window began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The instant, in nanoseconds from t0, negative during the warm-up; `None` while connections
    /// are opened. Of a sum the latest one.
    pub at_ns: Option<i64>,
    /// Requests that have ended.
    pub ended: EndedRequests,
    /// Transport errors of measured requests, by the name of their kind in the document.
    pub transport_errors: BTreeMap<String, u64>,
    /// Open connections.
    pub open_connections: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Slots due and unsent.
    pub backlog: u64,
    /// Latencies of the interval in progress.
    pub latency: SparseHistogram,
    /// Messages within responses.
    #[serde(default, skip_serializing_if = "FrameMessages::is_empty")]
    pub messages: FrameMessages,
    /// Send lags and their parts.
    pub lags: SendLags,
    /// Response times of successful requests with kernel time stamps.
    pub stamped: StampedTimes,
    /// CPU use of the busiest worker in the last second, idle spinning excluded: 1 is a whole CPU.
    pub worker_cpu: Option<f64>,
    /// Totals of the names of a list that have intervals, in the plan's order, and those of all
    /// others together if there are some; empty without a list. Latencies are up to 2 s old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameTotals>,
}

impl Frame {
    /// Adds the frame of another part of the same load, of about the same instant. The order of
    /// the parts does not matter.
    pub fn add(&mut self, other: &Frame) {
        self.at_ns = self.at_ns.max(other.at_ns);
        self.ended.add(&other.ended);
        for (kind, count) in &other.transport_errors {
            *self.transport_errors.entry(kind.clone()).or_default() += count;
        }
        self.open_connections += other.open_connections;
        self.in_flight += other.in_flight;
        self.backlog += other.backlog;
        self.latency.add(&other.latency);
        self.messages.add(&other.messages);
        self.lags.add(&other.lags);
        self.stamped.add(&other.stamped);
        if self.names.len() < other.names.len() {
            self.names.resize_with(other.names.len(), NameTotals::default);
        }
        for (mine, theirs) in self.names.iter_mut().zip(&other.names) {
            mine.add(theirs);
            mine.latency.coarsen(WorkerFrame::COARSENESS);
        }
        self.worker_cpu =
            self.worker_cpu.into_iter().chain(other.worker_cpu).max_by(f64::total_cmp);
    }

    /// Returns the most frequent transport error of measured requests, and its count.
    pub fn frequent_error(&self) -> Option<(&str, u64)> {
        let most = self.transport_errors.iter().max_by_key(|(_, count)| **count);
        most.map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Returns the client's part of the 99th percentile of the response time, all but the waits
    /// over the stamped requests (METHOD 1.9). `None` without enough of them.
    pub fn client_overhead(&self) -> Option<LiveOverhead> {
        let LiveOverhead { ns, of_ns } = self.stamped.overhead(P)?;
        let ns = ns.saturating_add(self.lags.client_wait_ns(P)).min(of_ns);
        Some(LiveOverhead { ns, of_ns })
    }
}

/// Requests that have ended since the load began, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedRequests {
    /// Complete responses.
    pub completed: u64,
    /// Requests without success: bad responses, transport errors, timeouts.
    pub failed: u64,
    /// Of `failed`: responses that do not count as success; also of `completed`.
    pub bad: u64,
    /// Of `failed`: timeouts.
    pub timed_out: u64,
}

impl EndedRequests {
    /// Returns the number of those that ended in a transport error.
    pub fn transport_errors(&self) -> u64 {
        self.failed.saturating_sub(self.bad + self.timed_out)
    }

    fn add(&mut self, other: &EndedRequests) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.bad += other.bad;
        self.timed_out += other.timed_out;
    }
}

/// Messages within responses; none if they are not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameMessages {
    /// Messages received since the load began.
    pub received: u64,
    /// Times to the first message of a response.
    pub first: SparseHistogram,
    /// Times from one message of a response to the next.
    pub gap: SparseHistogram,
}

impl FrameMessages {
    fn is_empty(&self) -> bool {
        self.received == 0 && self.first.count() == 0 && self.gap.count() == 0
    }

    fn add(&mut self, other: &FrameMessages) {
        self.received += other.received;
        add_coarse(&mut self.first, &other.first);
        add_coarse(&mut self.gap, &other.gap);
    }
}

/// Send lags, and their parts: waits for connections and scheduling lags.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SendLags {
    /// Send lags; none in a closed loop.
    pub send_lag: SparseHistogram,
    /// Times that requests waited for a connection, without those that did not wait.
    pub connection_wait: SparseHistogram,
    /// Greatest scheduling lag of a request, in nanoseconds.
    pub sched_lag_max_ns: u64,
}

impl SendLags {
    fn add(&mut self, other: &SendLags) {
        add_coarse(&mut self.send_lag, &other.send_lag);
        add_coarse(&mut self.connection_wait, &other.connection_wait);
        self.sched_lag_max_ns = self.sched_lag_max_ns.max(other.sched_lag_max_ns);
    }

    /// Returns the part of a percentile of the waits for connections that the client may have
    /// caused, in nanoseconds.
    fn client_wait_ns(&self, p: f64) -> u64 {
        let waits = &self.connection_wait;
        // Requests that did not wait are in no bucket, and have the lowest ranks.
        let unwaited = self.send_lag.count().saturating_sub(waits.count());
        let rank = rank_of(p, unwaited + waits.count()).checked_sub(unwaited);
        let rank = rank.filter(|rank| *rank > 0);
        let waited_ns = rank.and_then(|rank| waits.value_at_rank(rank)).unwrap_or(0);
        waited_ns.min(self.sched_lag_max_ns)
    }
}

/// Response times of successful requests with kernel time stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StampedTimes {
    /// The response times.
    pub response: SparseHistogram,
    /// The same times without scheduling lag and rx delay, the client's share of each.
    pub outside: SparseHistogram,
}

impl StampedTimes {
    fn add(&mut self, other: &StampedTimes) {
        add_coarse(&mut self.response, &other.response);
        add_coarse(&mut self.outside, &other.outside);
    }

    /// Returns the client's share of a percentile of the response time. `None` without enough
    /// requests.
    fn overhead(&self, p: f64) -> Option<LiveOverhead> {
        let of_ns = self.response.percentile(p)?;
        let ns = of_ns.saturating_sub(self.outside.percentile(p)?);
        (self.response.count() >= STAMPED_MIN).then_some(LiveOverhead { ns, of_ns })
    }
}

/// Adds a histogram with merged buckets to another.
fn add_coarse(mine: &mut SparseHistogram, theirs: &SparseHistogram) {
    mine.add(theirs);
    mine.coarsen(WorkerFrame::COARSENESS);
}

/// Client overhead of a percentile of the response time of successful requests, estimated from
/// those with kernel time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveOverhead {
    /// Client overhead in nanoseconds: scheduling lag, rx delay, and the waits for connections that
    /// the client may have caused.
    pub ns: u64,
    /// The percentile in nanoseconds.
    pub of_ns: u64,
}

impl LiveOverhead {
    /// Returns its share of the percentile, 0 to 1.
    pub fn share(self) -> f64 {
        self.ns as f64 / self.of_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use weir_result::Tally;

    use super::*;

    /// Values in nanoseconds, each so many times, as a frame has them.
    fn coarse(values: &[(u64, u32)]) -> SparseHistogram {
        let mut tally = Tally::new();
        values.iter().for_each(|(ns, times)| tally.record_times(*ns, *times));
        tally.sparse(WorkerFrame::COARSENESS)
    }

    #[test]
    fn the_overhead_is_that_of_the_stamped_requests() {
        let frame = |times: u32| Frame {
            stamped: StampedTimes {
                response: coarse(&[(130_000, times)]),
                outside: coarse(&[(100_000, times)]),
            },
            ..Frame::default()
        };
        let sum = |mut one: Frame, other: &Frame| {
            one.add(other);
            one
        };
        assert_eq!(sum(frame(9), &frame(90)).client_overhead(), None);
        let overhead = sum(frame(100), &frame(9)).client_overhead().expect("109 requests");
        assert_eq!((overhead.ns, overhead.of_ns), (30_000, 130_000));
        // One request in ten waited for a connection, for 50 µs, because of the client.
        let late = Frame {
            lags: SendLags {
                send_lag: coarse(&[(50_000, 10), (0, 90)]),
                connection_wait: coarse(&[(50_000, 10)]),
                sched_lag_max_ns: 20_000,
            },
            ..frame(100)
        };
        assert_eq!(late.client_overhead().map(|overhead| overhead.ns), Some(50_000));
    }

    #[test]
    fn the_most_frequent_error_is_over_all_parts() {
        let of = |errors: &[(&str, u64)]| {
            let errors = errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
            Frame { transport_errors: errors.collect(), ..Frame::default() }
        };
        let mut frame = of(&[("ECONNRESET", 3), ("closed_before_answer", 4)]);
        frame.add(&of(&[("ECONNRESET", 2)]));
        assert_eq!(frame.frequent_error(), Some(("ECONNRESET", 5)));
        assert_eq!(Frame::default().frequent_error(), None);
    }
}
