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
    /// Complete responses since the load began, warm-up included.
    pub completed: u64,
    /// Requests without success since the load began: bad responses, transport errors, timeouts.
    pub errors: u64,
    /// Of `errors`: responses that do not count as success.
    pub bad: u64,
    /// Of `errors`: timeouts.
    pub timed_out: u64,
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
    /// Messages received within responses since the load began; 0 if they are not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// Times to the first message within a response; none if messages are not measured.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub first_message: SparseHistogram,
    /// Times from one message of a response to the next.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub message_gap: SparseHistogram,
    /// Send lags; none in a closed loop.
    pub send_lag: SparseHistogram,
    /// Times that requests waited for a connection, without those that did not wait.
    pub connection_wait: SparseHistogram,
    /// Greatest scheduling lag of a measured request, in nanoseconds.
    pub sched_lag_max_ns: u64,
    /// Response times of successful requests with kernel time stamps.
    pub stamped: SparseHistogram,
    /// The same times without scheduling lag and rx delay, the client's share of each.
    pub stamped_outside: SparseHistogram,
    /// CPU use of the busiest worker in the last second, idle spinning excluded: 1 is a whole CPU.
    pub worker_cpu: Option<f64>,
    /// Totals of the names of a list that have intervals, in the plan's order, and those of all
    /// others together if there are some; empty without a list. Latencies are up to 2 s old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameTotals>,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_empty(times: &SparseHistogram) -> bool {
    times.count() == 0
}

impl Frame {
    /// Adds the frame of another part of the same load, of about the same instant. The order of
    /// the parts does not matter.
    pub fn add(&mut self, other: &Frame) {
        self.at_ns = self.at_ns.max(other.at_ns);
        self.completed += other.completed;
        self.errors += other.errors;
        self.bad += other.bad;
        self.timed_out += other.timed_out;
        for (kind, count) in &other.transport_errors {
            *self.transport_errors.entry(kind.clone()).or_default() += count;
        }
        self.open_connections += other.open_connections;
        self.in_flight += other.in_flight;
        self.backlog += other.backlog;
        self.messages += other.messages;
        self.latency.add(&other.latency);
        for (mine, theirs) in [
            (&mut self.first_message, &other.first_message),
            (&mut self.message_gap, &other.message_gap),
            (&mut self.send_lag, &other.send_lag),
            (&mut self.connection_wait, &other.connection_wait),
            (&mut self.stamped, &other.stamped),
            (&mut self.stamped_outside, &other.stamped_outside),
        ] {
            mine.add(theirs);
            mine.coarsen(WorkerFrame::COARSENESS);
        }
        if self.names.len() < other.names.len() {
            self.names.resize_with(other.names.len(), NameTotals::default);
        }
        for (mine, theirs) in self.names.iter_mut().zip(&other.names) {
            mine.add(theirs);
            mine.latency.coarsen(WorkerFrame::COARSENESS);
        }
        self.sched_lag_max_ns = self.sched_lag_max_ns.max(other.sched_lag_max_ns);
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
        let of_ns = self.stamped.percentile(P)?;
        let outside_ns = self.stamped_outside.percentile(P)?;
        let waits = &self.connection_wait;
        // Requests that did not wait are in no bucket, and have the lowest ranks.
        let unwaited = self.send_lag.count().saturating_sub(waits.count());
        let rank = rank_of(P, unwaited + waits.count()).checked_sub(unwaited);
        let rank = rank.filter(|rank| *rank > 0);
        let waited_ns = rank.and_then(|rank| waits.value_at_rank(rank)).unwrap_or(0);
        let waited_ns = waited_ns.min(self.sched_lag_max_ns);
        let ns = of_ns.saturating_sub(outside_ns).saturating_add(waited_ns).min(of_ns);
        (self.stamped.count() >= STAMPED_MIN).then_some(LiveOverhead { ns, of_ns })
    }
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
            stamped: coarse(&[(130_000, times)]),
            stamped_outside: coarse(&[(100_000, times)]),
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
            send_lag: coarse(&[(50_000, 10), (0, 90)]),
            connection_wait: coarse(&[(50_000, 10)]),
            sched_lag_max_ns: 20_000,
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
