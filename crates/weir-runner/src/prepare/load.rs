//! A planned load without what its server decides. With the facts of the preflight it becomes a
//! job, which nothing changes afterwards.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::{
    Ending, Extras, Job, JobRequests, JobResponses, JobTarget, JobWorkers, ListRows,
    ObserverFactory, RequestList,
};
use weir_grpc::Method;
use weir_http::Prepared;
use weir_io::{Endpoint, Nanos};
use weir_result::{HttpPlan, Plan, RawLog};
use weir_text::setting::{DEBUG, LIST};

use crate::prepare::expect::body_budget;
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::http;
use crate::prepare::list::{PreparedList, PreparedSetup};
use crate::prepare::messages::PreparedMessages;
use crate::prepare::plan::LoadParts;
use crate::prepare::script::Scripts;
use crate::prepare::websocket::WebSocketMessages;
use crate::spec::{MessageSpec, RunSpec};

/// Body size, in bytes, from which the kernel discards bodies unread.
const DISCARD_FROM_BYTES: u64 = 32 * 1024;

/// A load that is planned. Its plan has no HTTP version if the server chooses it.
#[derive(Clone, Debug)]
pub(crate) struct PreparedLoad {
    /// The plan, without secrets.
    pub(crate) plan: Plan,
    /// Where its connections go, with TLS that offers each version that the plan allows.
    pub(crate) target: JobTarget,
    /// Requests that are sent; of a list or a script with the request before the load.
    pub(crate) requests: JobRequests,
    /// Rules about responses, unless the server decides them: a preflight may find messages and
    /// long bodies.
    pub(crate) responses: JobResponses,
    /// True if its request may be sent before the load: its method is safe, and it needs no value
    /// that a user captures.
    pub(crate) is_alone: bool,
    /// Requests before the load, if scenarios have a setup.
    pub(crate) setup: Option<Arc<PreparedSetup>>,
    /// Calls of gRPC that its requests are; `None` if they are others.
    pub(crate) calls: Option<GrpcCalls>,
    /// Messages of WebSocket connections.
    pub(crate) websocket: WebSocketMessages,
    /// Means of this machine for the workers.
    pub(crate) workers: JobWorkers,
    /// Rules by which requests and the run end.
    pub(crate) ending: Ending,
    /// Optional measurements.
    pub(crate) extras: Extras,
}

/// The decisions of the server, as far as the preflight has found them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerFacts {
    /// HTTP version, unless no handshake could decide it.
    pub(crate) http: Option<HttpPlan>,
    /// Length of the body of its response in bytes, if that is known.
    pub(crate) body_bytes: Option<u64>,
    /// Messages that its response has, if the specification leaves it to the preflight.
    pub(crate) messages: Option<PreparedMessages>,
}

/// The start of a load, and what observes it.
#[derive(Debug, Default)]
pub(crate) struct JobStart {
    /// Earliest start of the schedule on the run's clock.
    pub(crate) not_before: Nanos,
    /// Time of the epoch of the run's clock, in nanoseconds since 1970-01-01 UTC.
    pub(crate) epoch_unix_ns: u64,
    /// Observers that get each exchange, beyond those that the plan requires.
    pub(crate) observers: Vec<ObserverFactory>,
    /// Destination of the raw log.
    pub(crate) raw: Option<RawLog>,
}

impl PreparedLoad {
    /// Returns the load of a plan.
    pub(crate) fn of(
        spec: &RunSpec,
        plan: Plan,
        parts: LoadParts,
        scripts: Option<&Scripts>,
    ) -> PreparedLoad {
        let LoadParts { server, client, calls, requests, messages } = parts;
        PreparedLoad {
            is_alone: match &requests.list {
                Some(list) => list.first.is_alone,
                None => weir_http::is_safe_method(&plan.request.method),
            },
            plan,
            target: JobTarget {
                endpoint: server.addresses.endpoint,
                destinations: server.addresses.destinations,
                tls: server.tls,
            },
            setup: requests.list.as_ref().and_then(|list| list.setup.clone()),
            requests: JobRequests {
                request: requests.request,
                times: requests.list.as_ref().and_then(PreparedList::times),
                list: requests.list.map(|list| list.list),
            },
            responses: JobResponses {
                body_budget: body_budget(spec, requests.checks.is_some()),
                expectations: requests.checks.map(|checks| checks.checks),
                messages: messages.map(|messages| messages.rules),
                discard: false,
            },
            calls,
            websocket: WebSocketMessages::of(&spec.websocket),
            workers: JobWorkers { cpus: client.cpus, may_poll: client.may_poll },
            ending: ending(spec),
            extras: extras(spec, scripts),
        }
    }

