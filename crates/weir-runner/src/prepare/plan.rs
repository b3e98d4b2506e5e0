//! The plan of a run: what the document keeps of it, without secrets.

use anyhow::{Result, bail};
use weir_io::Endpoint;
use weir_result::{
    ConnectionPlan, DueTimes, HttpPlan, ListOrder, ListPlan, Load, Plan, SuccessRule, TlsPlan,
    Warmup,
};
use weir_text::setting::{DURATION, HTTP, PIPELINE, RATE, REQUESTS};

use crate::prepare::client::PlannedClient;
use crate::prepare::grpc::GrpcCalls;
use crate::prepare::list::{PreparedList, Replay};
use crate::prepare::messages::PreparedMessages;
use crate::prepare::redaction::Redaction;
use crate::prepare::requests::RequestSet;
use crate::prepare::script::Scripts;
use crate::prepare::server::PlannedServer;
use crate::prepare::{open_loop, tls};
use crate::spec::RunSpec;
use crate::spec::url::Url;

/// All that a load is planned of, besides its specification.
#[derive(Debug)]
pub(crate) struct LoadParts {
    pub(crate) server: PlannedServer,
    pub(crate) client: PlannedClient,
    pub(crate) calls: Option<GrpcCalls>,
    pub(crate) requests: RequestSet,
    pub(crate) messages: Option<PreparedMessages>,
}

/// Returns the plan of a load, without secrets: what it takes from the specification comes from
/// the redacted one.
pub(crate) fn of(spec: &RunSpec, parts: &LoadParts, redaction: &Redaction) -> Plan {
    let shown = &redaction.spec(spec.clone());
    let LoadParts { server, client, calls: _, requests, messages } = parts;
    let PlannedServer { url, http, addresses, .. } = server;
    let list = requests.list.as_ref();
    let target = url.target(&addresses.endpoint);
    Plan {
        url: redaction.url(&shown_url(shown, url, list.is_some())),
        target: redaction.target(target),
        request: redaction.request(requests.plan()),
        list: list.map(|list| redaction.list(list.plan.clone())),
        expect: requests.checks.as_ref().map(|checks| redaction.expectations(checks.plan.clone())),
        http: *http,
        tls: if url.is_secure { tls::plan(&shown.tls) } else { TlsPlan::default() },
        connection: connection_plan(shown, &addresses.destinations),
        messages: messages.as_ref().map(|messages| messages.plan(&shown.messages)),
        load: load_of(shown, list),
        ..of_client(shown, client)
    }
}

/// Returns the plan of the client of a load, whatever it sends, and wherever.
pub(crate) fn of_client(spec: &RunSpec, client: &PlannedClient) -> Plan {
    Plan {
        load: spec.load.clone(),
        threads: client.threads.all,
        leaves_cpus: client.threads.leaves_cpus,
        pacing: client.pacing,
        io: client.io,
        wait: spec.engine.wait,
        tick_ns: spec.engine.tick_ns,
        stamps: spec.engine.stamps,
        matched_by: spec.websocket.matched_by.clone(),
        success: SuccessRule::default(),
        part: spec.part,
        ..Plan::default()
    }
}

/// Returns the load of a plan: that of the specification, but for what a list decides.
fn load_of(spec: &RunSpec, list: Option<&PreparedList>) -> Load {
    let load = spec.load.clone();
    if let Some(Replay { plan: log, .. }) = list.and_then(|it| it.replay.as_ref()) {
        return Load {
            due: Some(DueTimes::Log(log.clone())),
            duration_ns: None,
            requests: None,
            warmup: Warmup::default(),
            ..load
        };
    }
    match list.map(|list| &list.plan) {
        Some(ListPlan { order: ListOrder::Once, turns, .. }) => Load {
            // The rows of a stream are counted while they are read.
            requests: Some(*turns).filter(|turns| *turns > 0),
            duration_ns: None,
            warmup: Warmup::default(),
            ..load
        },
        _ => load,
    }
}

/// Returns the URL of the plan: that of the server if there is a list.
fn shown_url(spec: &RunSpec, url: &Url, has_list: bool) -> String {
    if has_list { format!("{}{}", url.origin(), url.path) } else { spec.target.url.clone() }
}

/// Returns the plan of connections that go to `destinations`.
fn connection_plan(spec: &RunSpec, destinations: &[Endpoint]) -> ConnectionPlan {
    let destinations = destinations.iter().map(Endpoint::to_string).collect();
    ConnectionPlan { destinations, ..spec.connection.clone() }
}

/// Checks that the plan can be carried out.
///
/// # Errors
/// When it cannot; the message has the remedy.
pub(crate) fn check(
    plan: &Plan,
    scripts: Option<&Scripts>,
    list: Option<&PreparedList>,
) -> Result<()> {
    open_loop::check_in_flight(plan, list.map(|list| &*list.list))?;
    check_slots(plan)?;
    if is_sparse(plan) && weir_engine::planned_slots(plan) == Some(0) {
        bail!("{RATE} and {DURATION} plan no request: lengthen {DURATION} or raise {RATE}");
    }
    if plan.load.pipeline > 1 && scripts.is_some_and(|scripts| scripts.sets_the_pace) {
        bail!(
            "{PIPELINE} cannot be used with a script that has request() or delay(); return several \
             requests in one string instead"
        );
    }
    let is_http2 = matches!(plan.http, Some(HttpPlan::Http2(_)));
    if is_http2 && scripts.is_some_and(|scripts| scripts.takes_connections) {
        bail!(
            "{HTTP} 2 cannot be used with a script whose functions take a connection: requests are \
             streams there; use {HTTP} 1.1"
        );
    }
    Ok(())
}

/// Greatest number of slots that an open loop plans with a list or a limit of requests in flight.
/// At the end the slots that were never sent are counted one after the other.
const LISTED_SLOTS_MAX: u64 = 1_000_000_000;

/// Checks that the slots of a list can be counted by name, and those that are shed one by one.
fn check_slots(plan: &Plan) -> Result<()> {
    let (what, how) = match (&plan.list, plan.load.in_flight_max) {
        (Some(_), _) => ("requests of a list", "counted by name"),
        (None, Some(_)) => ("requests", "shed"),
        (None, None) => return Ok(()),
    };
    let Some(rate) = plan.load.rate() else { return Ok(()) };
    // Enough for a limit; to count the slots of a Poisson plan would walk all of them.
    let of_time = |span_ns: u64| rate.rps() * (span_ns as f64 / 1e9);
    let slots = plan.load.requests.map(|requests| requests as f64);
    let Some(slots) = slots.or_else(|| plan.load.length_ns().map(of_time)) else { return Ok(()) };
    if slots <= LISTED_SLOTS_MAX as f64 {
        return Ok(());
    }
    let remedy = match plan.load.requests {
        Some(_) => format!("lower {REQUESTS}"),
        None => format!("lower {RATE} or shorten {DURATION}"),
    };
    bail!("{RATE} plans {slots:.0} {what}, and at most {LISTED_SLOTS_MAX} can be {how}: {remedy}")
}

/// True if the plan is so small that it may contain no request.
fn is_sparse(plan: &Plan) -> bool {
    match (plan.load.rate(), plan.load.length_ns()) {
        (Some(rate), Some(span_ns)) => rate.rps() * (span_ns as f64 / 1e9) < 10.0,
        _ => false,
    }
}
