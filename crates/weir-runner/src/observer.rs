//! The progress of a run, as the caller sees it.

use weir_result::{Interval, Note, Plan};

use crate::frame::Frame;

/// Receives the progress of a run. Every method has a default that does nothing.
///
/// The calls come one after the other, those during the load from another thread.
pub trait Observer: Send {
    /// The server was not reached at the first attempt, and the run waits for it.
    fn waiting(&mut self, _failure: &str) {}

    /// A trial of a study is about to begin; the run that follows is that trial.
    fn trial(&mut self, _study: &StudyProgress) {}

    /// A phase of the run begins.
    fn phase(&mut self, _phase: Phase, _plan: &Plan) {}

    /// The preflight found something that the user should know before the load.
    fn warning(&mut self, _warning: &Note) {}

    /// True if the calls below are wanted. Without them, workers send nothing during the load.
    fn is_live(&self) -> bool {
        false
    }

    /// A worker has finished an interval of the time series.
    fn worker_interval(&mut self, _worker: u32, _interval: &Interval) {}

    /// All workers have finished an interval of the time series; their counts are summed.
    fn interval(&mut self, _plan: &Plan, _interval: &Interval) {}

    /// An agent of a fleet has finished an interval of its part.
    fn agent_interval(&mut self, _agent: &str, _interval: &Interval) {}

    /// The state of the load, four times per second from connecting to the end of the drain.
    fn frame(&mut self, _plan: &Plan, _frame: &Frame) {}

    /// The load has ended.
    fn load_ended(&mut self) {}
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Several observers, called in their order. Events are live if one of them is.
impl Observer for Vec<Box<dyn Observer>> {
    fn waiting(&mut self, failure: &str) {
        self.iter_mut().for_each(|observer| observer.waiting(failure));
    }

    fn trial(&mut self, study: &StudyProgress) {
        self.iter_mut().for_each(|observer| observer.trial(study));
    }

    fn phase(&mut self, phase: Phase, plan: &Plan) {
        self.iter_mut().for_each(|observer| observer.phase(phase, plan));
    }

    fn warning(&mut self, warning: &Note) {
        self.iter_mut().for_each(|observer| observer.warning(warning));
    }

    fn is_live(&self) -> bool {
        self.iter().any(|observer| observer.is_live())
    }

    fn worker_interval(&mut self, worker: u32, interval: &Interval) {
        live(self).for_each(|observer| observer.worker_interval(worker, interval));
    }

    fn interval(&mut self, plan: &Plan, interval: &Interval) {
        live(self).for_each(|observer| observer.interval(plan, interval));
    }

    fn agent_interval(&mut self, agent: &str, interval: &Interval) {
        live(self).for_each(|observer| observer.agent_interval(agent, interval));
    }

    fn frame(&mut self, plan: &Plan, frame: &Frame) {
        live(self).for_each(|observer| observer.frame(plan, frame));
    }

    fn load_ended(&mut self) {
        live(self).for_each(|observer| observer.load_ended());
    }
}

/// The observers that want the calls during the load.
fn live(observers: &mut [Box<dyn Observer>]) -> impl Iterator<Item = &mut Box<dyn Observer>> {
    observers.iter_mut().filter(|observer| observer.is_live())
}

/// State of a study before one of its trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudyProgress {
    /// Kind of the study: `ab`, `search`.
    pub design: &'static str,
    /// Number of the trial, from 1.
    pub trial: u32,
    /// Trials that the study makes at least.
    pub least: u32,
    /// Trials that it makes at most.
    pub most: u32,
    /// Name of the trial's variant, or its load in a search; empty if all trials are alike.
    pub variant: String,
    /// Time left in words, if it can be told.
    pub left: Option<String>,
}

impl StudyProgress {
    /// Formats `trial 3 of at most 20: A, about 2 min left`.
    pub fn in_words(&self) -> String {
        let StudyProgress { trial, least, most, variant, left, .. } = self;
        let most = if least == most { most.to_string() } else { format!("at most {most}") };
        let separator = if variant.is_empty() { "" } else { ": " };
        let left = left.as_ref().map_or_else(String::new, |left| format!(", {left} left"));
        format!("trial {trial} of {most}{separator}{variant}{left}")
    }
}

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One request checks the URL.
    Preflight,
    /// The client's noise floor is measured.
    Selfcheck,
    /// One connection measures the target without load.
    Probe,
    /// The load: connecting, warm-up, window and drain.
    Load,
    /// The load is repeated with one more thread.
    ProveClient,
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Counting {
        is_live: bool,
        calls: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Counting {
        fn note(&mut self, call: &'static str) {
            self.calls.lock().expect("no test panics with the lock").push(call);
        }
    }

    impl Observer for Counting {
        fn is_live(&self) -> bool {
            self.is_live
        }

        fn phase(&mut self, _: Phase, _: &Plan) {
            self.note("phase");
        }

        fn interval(&mut self, _: &Plan, _: &Interval) {
            self.note("interval");
        }

        fn load_ended(&mut self) {
            self.note("end");
        }
    }

    #[test]
    fn only_live_observers_receive_the_events_of_the_load() {
        let calls =
            [true, false].map(|is_live| (is_live, Arc::new(Mutex::new(Vec::<&str>::new()))));
        let of = |(is_live, calls): &(bool, Arc<Mutex<Vec<&'static str>>>)| {
            Box::new(Counting { is_live: *is_live, calls: calls.clone() }) as Box<dyn Observer>
        };
        let mut both: Vec<_> = calls.iter().map(of).collect();
        assert!(both.is_live());
        both.phase(Phase::Load, &Plan::default());
        both.interval(&Plan::default(), &Interval::default());
        both.load_ended();
        let of = |index: usize| calls[index].1.lock().expect("no panic").clone();
        assert_eq!((of(0), of(1)), (vec!["phase", "interval", "end"], vec!["phase"]));
        both.remove(0);
        assert!(!both.is_live(), "without a live one, workers send nothing");
    }
}
