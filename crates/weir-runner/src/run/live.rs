//! The messages of all workers during the load, summed for an observer: whole intervals, and four
//! frames per second.

mod cpu_use;

use std::collections::BTreeMap;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use weir_engine::{LiveMessage, WorkerFrame};
use weir_result::{Interval, NameTotals, Plan, SparseHistogram};

use crate::frame::{EndedRequests, Frame, FrameMessages, SendLags, StampedTimes};
use crate::observer::Observer;
use cpu_use::CpuUse;

/// Longest time from one frame to the next. Workers send theirs every 250 ms; one of them may be
/// silent.
const LONGEST: Duration = Duration::from_millis(300);

/// Passes the messages to the observer until the run is over, and whole intervals to `on_interval`
/// first. A frame follows the workers' frames at once: they keep their CPUs for a moment then
/// (`Backend::keep_cpu`).
pub(crate) fn follow(
    plan: &Plan,
    messages: &Receiver<LiveMessage>,
    observer: &mut dyn Observer,
    mut on_interval: impl FnMut(&Interval),
) {
    let mut live = Live { worker_count: plan.own_threads(), ..Live::default() };
    let mut due = Instant::now() + LONGEST;
    loop {
        match messages.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(LiveMessage::Interval(worker, interval)) => {
                observer.worker_interval(worker, &interval);
                if let Some(whole) = live.finished(worker, interval, Instant::now()) {
                    on_interval(&whole);
                    observer.interval(plan, &whole);
                }
            }
            Ok(LiveMessage::Frame(worker, frame)) => {
                live.progressed(worker, *frame, Instant::now());
            }
            Ok(LiveMessage::Names(worker, names)) => live.named(worker, names),
            Ok(LiveMessage::End) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Messages in quick succession must not hold a frame up.
        let now = Instant::now();
        if now >= due || live.is_complete() {
            observer.frame(plan, &live.frame(now));
            due = now + LONGEST;
        }
    }
    if live.has_names() {
        observer.frame(plan, &live.frame(Instant::now()));
    }
    observer.load_ended();
}

/// The state of the load by the messages so far.
#[derive(Debug, Default)]
struct Live {
    /// Number of workers of the load.
    worker_count: u32,
    /// Intervals that some workers have finished, by their start: the number of workers, the sum.
    pending: BTreeMap<i64, (u32, Interval)>,
    /// Counts of all finished intervals, without their latencies.
    finished: Frame,
    workers: BTreeMap<u32, WorkerProgress>,
    /// Latest time of a message, in nanoseconds from t0, and the instant at which it arrived. When
    /// the end of the warm-up is detected, t0 moves back, so that times only grow.
    border: Option<(i64, Instant)>,
}

/// The progress of one worker.
#[derive(Debug, Default)]
struct WorkerProgress {
    /// Its frame at the last message, without any interval.
    frame: Frame,
    /// Its interval in progress.
    interval: Interval,
    cpu: CpuUse,
    /// True if there was a frame of the worker since the last one of all.
    is_fresh: bool,
}

impl Live {
    /// Adds a finished interval. Returns the sum once all workers have finished it.
    fn finished(&mut self, worker: u32, interval: Interval, now: Instant) -> Option<Interval> {
        let progress = self.workers.entry(worker).or_default();
        let in_flight = interval.in_flight;
        let backlog = interval.backlog;
        progress.interval = Interval { in_flight, backlog, ..Interval::default() };
        let latency = SparseHistogram::default();
        self.finished.add(&Frame { in_flight: 0, backlog: 0, latency, ..counts(&interval) });
        self.reached(interval.end_ns(), now);
        let entry = self
            .pending
            .entry(interval.start_ns)
            .and_modify(|(parts, known)| {
                *parts += 1;
                known.add(&interval);
            })
            .or_insert((1, interval));
        if entry.0 != self.worker_count {
            return None;
        }
        let whole = entry.1.clone();
        self.pending.retain(|start_ns, _| *start_ns > whole.start_ns);
        Some(whole)
    }

