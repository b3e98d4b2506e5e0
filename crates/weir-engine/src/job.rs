//! The input of a run: the plan, and the values prepared from it, such as the request list and the
//! checks of responses. Nothing changes a job. This room may call exchanges, time and TLS.

mod request_list;
mod response_checks;
mod shared_values;
mod turns;

use std::net::IpAddr;
use std::sync::Arc;

use weir_http::{BodyBudget, MessageFormat, Prepared, ProtocolFactory};
use weir_io::{Endpoint, Nanos};
use weir_result::{Part, Plan, RawLog};

use crate::exchange::{Goodput, ObserverFactory};
use crate::time::{Partition, Schedule};
use crate::tls::TlsConfig;
pub use request_list::{
    BodyEncoder, ListRows, ListedRequest, NextRow, RequestList, RowCursor, RowSource, RowStream,
    UserPlan,
};
pub(crate) use request_list::{RowNames, TurnNames};
pub use response_checks::{CallChecks, ResponseChecks};
pub use shared_values::SharedValues;
pub(crate) use turns::{ListTurn, Turns};

/// A plan, ready to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The validated plan.
    pub plan: Plan,
    /// Where its connections go.
    pub target: JobTarget,
    /// Requests that are sent.
    pub requests: JobRequests,
    /// Rules about responses: the parts that are read, and how they are judged.
    pub responses: JobResponses,
    /// Protocol of the connections. A script whose functions distinguish connections requires
    /// HTTP/1.
    pub protocol: ProtocolFactory,
    /// Means of this machine for the workers.
    pub workers: JobWorkers,
    /// Rules by which requests and the run end.
    pub ending: Ending,
    /// Earliest start of the schedule on the run's clock; [`Nanos::ZERO`] for as soon as all
    /// connections are open.
    pub not_before: Nanos,
    /// Time of the epoch of the run's clock, in nanoseconds since 1970-01-01 UTC, from which the
    /// times of cookies count.
    pub epoch_unix_ns: u64,
    /// Optional measurements.
    pub extras: Extras,
    /// Destination of the raw log, which has one row per slot; `None` for no log.
    pub raw: Option<RawLog>,
    /// Observers in addition to those that the plan requires.
    pub observers: Vec<ObserverFactory>,
}

/// Where the connections of a job go.
#[derive(Clone, Debug)]
pub struct JobTarget {
    /// Target of the connections; the first one if there are several.
    pub endpoint: Endpoint,
    /// Targets of connections that are partitioned over several destinations, in the plan's order.
    /// If empty, all connections go to `endpoint`.
    pub destinations: Vec<Endpoint>,
    /// TLS configuration; `None` for plain text.
    pub tls: Option<TlsConfig>,
}

impl JobTarget {
    /// Returns the scheme of requests: `http` or `https`, also where they upgrade to WebSocket.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// The requests of a job.
#[derive(Clone, Debug)]
pub struct JobRequests {
    /// The request to send, unless there is a list; the preflight's and the probe's in any case.
    pub request: Prepared,
    /// Requests that are sent in its place, each in its turn; `None` if there is only one.
    pub list: Option<Arc<RequestList>>,
    /// Due times of the requests of a list that is sent once, in its order: ascending offsets from
    /// the start of the window in nanoseconds. No warm-up precedes them. `None`: the plan alone has
    /// the times.
    pub times: Option<Arc<[u64]>>,
}

/// Rules about the responses of a job: the parts that are read, and how they are judged.
#[derive(Clone, Debug, Default)]
pub struct JobResponses {
    /// Expectations of responses; `None` if the plan's status codes alone decide.
    pub expectations: Option<Arc<ResponseChecks>>,
    /// Measurement of messages within responses; `None` if they are not measured. It excludes
    /// pipelining and scripts.
    pub messages: Option<MessageRules>,
    /// True if responses have bodies large enough to discard unread.
    pub discard: bool,
    /// Memory budget of the bodies that are kept for scripts or expectations, over all connections.
    pub body_budget: BodyBudget,
}

/// Means of this machine for the workers of a job.
#[derive(Clone, Debug, Default)]
pub struct JobWorkers {
    /// CPUs to pin workers to, the i-th worker of this run to the i-th, wrapping around if there
    /// are more workers. If empty, no worker is pinned.
    pub cpus: Vec<u32>,
    /// True if workers may busy-poll in a closed loop with [`Wait::Auto`](weir_result::Wait::Auto):
    /// the server runs on this machine, and a CPU is left for it.
    pub may_poll: bool,
}

/// Measurement of messages within responses.
#[derive(Clone, Debug, Default)]
pub struct MessageRules {
    /// Format in which bodies of responses have messages; `None` if the protocol reports them
    /// itself.
    pub format: Option<MessageFormat>,
    /// Conditions of a good response; `None` if there are none.
    pub goodput: Option<Goodput>,
    /// True if messages of the reasoning are told apart from those of the answer.
    pub tells_reasoning: bool,
}

/// Measurements that only some reports need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Completions per second of each worker, in spans of 100 ms.
    pub thread_rates: bool,
    /// Times of whole batches.
    pub batch_times: bool,
    /// Network round-trip times inside the window, from the handshakes of the machine's watcher.
    pub round_trips: bool,
}

