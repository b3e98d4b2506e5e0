//! What a run is made of: the plan, and what was prepared from it.

use weir_http::Prepared;
use weir_io::Endpoint;
use weir_run::Plan;

use crate::deal::Deal;

/// A plan, ready to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The plan.
    pub plan: Plan,
    /// Where connections go.
    pub endpoint: Endpoint,
    /// The request to send.
    pub request: Prepared,
    /// Answers have bodies worth throwing away unread.
    pub discard: bool,
    /// CPUs to pin workers to, worker i to the i-th; empty: none is pinned.
    pub cpus: Vec<u32>,
}

impl Job {
    /// What worker `number` owns.
    pub(crate) fn deal(&self, number: u32) -> Deal {
        Deal::new(number, self.plan.threads, self.plan.connections)
    }

    /// The CPU that worker `number` is pinned to.
    pub(crate) fn cpu_of(&self, number: u32) -> Option<u32> {
        self.cpus.get(number as usize).copied()
    }
}