    /// The addresses that its connections go to.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Endpoint> + Clone {
        self.target.destinations.iter().chain([&self.target.endpoint])
    }

    /// True if a handshake has to show which HTTP version the server chooses, or that it accepts
    /// HTTP/2.
    pub(crate) fn is_open(&self) -> bool {
        let is_http1 = matches!(self.plan.http, Some(HttpPlan::Http10 | HttpPlan::Http11));
        self.target.tls.is_some() && !is_http1
    }

    /// Returns the method of its calls, if their schema is known.
    pub(crate) fn grpc_method(&self) -> Option<&Method> {
        self.calls.as_ref().and_then(GrpcCalls::method)
    }

    /// Returns the load whose request is that of a row of its list, from 1, and is not checked
    /// against the expectations, which are those of the row that is sent first.
    ///
    /// # Errors
    /// When there is no such row.
    pub(crate) fn of_row(&self, row: u64) -> Result<PreparedLoad> {
        Ok(self.with_request(request_of_row(self.requests.list.as_deref(), row)?))
    }

    /// Returns the load with another request, which is not checked against the expectations.
    pub(crate) fn with_request(&self, request: Prepared) -> PreparedLoad {
        let mut load = self.clone();
        load.requests.request = request;
        load.responses.expectations = None;
        load
    }

    /// Returns the plan with the decisions of the server. Without them it has HTTP/1.1: a load
    /// without a connection reports its failure with either version.
    pub(crate) fn plan_for(&self, server: &ServerFacts) -> Plan {
        // The preflight finds messages only if the specification has no choice of them.
        let by_default = MessageSpec::default();
        let messages = server.messages.as_ref().map(|messages| messages.plan(&by_default));
        Plan {
            http: Some(self.plan.http.or(server.http).unwrap_or(HttpPlan::Http11)),
            messages: messages.or(self.plan.messages.clone()),
            ..self.plan.clone()
        }
    }

    /// Returns the job of the load on a server.
    pub(crate) fn job(&self, server: &ServerFacts, start: JobStart) -> Job {
        let plan = self.plan_for(server);
        let JobStart { not_before, epoch_unix_ns, observers, raw } = start;
        let tls = self.target.tls.clone();
        let tls = tls.map(|tls| tls.offering(http::alpn(plan.http)));
        let found = server.messages.as_ref().map(|messages| messages.rules.clone());
        Job {
            target: JobTarget { tls, ..self.target.clone() },
            requests: self.requests.clone(),
            responses: JobResponses {
                messages: found.or(self.responses.messages.clone()),
                discard: server.body_bytes.is_some_and(|bytes| bytes >= DISCARD_FROM_BYTES),
                ..self.responses.clone()
            },
            protocol: http::protocol(plan.http, &self.requests.request, &self.websocket),
            workers: self.workers.clone(),
            ending: self.ending,
            not_before,
            epoch_unix_ns,
            extras: self.extras,
            raw,
            observers,
            plan,
        }
    }
}

/// The rules by which requests and the run end: wrk's, or weir's own.
fn ending(spec: &RunSpec) -> Ending {
    let is_compat = spec.compat.is_some();
    Ending {
        late_responses: is_compat,
        stops_at_t1: is_compat,
        needs_connection: !is_compat,
        ..Ending::default()
    }
}

/// Returns the measurements that a run has beyond those of all runs.
fn extras(spec: &RunSpec, scripts: Option<&Scripts>) -> Extras {
    Extras {
        thread_rates: spec.compat.is_some() || scripts.is_some_and(|it| it.has_done),
        batch_times: spec.compat.is_some_and(|compat| compat.batch_times),
        round_trips: spec.checks.preflight,
    }
}

/// Returns the request of a row, from 1.
///
/// # Errors
/// When there is no such row.
fn request_of_row(list: Option<&RequestList>, row: u64) -> Result<Prepared> {
    let list = list.with_context(|| format!("{DEBUG} {row} is a row of a list: give {LIST}"))?;
    let index = row.checked_sub(1).with_context(|| format!("{DEBUG}: rows count from 1"))?;
    match &list.rows {
        ListRows::Prepared(rows) => {
            let found = usize::try_from(index).ok().and_then(|index| rows.get(index));
            let found =
                found.with_context(|| format!("{DEBUG} {row}: {LIST} has {} rows", rows.len()));
            Ok(found?.request.clone())
        }
        ListRows::Read(source) => {
            let read = source.open().and_then(|mut rows| rows.read(index));
            Ok(read.map_err(|error| anyhow!("{DEBUG} {row}: {error}"))?.request)
        }
        ListRows::Streamed(_) => bail!("{DEBUG} {row}: a stream has no rows before it is read"),
    }
}

#[cfg(test)]
mod tests {
    use weir_result::Http2Plan;

    use super::*;

    fn load(http: Option<HttpPlan>) -> PreparedLoad {
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
        let request = Prepared::http1("GET", "/", "h", &[], None).expect("a request");
        PreparedLoad {
            plan: Plan { http, ..Plan::default() },
            target: JobTarget { endpoint, destinations: Vec::new(), tls: None },
            requests: JobRequests { request, list: None, times: None },
            responses: JobResponses::default(),
            is_alone: true,
            setup: None,
            calls: None,
            websocket: WebSocketMessages::default(),
            workers: JobWorkers::default(),
            ending: Ending::default(),
            extras: Extras::default(),
        }
    }

    #[test]
    fn a_job_has_the_version_of_its_plan_or_of_its_server() {
        let http2 = HttpPlan::Http2(Http2Plan {
            streams: 9,
            window_bytes: 1 << 30,
            header_table_bytes: 4_096,
        });
        for (planned, chosen, depth) in [
            (Some(http2), None, 9),
            (None, Some(http2), 9),
            (None, Some(HttpPlan::Http11), 1),
            (Some(HttpPlan::Http11), Some(http2), 1),
        ] {
            let server = ServerFacts { http: chosen, ..ServerFacts::default() };
            let job = load(planned).job(&server, JobStart::default());
            assert_eq!(job.plan.http, planned.or(chosen));
            assert_eq!((job.protocol.is_multiplexed(), job.plan.depth()), (depth > 1, depth));
        }
    }

    #[test]
    fn long_bodies_are_discarded_unread() {
        let discards = |body_bytes| {
            let server = ServerFacts { body_bytes, ..ServerFacts::default() };
            load(Some(HttpPlan::Http11)).job(&server, JobStart::default()).responses.discard
        };
        assert!(!discards(None) && !discards(Some(DISCARD_FROM_BYTES - 1)));
        assert!(discards(Some(DISCARD_FROM_BYTES)));
    }
}
