//! The interface of observers, which see the exchanges of a worker one by one.

use std::fmt::{self, Debug};
use std::sync::Arc;

use weir_io::{ConnId, Nanos};
use weir_result::{FailurePhase, Measurements};

use super::completion::Completion;
use crate::live::WorkerFrame;
use crate::time::{Timeline, UnsentSlots};

/// Sees the exchanges of one worker one by one.
pub trait ExchangeObserver: Debug + Send {
    /// True if [`completed`](ExchangeObserver::completed) is called for all connections, false if
    /// only for those with kernel time stamps.
    fn sees_all(&self) -> bool {
        true
    }

    /// Called once for each exchange that ended, in the worker's thread, between an event and the
    /// next send. Slow observers delay the load.
    fn completed(&mut self, completion: &Completion);

    /// Called when a connection is open.
    fn connected(&mut self, _conn: ConnId) {}

    /// Called when a connection failed.
    fn connection_failed(&mut self, _conn: ConnId, _phase: FailurePhase) {}

    /// Called after the run if measured slots were never sent, once for each worker that has some.
    fn never_sent(&mut self, _slots: &NeverSent<'_>) {}

    /// Adds the observations so far to a frame, which the worker sends four times per second.
    fn add_to_frame(&self, _frame: &mut WorkerFrame) {}

    /// Adds the observations to the worker's measurements, after the run has ended.
    fn finish(self: Box<Self>, _measurements: &mut Measurements) {}
}

/// A later step of a user that was due and never sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueStep {
    pub(crate) due_at: Nanos,
    /// Index of its request in the list.
    pub(crate) row: u16,
}

/// The measured slots of one worker that were never sent (METHOD 1.6).
#[derive(Clone, Copy, Debug)]
pub struct NeverSent<'a> {
    pub(crate) unsent: &'a UnsentSlots,
    pub(crate) timeline: &'a Timeline,
    /// Of them: later steps of users, which are in no plan.
    pub(crate) due: &'a [DueStep],
    /// Number of slots, at least 1.
    pub count: u64,
    /// Time at which they were given up.
    pub given_up_at: Nanos,
}

impl<'a> NeverSent<'a> {
    /// Returns their intended times, in order, and those of later steps of users; no others in a
    /// closed loop, whose slots are not planned.
    pub fn intended_at(&self) -> impl Iterator<Item = Nanos> + 'a {
        self.slots().map(|(_, at)| at).chain(self.due.iter().map(|step| step.due_at))
    }

    /// Returns the same slots with their indices in the whole plan.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u64, Nanos)> + 'a {
        let timeline = self.timeline;
        let until_ns = timeline.t1.min(self.given_up_at).since(timeline.start);
        let slots = self.unsent.slots(until_ns);
        let slots = slots.map(|slot| (slot.index, timeline.start.after(slot.offset_ns)));
        slots.skip_while(|(_, at)| *at < timeline.t0)
    }
}

/// Makes an observer for each worker of a job, by its number.
#[derive(Clone)]
pub struct ObserverFactory(Arc<dyn Fn(u32) -> Box<dyn ExchangeObserver> + Send + Sync>);

impl ObserverFactory {
    /// Returns a factory that calls `make` with the number of each worker.
    pub fn new(
        make: impl Fn(u32) -> Box<dyn ExchangeObserver> + Send + Sync + 'static,
    ) -> ObserverFactory {
        ObserverFactory(Arc::new(make))
    }

    /// Returns the observer of worker `number`.
    pub(crate) fn make(&self, number: u32) -> Box<dyn ExchangeObserver> {
        (self.0)(number)
    }
}

impl Debug for ObserverFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObserverFactory")
    }
}
