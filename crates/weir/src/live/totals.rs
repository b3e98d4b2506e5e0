//! The load so far as numbers, for programs that read it while it runs. Independent of any format.
//!
//! Counters count by time, warm-up and drain included: a reader that takes rates of them needs
//! counters that only grow. The stage says to which phase the newest counts belong. A document
//! counts by plan and within the window, so that its counts are less.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use weir_result::{Histogram, Interval, NameTotals, Plan, SparseHistogram};
use weir_runner::{Frame, Observer, Phase, RecentFrames, StudyProgress};

use super::{drain_left_ns, name_labels};

/// A phase of the run, as live outputs name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LivePhase {
    /// Before the load: checks of the target and of this machine.
    #[default]
    Checks,
    /// Connections are opened.
    Connecting,
    /// Load before t0.
    Warmup,
    /// Load within the window.
    Measured,
    /// Load after the window, until every measured request has its response. Unknown while a run
    /// lasts whose window ends with its requests (`-n`) or at a signal (`-d 0`), which stays
    /// `Measured`.
    Drain,
    /// After the load.
    Ended,
}

impl LivePhase {
    /// All stages in their order, with their names for programs.
    pub(crate) const ALL: [(LivePhase, &str); 6] = [
        (LivePhase::Checks, "checks"),
        (LivePhase::Connecting, "connecting"),
        (LivePhase::Warmup, "warmup"),
        (LivePhase::Measured, "measured"),
        (LivePhase::Drain, "drain"),
        (LivePhase::Ended, "ended"),
    ];

    /// Returns the stage of the load at `at_ns` from t0.
    fn at(plan: &Plan, at_ns: i64) -> LivePhase {
        match at_ns {
            before if before < 0 => LivePhase::Warmup,
            _ if drain_left_ns(plan, at_ns).is_some() => LivePhase::Drain,
            _ => LivePhase::Measured,
        }
    }
}

/// The load so far. Counts cover finished intervals; the last one ends with the drain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Plan of the load, without secrets, and the start of the load; `None` before it.
    pub(crate) load: Option<(Plan, SystemTime)>,
    /// The study and its present trial, if the load is one; counters go on over all trials.
    pub(crate) study: Option<StudyProgress>,
    /// LivePhase at the latest frame.
    pub(crate) stage: LivePhase,
    /// The latest frames; without requests in flight after the load.
    pub(crate) frames: RecentFrames,
    /// Requests sent.
    pub(crate) sent: u64,
    /// Complete responses.
    pub(crate) completed: u64,
    /// Of `completed`: responses that do not count as success.
    pub(crate) bad: u64,
    /// Requests that ended in a transport error.
    pub(crate) errors: u64,
    /// Requests that timed out.
    pub(crate) timed_out: u64,
    /// Bytes received.
    pub(crate) bytes_received: u64,
    /// Messages received within responses.
    pub(crate) messages: u64,
    /// Response times (closed loop: service times) of `completed`.
    pub(crate) latency: Histogram,
    /// Counts of each agent of a fleet, by its name.
    pub(crate) agents: BTreeMap<String, AgentTotals>,
    /// Intervals that some workers have finished and others have not.
    parts: Vec<Interval>,
    /// Counts of the earlier trials of a study that only frames have.
    earlier: EarlierTrials,
}

/// Counts of trials that have ended: counters go on over all trials.
#[derive(Clone, Debug, Default)]
struct EarlierTrials {
    /// Totals by label.
    names: Vec<(String, NameTotals)>,
    first_message: SparseHistogram,
    message_gap: SparseHistogram,
}

/// Counts of an agent so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AgentTotals {
    /// Requests sent.
    pub(crate) sent: u64,
    /// Complete responses.
    pub(crate) completed: u64,
    /// Requests without success.
    pub(crate) failed: u64,
}

impl Totals {
    /// Requests without success, by the name of their outcome.
    pub(crate) fn failures(&self) -> [(&'static str, u64); 3] {
        [
            ("bad_response", self.bad),
            ("transport_error", self.errors),
            ("timed_out", self.timed_out),
        ]
    }

    /// Totals of measured requests by name, with the label of each; none without a list.
    pub(crate) fn names(&self) -> Vec<(String, NameTotals)> {
        let labels = self.load.as_ref().map(|(plan, _)| name_labels(plan)).unwrap_or_default();
        let mut names = self.earlier.names.clone();
        for (label, totals) in labels.into_iter().zip(&self.frames.latest.names) {
            match names.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) => known.add(totals),
                None => names.push((label, totals.clone())),
            }
        }
        names
    }

    /// Times from the planned sends to the first messages of measured requests.
    pub(crate) fn first_message(&self) -> Histogram {
        with_earlier(&self.earlier.first_message, &self.frames.latest.messages.first)
    }

    /// Times from one message of a response to the next, of measured requests.
    pub(crate) fn message_gap(&self) -> Histogram {
        with_earlier(&self.earlier.message_gap, &self.frames.latest.messages.gap)
    }

    /// Moves what only frames have to the earlier trials.
    fn end_trial(&mut self) {
        let names = self.names();
        let messages = mem::take(&mut self.frames).latest.messages;
        self.earlier.names = names;
        self.earlier.first_message.add(&messages.first);
        self.earlier.message_gap.add(&messages.gap);
    }

    /// Adds the intervals that began at or before `start_ns` from t0. Among them may be some that
    /// no other worker has finished under the same start: an automatic warm-up changes the start of
    /// its intervals.
    fn add_until(&mut self, start_ns: i64) {
        for part in mem::take(&mut self.parts) {
            match part.start_ns <= start_ns {
                true => self.add(&part),
                false => self.parts.push(part),
            }
        }
    }

    fn add(&mut self, part: &Interval) {
        self.sent += part.sent;
        self.completed += part.completed;
        self.bad += part.bad;
        self.errors += part.errors;
        self.timed_out += part.timed_out;
        self.bytes_received += part.bytes_received;
        self.messages += part.messages;
        self.latency.add_sparse(&part.latency);
    }
}

