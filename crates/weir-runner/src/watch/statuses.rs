//! Status codes of all complete responses of a run, in every phase: an access log has them all. An
//! observer in each worker counts them; it runs only if an access log is compared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use weir_engine::{Completion, ExchangeObserver, ObserverFactory, Outcome};
use weir_result::Measurements;

/// Responses by status code.
type StatusCounts = BTreeMap<u16, u64>;

/// Counts of all workers that have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statuses(Arc<Mutex<StatusCounts>>);

impl Statuses {
    /// Returns the factory of the observers that count here.
    pub(crate) fn factory(&self) -> ObserverFactory {
        let all = self.clone();
        ObserverFactory::new(move |_| {
            Box::new(StatusCounter { own: StatusCounts::new(), all: all.clone() })
        })
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> StatusCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn merge(&self, more: &StatusCounts) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (status, count) in more {
            *all.entry(*status).or_default() += count;
        }
    }
}

/// Counts of one worker.
#[derive(Debug)]
struct StatusCounter {
    own: StatusCounts,
    all: Statuses,
}

impl ExchangeObserver for StatusCounter {
    fn completed(&mut self, completion: &Completion) {
        if let Outcome::Ok(response) | Outcome::BadResponse(response) = completion.outcome {
            *self.own.entry(response.status).or_default() += 1;
        }
    }

    fn finish(self: Box<Self>, _measurements: &mut Measurements) {
        self.all.merge(&self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_workers_add_up() {
        let statuses = Statuses::default();
        statuses.merge(&StatusCounts::from([(200, 1)]));
        statuses.merge(&StatusCounts::from([(200, 2), (404, 1)]));
        assert_eq!(statuses.counts(), StatusCounts::from([(200, 3), (404, 1)]));
    }
}
