//! The client's own figures, from the frames of all workers: send lag, client overhead, CPU use,
//! transport errors.

use std::collections::{BTreeMap, VecDeque};

use weir_engine::WorkerFrame;
use weir_io::Nanos;
use weir_result::histogram::highest_in;
use weir_result::quantile::rank_of;
use weir_result::{ErrorKind, SparseHistogram};

use crate::observer::ClientOverhead;

/// Frames in one second.
const FRAMES: usize = 4;

/// Percentile of the figures.
const P: f64 = 99.0;

/// Least number of stamped requests for an overhead: fewer have no 99th percentile.
const STAMPED_MIN: u64 = 100;

/// Buckets that a frame's histogram may have merged into one, less one.
const MERGED: usize = 7;

/// The latest frame of one worker, and its CPU use.
#[derive(Debug, Default)]
pub(super) struct WorkerClient {
    frame: WorkerFrame,
    /// CPU time at the frames of the last second, the latest last.
    busy: VecDeque<(Nanos, u64)>,
}

impl WorkerClient {
    /// Replaces the frame.
    pub(super) fn progressed(&mut self, frame: WorkerFrame) {
        if self.busy.len() > FRAMES {
            self.busy.pop_front();
        }
        self.busy.push_back((frame.at, frame.busy_ns));
        self.frame = frame;
    }

    /// Returns the number of open connections.
    pub(super) fn open(&self) -> u64 {
        self.frame.open
    }

    /// Returns the share of a CPU that the worker has used in the last second.
    fn cpu(&self) -> Option<f64> {
        let ((from, before_ns), (until, busy_ns)) = (self.busy.front()?, self.busy.back()?);
        let span_ns = until.since(*from);
        let used_ns = busy_ns.saturating_sub(*before_ns);
        // A backend without this figure has used nothing.
        (span_ns > 0 && *busy_ns > 0).then(|| (used_ns as f64 / span_ns as f64).min(1.0))
    }
}

/// Returns the CPU use of the busiest worker.
pub(super) fn busiest(clients: &[&WorkerClient]) -> Option<f64> {
    clients.iter().filter_map(|client| client.cpu()).max_by(f64::total_cmp)
}

/// Returns the most frequent transport error.
pub(super) fn frequent_error(clients: &[&WorkerClient]) -> Option<(ErrorKind, u64)> {
    let mut errors: BTreeMap<ErrorKind, u64> = BTreeMap::new();
    for (kind, count) in clients.iter().flat_map(|client| &client.frame.errors) {
        *errors.entry(*kind).or_default() += count;
    }
    errors.into_iter().max_by_key(|(_, count)| *count)
}

/// Returns the client overhead of the 99th percentile, all but the waits over the stamped requests
/// (METHOD 1.9).
pub(super) fn overhead(clients: &[&WorkerClient]) -> Option<ClientOverhead> {
    let sum = |part: fn(&WorkerFrame) -> &SparseHistogram| {
        sum(clients.iter().map(|client| part(&client.frame)))
    };
    let (all, outside) = (sum(|frame| &frame.stamped), sum(|frame| &frame.stamped_outside));
    let (of_ns, outside_ns) = (all.percentile(P)?, outside.percentile(P)?);
    let (sent, waits) = (sum(|frame| &frame.send_lag), sum(|frame| &frame.connection_wait));
    // Requests that did not wait are in no bucket, and have the lowest ranks.
    let unwaited = sent.count().saturating_sub(waits.count());
    let rank = rank_of(P, unwaited + waits.count()).checked_sub(unwaited).filter(|rank| *rank > 0);
    let waited_ns = rank.and_then(|rank| waits.value_at_rank(rank)).unwrap_or(0);
    let lag_max_ns = clients.iter().map(|client| client.frame.sched_lag_max_ns).max();
    let waited_ns = waited_ns.min(lag_max_ns.unwrap_or(0));
    let ns = of_ns.saturating_sub(outside_ns).saturating_add(waited_ns).min(of_ns);
    (all.count() >= STAMPED_MIN).then_some(ClientOverhead { ns, of_ns })
}

/// Send lags of all measured requests, at the frames of the last second, the latest last.
#[derive(Debug, Default)]
pub(super) struct SendLag(VecDeque<SparseHistogram>);

impl SendLag {
    /// Adds the send lags as they are now.
    pub(super) fn add(&mut self, clients: &[&WorkerClient]) {
        if self.0.len() > FRAMES {
            self.0.pop_front();
        }
        self.0.push_back(sum(clients.iter().map(|client| &client.frame.send_lag)));
    }

    /// Returns the 99th percentile.
    pub(super) fn p99_ns(&self) -> Option<u64> {
        self.0.back()?.percentile(P)
    }