    /// Replaces the state of a worker.
    fn progressed(&mut self, worker: u32, frame: WorkerFrame, now: Instant) {
        self.reached(frame.interval.end_ns(), now);
        let progress = self.workers.entry(worker).or_default();
        progress.cpu.add(frame.at, frame.busy_ns);
        let errors = frame.errors.iter();
        progress.frame = Frame {
            transport_errors: errors.map(|(kind, count)| (kind.name(), *count)).collect(),
            open_connections: frame.open,
            messages: FrameMessages {
                received: 0,
                first: frame.first_message,
                gap: frame.message_gap,
            },
            lags: SendLags {
                send_lag: frame.send_lag,
                connection_wait: frame.connection_wait,
                sched_lag_max_ns: frame.sched_lag_max_ns,
            },
            stamped: StampedTimes { response: frame.stamped, outside: frame.stamped_outside },
            worker_cpu: progress.cpu.share(),
            names: mem::take(&mut progress.frame.names),
            ..Frame::default()
        };
        progress.interval = frame.interval;
        progress.is_fresh = true;
        self.named(worker, frame.names);
    }

    /// Replaces the totals by name of a worker, apart from latencies whose turn it is not.
    fn named(&mut self, worker: u32, names: Vec<NameTotals>) {
        let known = &mut self.workers.entry(worker).or_default().frame.names;
        known.resize_with(names.len(), NameTotals::default);
        for (known, now) in known.iter_mut().zip(names) {
            let before = mem::take(&mut known.latency);
            let is_kept = now.latency.count() == 0;
            *known = NameTotals { latency: if is_kept { before } else { now.latency }, ..now };
        }
    }

    /// True if the load has a list, and some of its totals by name have arrived.
    fn has_names(&self) -> bool {
        self.workers.values().any(|progress| !progress.frame.names.is_empty())
    }

    /// True if all workers have sent a frame since the last one of all.
    fn is_complete(&self) -> bool {
        let fresh = self.workers.values().filter(|progress| progress.is_fresh).count();
        fresh >= self.worker_count as usize
    }

    /// Notes that `at_ns` from t0 has passed.
    fn reached(&mut self, at_ns: i64, now: Instant) {
        if self.border.is_none_or(|(known_ns, _)| known_ns < at_ns) {
            self.border = Some((at_ns, now));
        }
    }

