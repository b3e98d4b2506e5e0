//! The messages of all workers during the load, summed for an observer: whole intervals, and four
//! frames per second.

mod client;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use weir_engine::{LiveMessage, WorkerFrame};
use weir_result::{Interval, Plan, SparseHistogram};

use crate::observer::{Frame, Observer};
use client::{SendLag, WorkerClient};

/// Longest time from one frame to the next. Workers send theirs every 250 ms; one of them may be
/// silent.
const LONGEST: Duration = Duration::from_millis(300);

/// Passes the messages to the observer until the run is over. A frame follows those of the workers
/// at once: they keep their CPUs for a moment then (`Backend::keep_cpu`).
pub(crate) fn follow(plan: &Plan, messages: &Receiver<LiveMessage>, observer: &mut dyn Observer) {
    let mut live = Live::default();
    let mut due = Instant::now() + LONGEST;
    loop {
        match messages.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(LiveMessage::Interval(worker, interval)) => {
                observer.worker_interval(worker, &interval);
                if let Some(whole) =
                    live.finished(worker, interval, plan.own_threads(), Instant::now())
                {
                    observer.interval(plan, &whole);
                }
            }
            Ok(LiveMessage::Frame(worker, frame)) => {
                live.progressed(worker, *frame, Instant::now());
            }
            Ok(LiveMessage::End) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Messages in quick succession must not hold a frame up.
        let now = Instant::now();
        if now >= due || live.is_complete(plan.own_threads()) {
            observer.frame(plan, &live.frame(now));
            due = now + LONGEST;
        }
    }
    observer.load_ended();
}

/// The state of the load by the messages so far.
#[derive(Debug, Default)]
struct Live {
    /// Intervals that some workers have finished, by their start: the number of workers, the sum.
    pending: BTreeMap<i64, (u32, Interval)>,
    workers: BTreeMap<u32, Progress>,
    send_lag: SendLag,
    /// Latest time of a message, in nanoseconds from t0, and the instant at which it arrived. When
    /// the end of the warm-up is detected, t0 moves back, so that times only grow.
    border: Option<(i64, Instant)>,
    /// Responses of the last frame, and its instant.
    last: Option<(u64, Instant)>,
}

/// The progress of one worker.
#[derive(Debug, Default)]
struct Progress {
    /// Counts of finished intervals, without their latencies.
    finished: Interval,
    /// The interval in progress, as it was at the last message.
    current: Interval,
    client: WorkerClient,
    /// True if there was a frame of the worker since the last one of all.
    is_fresh: bool,
}

impl Live {
    /// Adds a finished interval. Returns the sum once all workers have finished it.
    fn finished(
        &mut self,
        worker: u32,
        interval: Interval,
        workers: u32,
        now: Instant,
    ) -> Option<Interval> {
        let progress = self.workers.entry(worker).or_default();
        progress.finished.completed += interval.completed;
        progress.finished.bad += interval.bad;
        progress.finished.errors += interval.errors;
        progress.finished.timed_out += interval.timed_out;
        let (in_flight, backlog) = (interval.in_flight, interval.backlog);
        progress.current =
            Interval { start_ns: end_ns(&interval), in_flight, backlog, ..Interval::default() };
        self.reached(end_ns(&interval), now);
        let entry = self
            .pending
            .entry(interval.start_ns)
            .and_modify(|(parts, known)| {
                *parts += 1;
                known.add(&interval);
            })
            .or_insert((1, interval));
        if entry.0 != workers {
            return None;
        }
        let whole = entry.1.clone();
        self.pending.retain(|start_ns, _| *start_ns > whole.start_ns);
        Some(whole)
    }

    /// Replaces the state of a worker.
    fn progressed(&mut self, worker: u32, mut frame: WorkerFrame, now: Instant) {
        self.reached(end_ns(&frame.interval), now);
        let progress = self.workers.entry(worker).or_default();
        progress.current = std::mem::take(&mut frame.interval);
        progress.client.progressed(frame);
        progress.is_fresh = true;
    }

    /// True if all workers have sent a frame since the last one of all.
    fn is_complete(&self, workers: u32) -> bool {
        let fresh = self.workers.values().filter(|progress| progress.is_fresh).count();
        fresh >= workers as usize
    }

    /// Notes that `at_ns` from t0 has passed.
    fn reached(&mut self, at_ns: i64, now: Instant) {
        if self.border.is_none_or(|(known_ns, _)| known_ns < at_ns) {
            self.border = Some((at_ns, now));
        }
    }

