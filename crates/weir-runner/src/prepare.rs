//! Preparing a run: a specification becomes a plan, and the plan a load that lacks only what its
//! server decides. Files are read, names are resolved and the script is loaded. Nothing is sent.

pub(crate) mod addresses;
pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod expect;
pub(crate) mod form;
pub(crate) mod grpc;
pub(crate) mod headers;
pub(crate) mod http;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod location;
pub(crate) mod messages;
pub(crate) mod open_loop;
pub(crate) mod plan;
pub(crate) mod planned;
pub(crate) mod reach;
pub(crate) mod redaction;
pub(crate) mod requests;
pub(crate) mod script;
pub(crate) mod server;
pub(crate) mod server_wait;
pub(crate) mod start_time;
pub(crate) mod target_url;
pub(crate) mod threads;
pub(crate) mod tls;
pub(crate) mod watchdog;
pub(crate) mod websocket;

use std::sync::Arc;

use anyhow::Result;
use weir_grpc::MethodName;
use weir_io::{Endpoint, Engine, EngineChoice};
use weir_result::document::Input;
use weir_result::{Note, Plan};

use crate::access::MachineAccess;
use crate::observer::Observer;
use crate::prepare::body::Body;
use crate::prepare::client::PlannedClient;
use crate::prepare::grpc::{GrpcCalls, LoadSchema, SchemaPeer};
use crate::prepare::list::{List, StreamFacts};
use crate::prepare::load::PreparedLoad;
use crate::prepare::plan::LoadParts;
use crate::prepare::planned::PlanningRecord;
use crate::prepare::redaction::Redaction;
use crate::prepare::requests::{RequestParts, RequestSet};
use crate::prepare::script::Scripts;
use crate::prepare::server::{PlannedServer, ServerAddresses};
use crate::prepare::target_url::target_url;
use crate::prepare::threads::Cpus;
use crate::prepare::watchdog::OnStuck;
use crate::spec::RunSpec;
use crate::spec::url::Url;

/// A run that is planned.
#[derive(Debug)]
pub(crate) struct PlannedRun {
    /// The load.
    pub(crate) load: PreparedLoad,
    /// Scripts of the load, if any: set up, and not yet given to the workers.
    pub(crate) scripts: Option<Scripts>,
    /// Remarks for the report.
    pub(crate) notes: Vec<Note>,
    /// Credentials, which the plan no longer contains.
    pub(crate) redaction: Redaction,
    /// Files that were read.
    pub(crate) inputs: Vec<Input>,
    /// The part of a list that was read from a stream, which is complete after the load.
    pub(crate) stream: Option<Arc<StreamFacts>>,
    /// Time in which the server's name was resolved, in nanoseconds; `None` for an address.
    pub(crate) lookup_ns: Option<u64>,
}

/// The means of planning besides a specification.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    /// Access to this machine.
    pub(crate) access: &'a MachineAccess,
    /// Called if a call of the script never returns.
    pub(crate) on_stuck: &'a OnStuck,
    /// Loads the schema of gRPC from the server.
    pub(crate) load_schema: LoadSchema<'a>,
}

