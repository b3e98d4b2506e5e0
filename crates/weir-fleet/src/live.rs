//! The progress of a load on several agents, summed for an observer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_result::{Interval, Plan};
use weir_runner::{Frame, Observer};

use crate::message::RunId;

/// Longest time from one frame to the next; agents send theirs every 250 ms.
const LONGEST: Duration = Duration::from_millis(300);

/// Most intervals that some agents have finished and others not: more are of one that lies.
const PENDING_MAX: usize = 128;

/// The progress of one agent. It may be lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AgentProgress {
    /// The run.
    pub(crate) run: RunId,
    /// The news.
    pub(crate) news: AgentNews,
}

impl AgentProgress {
    /// Reads the progress of one of several agents. `None`: it is none, or it has a number beyond
    /// any load, with which the sum of all would not fit.
    pub(crate) fn of(value: Value, agents: usize) -> Option<AgentProgress> {
        let most = u64::MAX as f64 / (agents + 1) as f64;
        is_below(&value, most).then(|| serde_json::from_value(value).ok())?
    }
}

/// True if each number of a value is at most this one.
fn is_below(value: &Value, most: f64) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() <= most),
        Value::Array(values) => values.iter().all(|value| is_below(value, most)),
        Value::Object(fields) => fields.values().all(|value| is_below(value, most)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Kinds of [`AgentProgress`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum AgentNews {
    /// The state of its part of the load.
    Frame(Box<Frame>),
    /// An interval that all its workers have finished.
    Interval(Box<Interval>),
}

/// The progress of all agents of a run.
#[derive(Debug)]
pub(crate) struct FleetProgress {
    /// Agents from which more is to come.
    agents: BTreeSet<String>,
    frames: BTreeMap<String, AgentFrame>,
    /// Intervals that some agents have finished, by their start: these agents, the sum.
    pending: BTreeMap<i64, (BTreeSet<String>, Interval)>,
    /// When the last frame of all was shown.
    shown: Instant,
}

#[derive(Debug, Default)]
struct AgentFrame {
    frame: Frame,
    /// True if it has come since the last frame of all.
    is_fresh: bool,
}

impl FleetProgress {
    /// Returns the progress of agents of which nothing is known.
    pub(crate) fn of<'a>(agents: impl Iterator<Item = &'a str>) -> FleetProgress {
        let frames = BTreeMap::new();
        let pending = BTreeMap::new();
        let agents = agents.map(str::to_owned).collect();
        FleetProgress { agents, frames, pending, shown: Instant::now() }
    }

    /// Notes that nothing more is to come from an agent: what all others have finished is complete.
    /// Shows these intervals and returns them, in order of time.
    pub(crate) fn gone(
        &mut self,
        agent: &str,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Vec<Interval> {
        self.agents.remove(agent);
        if let Some(known) = self.frames.get_mut(agent) {
            known.frame = Frame { ended: known.frame.ended, ..Frame::default() };
        }
        let is_whole = |agents: &BTreeSet<String>| self.agents.is_subset(agents);
        let whole = self.pending.extract_if(.., |_, (agents, _)| is_whole(agents));
        let whole: Vec<Interval> = whole.map(|(_, (_, sum))| sum).collect();
        whole.iter().for_each(|interval| observer.interval(plan, interval));
        whole
    }

    /// Returns the number of responses that the agents have told of.
    pub(crate) fn completed(&self) -> u64 {
        self.frames.values().map(|known| known.frame.ended.completed).sum()
    }

    /// Takes the news of an agent, and shows what is complete by it. Returns the intervals that all
    /// agents have finished now, at most one.
    pub(crate) fn receive(
        &mut self,
        agent: &str,
        news: AgentNews,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Vec<Interval> {
        if !self.agents.contains(agent) {
            return Vec::new();
        }
        let mut finished = Vec::new();
        match news {
            AgentNews::Frame(frame) => {
                self.frames.insert(agent.to_owned(), AgentFrame { frame: *frame, is_fresh: true });
            }
            AgentNews::Interval(interval) => {
                let agents: Vec<&String> = self.frames.keys().collect();
                let number = agents.iter().position(|known| *known == agent).unwrap_or(0);
                observer.worker_interval(number as u32, &interval);
                observer.agent_interval(agent, &interval);
                finished.extend(self.finished(agent, *interval));
                finished.iter().for_each(|whole| observer.interval(plan, whole));
            }
        }
        let is_complete =
            self.frames.values().filter(|it| it.is_fresh).count() >= self.agents.len();
        let is_late = self.shown.elapsed() >= LONGEST;
        if is_complete || (is_late && !self.frames.is_empty()) {
            self.shown = Instant::now();
            observer.frame(plan, &self.sum());
        }
        finished
    }

    /// Adds an interval of one agent. Returns the sum once all have finished it.
    fn finished(&mut self, agent: &str, interval: Interval) -> Option<Interval> {
        let start_ns = interval.start_ns;
        if self.pending.len() >= PENDING_MAX && !self.pending.contains_key(&start_ns) {
            self.pending.pop_first();
        }
        let (agents, sum) = self.pending.entry(start_ns).or_insert_with(|| {
            let sum = Interval { start_ns, length_ns: interval.length_ns, ..Interval::default() };
            (BTreeSet::new(), sum)
        });
        if !agents.insert(agent.to_owned()) {
            return None;
        }
        sum.add(&interval);
        if !self.agents.is_subset(agents) {
            return None;
        }
        let whole = sum.clone();
        // Those before lack an agent for ever.
        self.pending.retain(|at_ns, _| *at_ns > start_ns);
        Some(whole)
    }

    fn sum(&mut self) -> Frame {
        let mut sum = Frame::default();
        for known in self.frames.values_mut() {
            known.is_fresh = false;
            sum.add(&known.frame);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_runner::EndedRequests;

    /// Keeps the completed requests of what it is shown.
    #[derive(Default)]
    struct Seen {
        frames: Vec<u64>,
        intervals: Vec<(i64, u64)>,
    }

    impl Observer for Seen {
        fn interval(&mut self, _: &Plan, interval: &Interval) {
            self.intervals.push((interval.start_ns, interval.completed));
        }

        fn frame(&mut self, _: &Plan, frame: &Frame) {
            self.frames.push(frame.ended.completed);
        }
    }

    fn interval(start_ns: i64, completed: u64) -> AgentNews {
        let interval = Interval { start_ns, length_ns: 10, completed, ..Interval::default() };
        AgentNews::Interval(Box::new(interval))
    }

    fn frame(completed: u64) -> AgentNews {
        let ended = EndedRequests { completed, ..EndedRequests::default() };
        AgentNews::Frame(Box::new(Frame { ended, ..Frame::default() }))
    }

    #[test]
    fn the_progress_is_that_of_all_agents() {
        let mut progress = FleetProgress::of(["a", "b"].into_iter());
        let mut seen = Seen::default();
        let plan = Plan::default();
        let mut receive = |agent: &str, news| {
            drop(progress.receive(agent, news, &plan, &mut seen));
        };
        receive("a", interval(0, 3));
        receive("a", interval(10, 5));
        receive("b", interval(10, 7));
        // The first interval of b was lost, and comes too late to be of use.
        receive("b", interval(20, 1));
        receive("a", interval(20, 1));
        receive("a", frame(40));
        receive("b", frame(2));
        assert_eq!(seen.intervals, [(10, 12), (20, 2)]);
        assert_eq!(seen.frames.last(), Some(&42));
    }

    #[test]
    fn what_the_others_have_finished_is_complete_once_an_agent_is_gone() {
        let mut progress = FleetProgress::of(["a", "b", "c"].into_iter());
        let mut seen = Seen::default();
        let plan = Plan::default();
        for (agent, start_ns) in [("a", 0), ("b", 0), ("c", 0), ("b", 10), ("c", 20), ("b", 20)] {
            progress.receive(agent, interval(start_ns, 1), &plan, &mut seen);
        }
        let whole = progress.gone("a", &plan, &mut seen);
        assert_eq!(whole.iter().map(|whole| whole.start_ns).collect::<Vec<_>>(), [20]);
        // Its earlier frames come late, and do not count.
        progress.receive("a", interval(30, 1), &plan, &mut seen);
        progress.receive("b", interval(30, 1), &plan, &mut seen);
        progress.receive("c", interval(30, 1), &plan, &mut seen);
        assert_eq!(seen.intervals, [(0, 3), (20, 2), (30, 2)]);
    }
}