    /// Returns the frame of this instant.
    fn frame(&mut self, now: Instant) -> Frame {
        let mut latency = SparseHistogram::default();
        let mut frame = Frame { at_ns: self.now_ns(now), ..Frame::default() };
        for Progress { finished, current, client, is_fresh } in self.workers.values_mut() {
            *is_fresh = false;
            for part in [&*finished, &*current] {
                frame.completed += part.completed;
                frame.errors += errors(part);
                frame.bad += part.bad;
                frame.timed_out += part.timed_out;
            }
            frame.in_flight += current.in_flight;
            frame.backlog += current.backlog;
            frame.open_connections += client.open();
            latency.add(&current.latency);
        }
        let clients: Vec<&WorkerClient> =
            self.workers.values().map(|progress| &progress.client).collect();
        frame.frequent_error = client::frequent_error(&clients);
        frame.client_overhead = client::overhead(&clients);
        frame.worker_cpu = client::busiest(&clients);
        self.send_lag.add(&clients);
        frame.send_lag_p99_ns = self.send_lag.recent_p99_ns();
        frame.send_lag_p99_all_ns = self.send_lag.p99_ns();
        frame.p50_ns = latency.percentile(50.0);
        frame.p99_ns = latency.percentile(99.0);
        if let Some((completed, at)) = self.last.replace((frame.completed, now)) {
            let span_s = now.duration_since(at).as_secs_f64();
            let new = frame.completed.saturating_sub(completed);
            frame.rate_rps = if span_s > 0.0 { new as f64 / span_s } else { 0.0 };
        }
        frame
    }

    /// The time in nanoseconds from t0; `None` before the load.
    fn now_ns(&self, now: Instant) -> Option<i64> {
        let (border_ns, at) = self.border?;
        let passed = i64::try_from(now.duration_since(at).as_nanos()).unwrap_or(i64::MAX);
        Some(border_ns.saturating_add(passed))
    }
}

/// Requests of an interval without success.
fn errors(interval: &Interval) -> u64 {
    interval.errors + interval.timed_out + interval.bad
}

fn end_ns(interval: &Interval) -> i64 {
    interval.start_ns.saturating_add_unsigned(interval.length_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn interval(start_s: i64, length_ns: u64, completed: u64, bad: u64) -> Interval {
        let start_ns = start_s * SECOND as i64;
        Interval { start_ns, length_ns, completed, bad, in_flight: 3, ..Interval::default() }
    }

    #[test]
    fn an_interval_is_whole_when_every_worker_has_finished_it() {
        let (mut live, now) = (Live::default(), Instant::now());
        assert!(live.finished(0, interval(-1, SECOND, 5, 0), 2, now).is_none());
        assert!(live.finished(0, interval(0, SECOND, 6, 0), 2, now).is_none());
        let whole = live.finished(1, interval(-1, SECOND, 7, 1), 2, now).expect("of both");
        assert_eq!((whole.start_ns, whole.completed, whole.bad), (-1_000_000_000, 12, 1));
    }

    #[test]
    fn frames_count_what_is_finished_and_what_is_in_progress() {
        let (mut live, began) = (Live::default(), Instant::now());
        assert_eq!(live.frame(began), Frame::default(), "still connecting");
        live.finished(0, interval(-1, SECOND, 100, 1), 2, began);
        let frame = |interval| WorkerFrame { interval, open: 5, ..WorkerFrame::default() };
        live.progressed(0, frame(interval(0, SECOND / 4, 25, 2)), began);
        assert!(!live.is_complete(2), "one is missing");
        live.progressed(1, frame(interval(-1, SECOND / 2, 50, 0)), began);
        assert!(live.is_complete(2));
        let now = began + Duration::from_millis(500);
        let frame = live.frame(now);
        assert_eq!((frame.completed, frame.errors, frame.in_flight), (175, 3, 6));
        assert_eq!((frame.bad, frame.timed_out, frame.open_connections), (3, 0, 10));
        assert_eq!(frame.at_ns, Some((SECOND / 4 + SECOND / 2) as i64));
        assert_eq!(frame.rate_rps, 350.0);
        assert!(!live.is_complete(2), "no news since");
        // A finished interval replaces the one in progress, and counts once.
        live.finished(0, interval(0, SECOND, 100, 2), 2, now);
        let frame = live.frame(now + Duration::from_secs(1));
        assert_eq!((frame.completed, frame.errors), (250, 3));
    }
}
