//! The observers of one worker, which see exchanges one by one.
//!
//! To add one, implement [`ExchangeObserver`] in a file of its own below, and add its `mod` here
//! and its line in [`Observers::new`].

mod destinations;
mod raw_writer;
mod stamp_tallies;

use weir_io::ConnId;
use weir_result::{FailurePhase, Measurements};

use super::stamps::Stamping;
use crate::exchange::{Completion, ExchangeObserver, NeverSent};
use crate::job::Job;
use crate::live::WorkerFrame;
use destinations::Destinations;
use raw_writer::RawWriter;
use stamp_tallies::StampTallies;

/// The observers of one worker that see exchanges one by one.
#[derive(Debug)]
pub(crate) struct Observers {
    all: Vec<Box<dyn ExchangeObserver>>,
    /// True if at least one observer sees every connection, messages are measured, or exchanges are
    /// steps of users.
    pub(crate) sees_all: bool,
}

impl Observers {
    /// Returns the observers of worker `number` of `job`.
    pub(crate) fn new(job: &Job, number: u32, stamping: &Stamping) -> Observers {
        let destinations = Destinations::new(job.partition(number), job.target.destinations.len());
        let mut all: Vec<Box<dyn ExchangeObserver>> = Vec::new();
        all.extend(boxed(Some(StampTallies::new(stamping.connections()))));
        all.extend(boxed(RawWriter::new(job, number)));
        all.extend(boxed(destinations));
        all.extend(job.observers.iter().map(|factory| factory.make(number)));
        let sees_all = job.responses.messages.is_some() || job.users().is_some();
        let sees_all = sees_all || all.iter().any(|one| one.sees_all());
        Observers { all, sees_all }
    }

    /// Announces the end of an exchange on a connection that `is_stamped` or not. The late response
    /// to a request that was resolved at the end of the run is not announced again.
    #[inline]
    pub(crate) fn completed(&mut self, completion: &Completion, is_stamped: bool) {
        if completion.exchange.is_resolved {
            return;
        }
        for observer in &mut self.all {
            if is_stamped || observer.sees_all() {
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

    pub(crate) fn never_sent(&mut self, slots: &NeverSent<'_>) {
        self.all.iter_mut().for_each(|observer| observer.never_sent(slots));
    }

    /// Adds each observer's state to a frame.
    pub(crate) fn add_to_frame(&self, frame: &mut WorkerFrame) {
        self.all.iter().for_each(|observer| observer.add_to_frame(frame));
    }

    /// Adds each observer's results to the worker's measurements.
    pub(crate) fn finish(self, measurements: &mut Measurements) {
        self.all.into_iter().for_each(|observer| observer.finish(measurements));
    }
}

fn boxed<O: ExchangeObserver + 'static>(observer: Option<O>) -> Option<Box<dyn ExchangeObserver>> {
    observer.map(|observer| Box::new(observer) as Box<dyn ExchangeObserver>)
}