/// Rules by which requests and the run end. By default a timeout ends a request, and the drain
/// awaits the measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// True if a response after the timeout is counted as overdue and still accepted, instead of
    /// ending its connection. This is wrk's meaning of a timeout.
    pub late_responses: bool,
    /// True if the load ends at t1, as wrk's does. The drain then sends nothing, and the age of a
    /// slot that was never sent is its age at t1.
    pub stops_at_t1: bool,
    /// True if the run ends before its warm-up when every first attempt to connect fails.
    pub needs_connection: bool,
    /// True if the results are discarded after a stop: nothing is awaited then.
    pub abandons: bool,
}

impl Job {
    /// Returns a job without pinning, TLS or optional measurements, whose connections all go to
    /// `endpoint`.
    pub fn new(plan: Plan, endpoint: Endpoint, request: Prepared) -> Job {
        Job {
            plan,
            target: JobTarget { endpoint, destinations: Vec::new(), tls: None },
            requests: JobRequests { request, list: None, times: None },
            responses: JobResponses::default(),
            protocol: ProtocolFactory::default(),
            workers: JobWorkers::default(),
            ending: Ending::default(),
            not_before: Nanos::ZERO,
            epoch_unix_ns: 0,
            extras: Extras::default(),
            raw: None,
            observers: Vec::new(),
        }
    }

    /// Returns the scheme of the target URI.
    pub(crate) fn scheme(&self) -> &'static str {
        self.target.scheme()
    }

    /// True if a socket is not open for requests as soon as it is connected.
    pub(crate) fn opens_in_steps(&self) -> bool {
        self.target.tls.is_some() || self.protocol.is_multiplexed()
    }

    /// Returns the partition of worker `number`, counted over all parts of the plan.
    pub(crate) fn partition(&self, number: u32) -> Partition {
        Partition::new(number, self.plan.threads, self.plan.load.connections.count())
    }

    /// Returns the greatest number of connections of worker `number`.
    pub(crate) fn own_connections_max(&self, number: u32) -> u32 {
        Partition::new(number, self.plan.threads, self.plan.load.connections.most()).own_connections
    }

    /// Returns the users that send the requests; `None` if they are no steps of scenarios.
    pub(crate) fn users(&self) -> Option<&UserPlan> {
        self.requests.list.as_ref()?.users.as_deref()
    }

    /// Returns the turns of a list that belong to the worker with this partition.
    pub(crate) fn turns_of(&self, partition: Partition) -> Turns {
        let is_once = self.requests.list.as_ref().is_some_and(|list| list.sequence.is_once());
        Turns::new(partition, is_once || self.plan.load.is_open_loop())
    }

    /// Returns the number of requests of the run, if it is fixed; [`u64::MAX`] for a stream of
    /// requests that decides it.
    pub(crate) fn request_count(&self) -> Option<u64> {
        let list = self.requests.list.as_ref();
        let is_streamed = list.is_some_and(|list| matches!(list.rows, ListRows::Streamed(_)));
        self.plan.load.requests.or(is_streamed.then_some(u64::MAX))
    }

    /// Returns the source address of connection `number` of the run; `None` if the kernel chooses
    /// it.
    pub(crate) fn source(&self, number: u32) -> Option<IpAddr> {
        let connection = &self.plan.connection;
        connection.source(number)
    }

    /// Returns the destination of connection `number` of the run.
    pub(crate) fn destination(&self, number: u32) -> &Endpoint {
        let JobTarget { endpoint, destinations, .. } = &self.target;
        let index = (number as usize).checked_rem(destinations.len());
        index.map_or(endpoint, |index| &destinations[index])
    }

    /// Returns the CPU that worker `number` is pinned to.
    pub(crate) fn cpu_of(&self, number: u32) -> Option<u32> {
        let rank = number / self.plan.part.map_or(1, Part::count);
        let cpus = &self.workers.cpus;
        let index = (rank as usize).checked_rem(cpus.len())?;
        Some(cpus[index])
    }
}

/// Returns the number of slots in the window over all workers; `None` if the number of responses,
/// not time, ends the window. Walks the whole of a Poisson plan.
pub fn planned_slots(plan: &Plan) -> Option<u64> {
    if let Some(log) = plan.load.log() {
        return Some(log.requests);
    }
    let schedule = Schedule::of(&plan.load, None, Partition::new(0, 1, 1));
    let warmup_ns = plan.load.warmup.span_ns;
    let until_ns = warmup_ns.saturating_add(plan.load.length_ns()?);
    schedule.planned(warmup_ns, until_ns)
}