    /// Returns the frame of this instant: the sum of the workers' frames.
    fn frame(&mut self, now: Instant) -> Frame {
        let mut frame = Frame { at_ns: self.now_ns(now), ..self.finished.clone() };
        for progress in self.workers.values_mut() {
            progress.is_fresh = false;
            frame.add(&progress.frame);
            frame.add(&counts(&progress.interval));
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

/// The counts and latencies of an interval.
fn counts(interval: &Interval) -> Frame {
    Frame {
        ended: EndedRequests {
            completed: interval.completed,
            failed: interval.errors + interval.timed_out + interval.bad,
            bad: interval.bad,
            timed_out: interval.timed_out,
        },
        messages: FrameMessages { received: interval.messages, ..FrameMessages::default() },
        in_flight: interval.in_flight,
        backlog: interval.backlog,
        latency: interval.latency.clone(),
        ..Frame::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_io::Nanos;
    use weir_result::{ErrorKind, Tally};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn interval(start_s: i64, length_ns: u64, completed: u64, bad: u64) -> Interval {
        let start_ns = start_s * SECOND as i64;
        Interval { start_ns, length_ns, completed, bad, in_flight: 3, ..Interval::default() }
    }

    #[test]
    fn an_interval_is_whole_when_every_worker_has_finished_it() {
        let mut live = Live { worker_count: 2, ..Live::default() };
        let now = Instant::now();
        assert!(live.finished(0, interval(-1, SECOND, 5, 0), now).is_none());
        assert!(live.finished(0, interval(0, SECOND, 6, 0), now).is_none());
        let whole = live.finished(1, interval(-1, SECOND, 7, 1), now).expect("of both");
        assert_eq!((whole.start_ns, whole.completed, whole.bad), (-1_000_000_000, 12, 1));
    }

    #[test]
    fn frames_count_what_is_finished_and_what_is_in_progress() {
        let mut live = Live { worker_count: 2, ..Live::default() };
        let began = Instant::now();
        assert_eq!(live.frame(began), Frame::default(), "still connecting");
        live.finished(0, interval(-1, SECOND, 100, 1), began);
        let frame = |interval| WorkerFrame { interval, open: 5, ..WorkerFrame::default() };
        live.progressed(0, frame(interval(0, SECOND / 4, 25, 2)), began);
        assert!(!live.is_complete(), "one is missing");
        live.progressed(1, frame(interval(-1, SECOND / 2, 50, 0)), began);
        assert!(live.is_complete());
        let now = began + Duration::from_millis(500);
        let frame = live.frame(now);
        let ended = EndedRequests { completed: 175, failed: 3, bad: 3, timed_out: 0 };
        assert_eq!((frame.ended, frame.in_flight, frame.open_connections), (ended, 6, 10));
        assert_eq!(frame.at_ns, Some((SECOND / 4 + SECOND / 2) as i64));
        assert!(!live.is_complete(), "no news since");
        // A finished interval replaces the one in progress, and counts once.
        live.finished(0, interval(0, SECOND, 100, 2), now);
        let frame = live.frame(now + Duration::from_secs(1));
        assert_eq!((frame.ended.completed, frame.ended.failed), (250, 3));
    }

    /// A frame has the latencies of some names; the others stay as they were, and the last message
    /// has all.
    #[test]
    fn names_keep_their_latencies_until_their_turn() {
        let mut live = Live { worker_count: 2, ..Live::default() };
        let now = Instant::now();
        let name = |ok, times: u32| {
            let mut latency = Tally::new();
            (0..times).for_each(|_| latency.record(1_000_000));
            NameTotals {
                ok,
                latency: latency.sparse(WorkerFrame::COARSENESS),
                ..Default::default()
            }
        };
        let frame = |names| WorkerFrame { names, ..WorkerFrame::default() };
        let counts = |live: &mut Live| -> Vec<(u64, u64)> {
            let names = live.frame(now).names;
            names.iter().map(|name| (name.ok, name.latency.count())).collect()
        };
        assert_eq!((live.has_names(), counts(&mut live)), (false, vec![]));
        live.progressed(0, frame(vec![name(5, 5), name(3, 0)]), now);
        assert_eq!(counts(&mut live), [(5, 5), (3, 0)]);
        live.progressed(0, frame(vec![name(9, 0), name(4, 4)]), now);
        assert_eq!(counts(&mut live), [(9, 5), (4, 4)]);
        live.progressed(1, frame(vec![name(1, 1), name(1, 1)]), now);
        assert_eq!(counts(&mut live), [(10, 6), (5, 5)]);
        live.named(0, vec![name(20, 20), name(10, 10)]);
        assert_eq!((live.has_names(), counts(&mut live)), (true, vec![(21, 21), (11, 11)]));
    }

    /// One exchange of a part of a run.
    #[derive(Clone, Debug)]
    struct Exchange {
        part: usize,
        /// True if it ended in the interval that is finished.
        is_early: bool,
        response_ns: u64,
        lag_ns: u64,
        wait_ns: u64,
        /// 0 to 3: a success, a bad response, an error, a timeout.
        outcome: u8,
    }

    fn exchange() -> impl Strategy<Value = Exchange> {
        // As many short times as long ones; the longest are beyond the histograms' range.
        let time = || (any::<u64>(), 22..64_u32).prop_map(|(bits, shift)| bits >> shift);
        let wait = prop_oneof![Just(0), time()];
        let fields = (0..5_usize, any::<bool>(), time(), time(), wait, 0..4_u8);
        fields.prop_map(|(part, is_early, response_ns, lag_ns, wait_ns, outcome)| Exchange {
            part,
            is_early,
            response_ns,
            lag_ns,
            wait_ns,
            outcome,
        })
    }

    /// Counts exchanges in an interval, as a worker does.
    fn counted(start_s: i64, exchanges: &[&Exchange]) -> Interval {
        let mut interval = interval(start_s, SECOND, 0, 0);
        let mut latency = Tally::new();
        for exchange in exchanges {
            interval.sent += 1;
            interval.bytes_received += exchange.response_ns % 1_000;
            match exchange.outcome {
                0 | 1 => {
                    interval.completed += 1;
                    interval.bad += u64::from(exchange.outcome);
                    latency.record(exchange.response_ns);
                }
                2 => interval.errors += 1,
                _ => interval.timed_out += 1,
            }
        }
        interval.in_flight = interval.sent / 2;
        interval.latency = latency.take_sparse();
        interval
    }

    /// Returns the finished interval and the frame of a part of a run whose only worker has
    /// recorded these exchanges.
    fn part_of(exchanges: &[&Exchange], now: Instant) -> (Interval, Frame) {
        let (early, late): (Vec<_>, Vec<_>) = exchanges.iter().partition(|one| one.is_early);
        let [mut unwaited, mut waited, mut waits] = [(); 3].map(|()| Tally::new());
        let mut frame = WorkerFrame { interval: counted(1, &late), open: 2, ..Default::default() };
        let [mut stamped, mut outside] = [(); 2].map(|()| Tally::new());
        for exchange in exchanges {
            frame.sched_lag_max_ns = frame.sched_lag_max_ns.max(exchange.lag_ns);
            match exchange.wait_ns {
                0 => unwaited.record(exchange.lag_ns),
                wait_ns => {
                    waited.record(exchange.lag_ns + wait_ns);
                    waits.record(wait_ns);
                }
            }
            stamped.record(exchange.response_ns);
            outside.record(exchange.response_ns.saturating_sub(exchange.lag_ns));
            if exchange.outcome == 2 {
                *frame.errors.entry(ErrorKind::Errno(104)).or_default() += 1;
            }
        }
        let coarse = |tally: &Tally| tally.sparse(WorkerFrame::COARSENESS);
        frame.send_lag = coarse(&unwaited);
        frame.send_lag.add(&coarse(&waited));
        frame.connection_wait = coarse(&waits);
        (frame.stamped, frame.stamped_outside) = (coarse(&stamped), coarse(&outside));
        let mut live = Live { worker_count: 1, ..Live::default() };
        let whole = live.finished(0, counted(0, &early), now).expect("of the only worker");
        // The busiest part is the one with the most requests.
        let busy_ns = exchanges.len() as u64;
        live.progressed(0, WorkerFrame { at: Nanos(1), ..WorkerFrame::default() }, now);
        live.progressed(0, WorkerFrame { at: Nanos(1_001), busy_ns, ..frame }, now);
        (whole, live.frame(now))
    }

    fn sum<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Frame {
        let mut sum = Frame::default();
        frames.into_iter().for_each(|frame| sum.add(frame));
        sum
    }

    fn json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        let text = serde_json::to_string(value).expect("a value of JSON");
        serde_json::from_str(&text).expect("what was written")
    }

    proptest! {
        #[test]
        fn parts_of_a_run_add_up_to_the_whole(
            exchanges in prop::collection::vec(exchange(), 0..300),
        ) {
            let now = Instant::now();
            let all: Vec<&Exchange> = exchanges.iter().collect();
            let (interval, mut whole) = part_of(&all, now);
            let parts: Vec<(Interval, Frame)> = (0..5)
                .map(|part| {
                    let own: Vec<_> = all.iter().filter(|one| one.part == part).copied().collect();
                    part_of(&own, now)
                })
                .collect();
            let frames: Vec<Frame> = parts.iter().map(|(_, frame)| json(frame)).collect();
            // Figures that each part has on its own.
            whole.open_connections *= 5;
            whole.worker_cpu = frames.iter().filter_map(|frame| frame.worker_cpu).reduce(f64::max);
            whole.in_flight = frames.iter().map(|frame| frame.in_flight).sum();
            prop_assert_eq!(sum(&frames), whole.clone());
            prop_assert_eq!(sum(frames.iter().rev()), whole.clone());
            let halves = [sum(&frames[..2]), sum(&frames[2..])];
            prop_assert_eq!(sum(&halves), whole.clone());
            prop_assert_eq!(json(&whole), whole);
            let mut intervals = parts.iter().map(|(interval, _)| json(interval));
            let mut added = intervals.next().expect("five parts");
            intervals.for_each(|part| added.add(&part));
            let in_flight = added.in_flight;
            prop_assert_eq!(added, Interval { in_flight, ..interval });
        }
    }
}