fn with_earlier(earlier: &SparseHistogram, now: &SparseHistogram) -> Histogram {
    let mut all = earlier.to_histogram();
    all.add_sparse(now);
    all
}

/// Totals that threads share: the observer's thread feeds them, others read them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTotals(Arc<Mutex<Totals>>);

impl SharedTotals {
    /// Calls `read` with the totals. The observer's thread waits meanwhile, so it must be short;
    /// the threads of the load never wait.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Totals) -> T) -> T {
        read(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for SharedTotals {
    fn trial(&mut self, study: &StudyProgress) {
        let mut totals = self.lock();
        totals.study = Some(study.clone());
        totals.stage = LivePhase::Checks;
    }

    fn phase(&mut self, phase: Phase, plan: &Plan) {
        if phase == Phase::Load {
            let mut totals = self.lock();
            totals.end_trial();
            totals.load = Some((plan.clone(), SystemTime::now()));
            totals.stage = LivePhase::Connecting;
        }
    }

    fn is_live(&self) -> bool {
        true
    }

    fn worker_interval(&mut self, _: u32, interval: &Interval) {
        self.lock().parts.push(interval.clone());
    }

    fn agent_interval(&mut self, agent: &str, interval: &Interval) {
        let Interval { sent, completed, bad, errors, timed_out, .. } = interval;
        let mut totals = self.lock();
        let agent = totals.agents.entry(agent.to_owned()).or_default();
        agent.sent += sent;
        agent.completed += completed;
        agent.failed += bad + errors + timed_out;
    }

    fn interval(&mut self, _: &Plan, interval: &Interval) {
        // All workers at once, so that a reader between two of them finds no half of a second.
        self.lock().add_until(interval.start_ns);
    }

    fn frame(&mut self, plan: &Plan, frame: &Frame) {
        let mut totals = self.lock();
        totals.frames.push(frame.clone());
        totals.stage =
            frame.at_ns.map_or(LivePhase::Connecting, |at_ns| LivePhase::at(plan, at_ns));
    }

    fn load_ended(&mut self) {
        let mut totals = self.lock();
        totals.add_until(i64::MAX);
        let last = mem::take(&mut totals.frames).latest;
        let Frame { at_ns, names, messages, .. } = last;
        totals.frames.push(Frame { at_ns, names, messages, ..Frame::default() });
        totals.stage = LivePhase::Ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::Load;
    use weir_runner::FrameMessages;

    const SECOND: u64 = 1_000_000_000;

    fn plan() -> Plan {
        Plan {
            load: Load { duration_ns: Some(10 * SECOND), ..Plan::default().load },
            ..Plan::default()
        }
    }

    fn interval(start_s: i64, completed: u64) -> Interval {
        let mut latency = weir_result::Tally::new();
        latency.record_times(1_000_000, completed as u32);
        Interval {
            start_ns: start_s * SECOND as i64,
            length_ns: SECOND,
            sent: completed + 3,
            completed,
            bad: 2,
            errors: 1,
            timed_out: 1,
            bytes_received: 100 * completed,
            latency: latency.take_sparse(),
            ..Interval::default()
        }
    }

    /// Passes an interval of each of two workers, as the runner does.
    fn both(totals: &mut SharedTotals, start_s: i64, completed: u64) {
        let mut whole = interval(start_s, completed);
        totals.worker_interval(0, &whole);
        totals.worker_interval(1, &whole);
        whole.add(&whole.clone());
        totals.interval(&plan(), &whole);
    }

    #[test]
    fn intervals_of_all_workers_are_summed_warm_up_included() {
        let mut totals = SharedTotals::default();
        totals.phase(Phase::Load, &plan());
        both(&mut totals, -1, 10);
        both(&mut totals, 0, 20);
        let totals = totals.lock();
        assert_eq!((totals.sent, totals.completed, totals.bad), (72, 60, 8));
        assert_eq!((totals.errors, totals.timed_out, totals.bytes_received), (4, 4, 6_000));
        assert_eq!(
            (totals.latency.count(), totals.latency.percentile(50.0)),
            (60, Some(1_000_000))
        );
    }

    #[test]
    fn half_a_second_is_not_counted_before_the_other_half() {
        let mut totals = SharedTotals::default();
        both(&mut totals, 0, 10);
        totals.worker_interval(0, &interval(1, 7));
        assert_eq!(totals.lock().completed, 20);
        // The other worker never finishes it.
        totals.load_ended();
        let totals = totals.lock();
        assert_eq!((totals.completed, totals.latency.count()), (27, 27));
    }

    #[test]
    fn an_interval_that_an_automatic_warm_up_has_renamed_is_counted() {
        let mut totals = SharedTotals::default();
        totals.worker_interval(0, &interval(-55, 4));
        totals.worker_interval(1, &interval(-2, 5));
        assert_eq!(totals.lock().completed, 0, "neither is whole");
        both(&mut totals, -1, 10);
        assert_eq!(totals.lock().completed, 29);
    }

    #[test]
    fn the_stage_follows_the_time() {
        let mut totals = SharedTotals::default();
        assert_eq!(totals.lock().stage, LivePhase::Checks);
        totals.phase(Phase::Preflight, &plan());
        assert!(totals.lock().load.is_none());
        assert_eq!(totals.lock().stage, LivePhase::Checks);
        totals.phase(Phase::Load, &plan());
        assert!(totals.lock().load.is_some());
        assert_eq!(totals.lock().stage, LivePhase::Connecting);
        for (at_s, stage) in [
            (None, LivePhase::Connecting),
            (Some(-1), LivePhase::Warmup),
            (Some(0), LivePhase::Measured),
            (Some(10), LivePhase::Drain),
        ] {
            let at_ns = at_s.map(|at_s: i64| at_s * SECOND as i64);
            let frame = Frame { at_ns, in_flight: 5, backlog: 6, ..Frame::default() };
            totals.frame(&plan(), &frame);
            let now = totals.lock();
            let shown = &now.frames.latest;
            assert_eq!((now.stage, shown.in_flight, shown.backlog), (stage, 5, 6));
        }
        totals.load_ended();
        // Later calls are no part of the load.
        totals.phase(Phase::ProveClient, &plan());
        let now = totals.lock();
        let shown = &now.frames.latest;
        assert_eq!((now.stage, shown.in_flight, shown.backlog), (LivePhase::Ended, 0, 0));
    }

    #[test]
    fn agents_are_counted_apart() {
        let mut totals = SharedTotals::default();
        totals.agent_interval("a", &interval(0, 3));
        totals.agent_interval("a", &interval(1, 4));
        totals.agent_interval("b", &interval(0, 5));
        let totals = totals.lock();
        let of = |name: &str| totals.agents.get(name).map(|it| (it.sent, it.completed, it.failed));
        assert_eq!((of("a"), of("b")), (Some((13, 7, 8)), Some((8, 5, 4))));
        assert_eq!(totals.completed, 0, "the sum is that of whole intervals");
    }

    #[test]
    fn what_frames_count_stays_after_the_load_and_goes_on_in_the_next_trial() {
        let times = |count: u32| {
            let mut times = weir_result::Tally::new();
            times.record_times(1_000_000, count);
            times.sparse(1)
        };
        let list = weir_result::ListPlan {
            names: vec!["one".to_owned()],
            with_intervals: vec![0],
            ..weir_result::ListPlan::default()
        };
        let plan = Plan { list: Some(list), ..plan() };
        let frame = |count: u32| Frame {
            names: vec![NameTotals { ok: count.into(), ..NameTotals::default() }],
            messages: FrameMessages { received: 0, first: times(count), gap: times(2 * count) },
            ..Frame::default()
        };
        let mut totals = SharedTotals::default();
        let counts = |totals: &SharedTotals| {
            totals.read(|totals| {
                let names = totals.names().into_iter().map(|(name, of)| (name, of.ok));
                let [first, gap] = [totals.first_message(), totals.message_gap()];
                (names.collect::<Vec<_>>(), first.count(), gap.count())
            })
        };
        let expected = |count: u64| (vec![("one".to_owned(), count)], count, 2 * count);
        totals.phase(Phase::Load, &plan);
        totals.frame(&plan, &frame(5));
        assert_eq!(counts(&totals), expected(5));
        totals.load_ended();
        assert_eq!(counts(&totals), expected(5), "in the phase `ended`");
        totals.phase(Phase::Load, &plan);
        assert_eq!(counts(&totals), expected(5), "before the first frame");
        totals.frame(&plan, &frame(3));
        assert_eq!(counts(&totals), expected(8), "in the second trial");
    }

    #[test]
    fn threads_share_the_totals() {
        let mut fed = SharedTotals::default();
        let read = fed.clone();
        assert!(fed.is_live());
        fed.phase(Phase::Load, &plan());
        fed.worker_interval(0, &interval(0, 3));
        fed.interval(&plan(), &interval(0, 3));
        assert_eq!(read.read(|totals| totals.completed), 3);
    }
}