    /// Returns the 99th percentile of the last second. It is coarser than that of all requests.
    pub(super) fn recent_p99_ns(&self) -> Option<u64> {
        let (before, now) = (self.0.front()?, self.0.back()?);
        // The highest bucket stands for those merged into it, so the ends of both are compared.
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for (bucket, count) in now.buckets() {
            *counts.entry(bucket | MERGED).or_default() += count;
        }
        for (bucket, count) in before.buckets() {
            let entry = counts.entry(bucket | MERGED).or_default();
            *entry = entry.saturating_sub(count);
        }
        // The rank of the percentile, counted from the greatest value.
        let recent = counts.values().sum::<u64>();
        let mut left = (recent as f64 * (1.0 - P / 100.0)) as u64;
        let found = counts.into_iter().rev().find(|(_, count)| {
            let is_within = left < *count;
            left = left.saturating_sub(*count);
            is_within
        });
        found.map(|(bucket, _)| highest_in(bucket).min(now.exact().max_ns))
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a SparseHistogram>) -> SparseHistogram {
    let mut sum = SparseHistogram::default();
    parts.for_each(|part| sum.add(part));
    sum
}

#[cfg(test)]
mod tests {
    use weir_result::Tally;

    use super::*;

    /// Returns values as a frame has them.
    fn coarse(values: &[(u64, u32)]) -> SparseHistogram {
        let mut tally = Tally::new();
        values.iter().for_each(|(ns, times)| tally.record_times(*ns, *times));
        tally.sparse(3)
    }

    fn client(frame: WorkerFrame) -> WorkerClient {
        WorkerClient { frame, ..WorkerClient::default() }
    }

    #[test]
    fn the_send_lag_of_the_last_second_forgets_what_was_before() {
        let mut lag = SendLag::default();
        assert_eq!((lag.recent_p99_ns(), lag.p99_ns()), (None, None));
        let at = |slow: u32, fast: u32| {
            let send_lag = coarse(&[(100_000, slow), (1_000, fast)]);
            client(WorkerFrame { send_lag, ..WorkerFrame::default() })
        };
        lag.add(&[&at(0, 100), &at(10, 90)]);
        assert_eq!(lag.recent_p99_ns(), None, "nothing was sent since");
        for frame in 1..=5 {
            lag.add(&[&at(0, 100 + frame * 100), &at(10, 90)]);
        }
        // The frame before the last four was the first one after the slow requests.
        assert_eq!(lag.recent_p99_ns(), Some(1_007));
        let all = lag.p99_ns().expect("700 values");
        assert!((100_000..100_900).contains(&all), "{all}");
        for frame in 1..=5 {
            lag.add(&[&at(0, 600), &at(10 + frame, 90)]);
        }
        let recent = lag.recent_p99_ns().expect("5 values");
        assert!((100_000..100_900).contains(&recent), "{recent}");
    }

    #[test]
    fn the_overhead_is_that_of_the_stamped_requests() {
        let frame = |times: u32| WorkerFrame {
            stamped: coarse(&[(130_000, times)]),
            stamped_outside: coarse(&[(100_000, times)]),
            ..WorkerFrame::default()
        };
        let few = [client(frame(9)), client(frame(90))];
        assert_eq!(overhead(&[&few[0], &few[1]]), None);
        let enough = client(frame(100));
        let overhead = overhead(&[&enough, &few[0]]).expect("109 requests");
        assert_eq!((overhead.ns, overhead.of_ns), (30_000, 130_000));
        // One request in ten waited for a connection, for 50 µs, because of the client.
        let late = client(WorkerFrame {
            send_lag: coarse(&[(50_000, 10), (0, 90)]),
            connection_wait: coarse(&[(50_000, 10)]),
            sched_lag_max_ns: 20_000,
            ..frame(100)
        });
        assert_eq!(super::overhead(&[&late]).map(|overhead| overhead.ns), Some(50_000));
    }

    #[test]
    fn the_busiest_worker_counts() {
        let mut workers = [WorkerClient::default(), WorkerClient::default()];
        for quarter in 1..=8 {
            for (worker, share) in workers.iter_mut().zip([0, 3]) {
                let (at, busy_ns) = (Nanos(quarter * 1_000), quarter * 100 * share);
                worker.progressed(WorkerFrame { at, busy_ns, ..WorkerFrame::default() });
            }
        }
        assert_eq!(busiest(&[&workers[0], &workers[1]]), Some(0.3));
        assert_eq!(busiest(&[&workers[0]]), None, "a backend without the figure");
    }

    #[test]
    fn the_most_frequent_error_is_over_all_workers() {
        let of = |errors: &[(ErrorKind, u64)]| {
            let errors = errors.iter().copied().collect();
            client(WorkerFrame { errors, ..WorkerFrame::default() })
        };
        let (reset, closed) = (ErrorKind::Errno(104), ErrorKind::ClosedBeforeAnswer);
        let clients = [of(&[(reset, 3), (closed, 4)]), of(&[(reset, 2)])];
        assert_eq!(frequent_error(&[&clients[0], &clients[1]]), Some((reset, 5)));
        assert_eq!(frequent_error(&[]), None);
    }
}
