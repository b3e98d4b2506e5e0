//! Observers of a worker's exchanges. Each completion is announced once.
//!
//! The recorder sees exchanges that are alike together, which is what makes it cheap. Every other
//! observer sees them one by one: to add one, implement [`Observer`] and add a line to
//! [`Observers::new`].

use std::fmt::{self, Debug};
use std::sync::Arc;

use weir_io::{ConnId, Nanos};
use weir_run::{FailurePhase, Measurements};

use crate::completion::Completion;
use crate::destinations::Destinations;
use crate::job::Job;
use crate::rows::Rows;
use crate::schedule::Schedule;
use crate::stamps::{StampTallies, Stamping};
use crate::timeline::Timeline;

/// Sees the exchanges of one worker one by one.
pub trait Observer: Debug + Send {
    /// The completions that [`completed`](Observer::completed) is called for.
    fn scope(&self) -> Scope {
        Scope::AllConnections
    }

    /// An exchange ended. Called once for each, in the worker's thread, between an event and the
    /// next send: what takes long here delays the load.
    fn completed(&mut self, completion: &Completion);

    /// A connection is open.
    fn connected(&mut self, _conn: ConnId) {}

    /// A connection failed.
    fn connection_failed(&mut self, _conn: ConnId, _phase: FailurePhase) {}

    /// The run has ended: adds the observations to the worker's measurements.
    fn finish(self: Box<Self>, _end: &RunEnd<'_>, _measurements: &mut Measurements) {}
}

/// The connections an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every connection.
    AllConnections,
    /// Those with kernel time stamps.
    StampedConnections,
}

/// The end of a worker's run.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd<'a> {
    /// Still holds the slots that were never sent.
    pub(crate) schedule: &'a Schedule,
    pub(crate) timeline: &'a Timeline,
    /// The age of a slot that was never sent is its age at this instant.
    pub(crate) unsent_until: Nanos,
}

/// Makes an observer for each worker of a job, by its number.
#[derive(Clone)]
pub struct ObserverFactory(Arc<dyn Fn(u32) -> Box<dyn Observer> + Send + Sync>);

impl ObserverFactory {
    /// A factory that calls `make` with the number of each worker.
    pub fn new(make: impl Fn(u32) -> Box<dyn Observer> + Send + Sync + 'static) -> ObserverFactory {
        ObserverFactory(Arc::new(make))
    }
}

impl Debug for ObserverFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObserverFactory")
    }
}

/// The observers of one worker that see exchanges one by one.
#[derive(Debug)]
pub(crate) struct Observers {
    all: Vec<Box<dyn Observer>>,
    /// At least one sees every connection.
    sees_all: bool,
}

impl Observers {
    /// Those of worker `number` of `job`.
    pub(crate) fn new(job: &Job, number: u32, stamping: &Stamping) -> Observers {
        let destinations = Destinations::new(job.deal(number), job.destinations.len());
        let mut all: Vec<Box<dyn Observer>> = Vec::new();
        all.extend(boxed(Some(StampTallies::new(stamping.connections()))));
        all.extend(boxed(Rows::new(job, number)));
        all.extend(boxed(destinations));
        all.extend(job.observers.iter().map(|factory| (factory.0)(number)));
        let sees_all = all.iter().any(|one| one.scope() == Scope::AllConnections);
        Observers { all, sees_all }
    }

    /// True if at least one sees every connection.
    #[inline]
    pub(crate) fn see_all(&self) -> bool {
        self.sees_all
    }

    /// Announces the end of an exchange on a connection that `is_stamped` or not. The late response
    /// to a request that was resolved at the end of the run is not announced again.
    #[inline(never)]
    pub(crate) fn completed(&mut self, completion: &Completion, is_stamped: bool) {
        if completion.exchange.is_resolved {
            return;
        }
        for observer in &mut self.all {
            if is_stamped || observer.scope() == Scope::AllConnections {
                observer.completed(completion);
            }
        }
    }

    pub(crate) fn connected(&mut self, conn: ConnId) {
        self.all.iter_mut().for_each(|observer| observer.connected(conn));
    }

    pub(crate) fn connection_failed(&mut self, conn: ConnId, phase: FailurePhase) {
        self.all.iter_mut().for_each(|observer| observer.connection_failed(conn, phase));
    }

    /// Adds what each has observed to the worker's measurements.
    pub(crate) fn finish(self, end: &RunEnd<'_>, measurements: &mut Measurements) {
        self.all.into_iter().for_each(|observer| observer.finish(end, measurements));
    }
}

fn boxed<O: Observer + 'static>(observer: Option<O>) -> Option<Box<dyn Observer>> {
    observer.map(|observer| Box::new(observer) as Box<dyn Observer>)
}