/// Plans a run, stage by stage: each makes its value of the specification and of the values before
/// it.
///
/// # Errors
/// When it cannot be carried out; the message names the flag and the remedy.
pub(crate) fn prepare(
    spec: &RunSpec,
    means: &Means<'_>,
    observer: &mut dyn Observer,
) -> Result<PlannedRun> {
    let Means { access, on_stuck, load_schema } = *means;
    access.check_spec(spec)?;
    spec.check()?;
    let mut record = PlanningRecord::of(spec);
    let list = record.take(List::of(spec, access)?);
    let url = target_url(spec, list.as_ref())?;
    let http = http::version(spec, &url)?;
    let tls = record.take(tls::of_load(spec, &url, http::alpn(http))?);
    let has_users = list.as_ref().is_some_and(List::has_users);
    if has_users {
        spec.check_users()?;
    }
    let on_wire = &list::on_streams(spec, has_users);
    let cpus = Cpus::of(spec.engine.pin.as_ref())?;
    let states = cpus.threads(on_wire, false, 1).own;
    let mut scripts = record.take(Scripts::load(spec, &url, states, on_stuck)?);
    let found = server::find(spec, &url, scripts.as_mut(), access, observer)?;
    let server = PlannedServer { url, http, tls, addresses: record.take(found) };
    let load_schema = permitted(access, load_schema);
    let calls = record.take(GrpcCalls::of(spec, &server, &load_schema)?);
    let is_here = server.addresses.are_here();
    let client = PlannedClient::of(on_wire, cpus, is_here, scripts.is_some(), spec.engine.io)?;
    let client = record.take(client);
    let body = spec.request.body.as_ref().map(Body::of).transpose()?;
    let parts = RequestParts::of(spec, &server.url, calls.as_ref(), body)?;
    let requests = match (&mut scripts, &list) {
        (Some(scripts), _) => RequestSet::of_script(parts, scripts, client.threads.own)?,
        (None, Some(list)) => record.take(RequestSet::of_list(spec, parts, list)?),
        (None, None) => record.take(RequestSet::of_one(spec, parts)?),
    };
    let messages = messages::prepare(spec, calls.as_ref())?;
    let stream = requests.list.as_ref().and_then(|list| list.stream.clone());
    let lookup_ns = server.addresses.lookup_ns;
    let parts = LoadParts { server, client, calls, requests, messages };
    let plan = plan::of(on_wire, &parts, &record.redaction);
    plan::check(&plan, scripts.as_ref(), parts.requests.list.as_ref())?;
    let load = PreparedLoad::of(spec, plan, parts, scripts.as_ref());
    access.check_endpoints(load.endpoints())?;
    access.check_plan(&load.plan)?;
    let PlanningRecord { notes, inputs, redaction } = record;
    Ok(PlannedRun { load, scripts, notes, redaction, inputs, stream, lookup_ns })
}

/// Plans a run without reading a file, resolving a name or probing the kernel. Its plan has no
/// script, list or body of a file, the server is at the loopback address, and the engine is epoll.
///
/// # Errors
/// When the specification cannot be carried out.
pub(crate) fn dry_run(spec: &RunSpec) -> Result<Plan> {
    spec.check()?;
    let url = match spec.target.url.is_empty() && spec.list.is_some() {
        true => Url::parse("http://localhost/")?,
        false => Url::of(&spec.target)?,
    };
    let url = grpc::url_on(spec, url)?;
    let http = http::version(spec, &url)?;
    tls::check_unused(spec, &url)?;
    let addresses = ServerAddresses::one(Endpoint::Tcp(([127, 0, 0, 1], url.port()).into()));
    let server = PlannedServer { url, http, tls: None, addresses };
    let calls = GrpcCalls::without_schema(spec)?;
    let epoll = EngineChoice::Only(Engine::Epoll);
    let cpus = Cpus::of(spec.engine.pin.as_ref())?;
    let client = PlannedClient::of(spec, cpus, true, spec.script.is_some(), epoll)?.value;
    let body = spec.request.body.as_ref().map(Body::given).transpose()?.flatten();
    let parts = RequestParts::of(spec, &server.url, calls.as_ref(), body)?;
    let requests = RequestSet::of_one(spec, parts)?.value;
    let messages = messages::prepare(spec, calls.as_ref())?;
    let parts = LoadParts { server, client, calls, requests, messages };
    let plan = plan::of(spec, &parts, &Redaction::of(spec));
    plan::check(&plan, None, None)?;
    Ok(plan)
}

/// Plans the client of a load, whose plan lacks the requests and a server, beside a server on this
/// machine. Returns also the CPUs to which its workers are pinned.
///
/// # Errors
/// When the specification cannot be carried out.
pub(crate) fn client(spec: &RunSpec) -> Result<(Plan, Vec<u32>)> {
    spec.check()?;
    let cpus = Cpus::of(spec.engine.pin.as_ref())?;
    let client = PlannedClient::of(spec, cpus, true, false, spec.engine.io)?.value;
    Ok((plan::of_client(spec, &client), client.cpus))
}

/// Returns the function that loads a schema from servers to which `access` permits connections.
/// Agents elsewhere load their own.
fn permitted<'a>(
    access: &'a MachineAccess,
    load_schema: LoadSchema<'a>,
) -> impl Fn(&SchemaPeer<'_>, &MethodName) -> Result<Option<weir_grpc::Schema>> + 'a {
    move |peer, method| {
        if access.is_elsewhere() {
            return Ok(None);
        }
        access.check_endpoints(std::iter::once(peer.endpoint))?;
        load_schema(peer, method)
    }
}
