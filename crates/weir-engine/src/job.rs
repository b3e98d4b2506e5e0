//! What a run is made of: the plan, and what was prepared from it.

use weir_http::{BodyBudget, Prepared};
use weir_io::Endpoint;
use weir_run::{Plan, RawLog};
use weir_tls::TlsConfig;

use crate::deal::Deal;
use crate::observer::ObserverFactory;
use crate::schedule::Schedule;

/// A plan, ready to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The plan.
    pub plan: Plan,
    /// Where connections go; of several destinations the first.
    pub endpoint: Endpoint,
    /// Where connections go that are dealt over several destinations, as the plan names them;
    /// empty: all go to `endpoint`.
    pub destinations: Vec<Endpoint>,
    /// The request to send.
    pub request: Prepared,
    /// Answers have bodies worth throwing away unread.
    pub discard: bool,
    /// CPUs to pin workers to, worker i to the i-th, from the first again where there are more
    /// workers; empty: none is pinned.
    pub cpus: Vec<u32>,
    /// Speak TLS, as this says.
    pub tls: Option<TlsConfig>,
    /// An answer that comes after the timeout is counted as overdue and still taken, instead of
    /// ending its connection: wrk's idea of a timeout.
    pub late_answers: bool,
    /// Memory budget of the bodies that scripts keep, over all connections.
    pub body_budget: BodyBudget,
    /// The load ends at t1, as wrk's does: the drain sends nothing, and the age of a slot that was
    /// never sent is its age at t1.
    pub stops_at_t1: bool,
    /// The run ends before its warm-up if every first attempt to connect fails.
    pub needs_connection: bool,
    /// What is to be counted beside the usual.
    pub extras: Extras,
    /// Where each slot is written down, one by one, if anywhere.
    pub raw: Option<RawLog>,
    /// Observers beside those that the plan asks for.
    pub observers: Vec<ObserverFactory>,
}

/// What only some reports want to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Completions per second of each worker in spans of 100 ms.
    pub thread_rates: bool,
    /// Times of whole batches.
    pub batch_times: bool,
    /// The network's round trip inside the window, by handshakes of the machine's watcher.
    pub round_trips: bool,
    /// The run is worth nothing after its stop: nothing is awaited then.
    pub abandons: bool,
}

impl Job {
    /// A plan whose connections all go to one place, pinned nowhere, and nothing beside what is
    /// always done.
    pub fn new(plan: Plan, endpoint: Endpoint, request: Prepared) -> Job {
        Job {
            plan,
            endpoint,
            destinations: Vec::new(),
            request,
            discard: false,
            cpus: Vec::new(),
            tls: None,
            late_answers: false,
            body_budget: BodyBudget::default(),
            stops_at_t1: false,
            needs_connection: false,
            extras: Extras::default(),
            raw: None,
            observers: Vec::new(),
        }
    }

    /// What worker `number` owns.
    pub(crate) fn deal(&self, number: u32) -> Deal {
        Deal::new(number, self.plan.threads, self.plan.connections)
    }

    /// Where connection `number` of the run goes.
    pub(crate) fn destination(&self, number: u32) -> &Endpoint {
        let several = self.destinations.len();
        let index = (number as usize).checked_rem(several);
        index.map_or(&self.endpoint, |index| &self.destinations[index])
    }

    /// The CPU that worker `number` is pinned to.
    pub(crate) fn cpu_of(&self, number: u32) -> Option<u32> {
        let index = (number as usize).checked_rem(self.cpus.len())?;
        Some(self.cpus[index])
    }
}

/// Slots in the window of a plan that time ends, over all workers; `None` where answers decide.
/// Walks a Poisson plan.
pub fn planned_slots(plan: &Plan) -> Option<u64> {
    let schedule = Schedule::new(plan.load, Deal::new(0, 1, 1));
    let until_ns = plan.warmup_ns.saturating_add(plan.duration_ns?);
    schedule.is_open_loop().then(|| schedule.planned(plan.warmup_ns, until_ns))
}
