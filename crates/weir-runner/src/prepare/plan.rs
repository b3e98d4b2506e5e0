//! Conversion of a specification to a load that lacks only what its server decides.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use weir_engine::{Ending, Extras};
use weir_grpc::MethodName;
use weir_io::{Endpoint, Engine, EngineChoice};
use weir_machine::Root;
use weir_result::document::Input;
use weir_result::{
    ConnectionPlan, DueTimes, HttpPlan, IoEngine, ListOrder, ListPlan, Load, Note, Plan,
    SuccessRule, Target, TlsPlan, Warmup, check_connection_stages,
};
use weir_text::setting::{
    ABORT, BODY, DURATION, HTTP, IN_FLIGHT, IO, LIST, METHOD, PART, PIPELINE, PROVE_CLIENT, RATE,
    REPLAY, REQUESTS, SCRIPT, STAGES, WARMUP,
};
use weir_tls::TlsConfig;
use weir_verdict::AbortCondition;

use crate::access::MachineAccess;
use crate::observer::Observer;
use crate::permissions::Permissions;
use crate::prepare::expect::body_budget;
use crate::prepare::grpc::{LoadSchema, SchemaPeer};
use crate::prepare::list::{List, PreparedList, Replay, StreamFacts};
use crate::prepare::load::PreparedLoad;
use crate::prepare::location::is_local;
use crate::prepare::redaction::Redaction;
use crate::prepare::requests::{RequestSet, headers};
use crate::prepare::script::Scripts;
use crate::prepare::server_wait::ServerWait;
use crate::prepare::threads::Cpus;
use crate::prepare::watchdog::OnStuck;
use crate::prepare::{addresses, connections, grpc, http, messages, open_loop, parts, reach, tls};
use crate::spec::url::Url;
use crate::spec::{RunSpec, SPEC_VERSION, TargetSpec};

/// A load, and notes on its planning.
#[derive(Debug)]
pub(crate) struct Planned {
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

/// Plans the load of a specification.
///
/// # Errors
/// When it cannot be carried out; the message names the flag and the remedy.
pub(crate) fn plan(
    spec: &RunSpec,
    access: &MachineAccess,
    on_stuck: &OnStuck,
    load_schema: LoadSchema<'_>,
    observer: &mut dyn Observer,
) -> Result<Planned> {
    let permissions = access.permissions();
    permissions.map_or(Ok(()), |permissions| permissions.check_spec(spec))?;
    let load_schema = &|peer: &SchemaPeer<'_>, method: &MethodName| {
        let check = |it: &Permissions| it.check_endpoints(std::iter::once(peer.endpoint));
        permissions.map_or(Ok(()), check)?;
        load_schema(peer, method)
    };
    let list = List::of(spec, access)?;
    let url = url_of(spec, list.as_ref())?;
    if spec.compat.is_some() {
        let planned = plan_at(spec, &url, list.as_ref(), on_stuck, load_schema, |url| {
            Ok(vec![reach::reach(url)?])
        })?;
        if let (true, Endpoint::Tcp(address)) = (planned.scripts.is_some(), &planned.load.endpoint)
        {
            reach::first_of(&url, [*address])?;
        }
        return Ok(planned);
    }
    if access.is_elsewhere() {
        let spec = without_server(spec);
        let unix = spec.target.unix.as_deref();
        let address = |url: &Url| Ok(vec![url.address_elsewhere(unix)]);
        return plan_at(&spec, &url, list.as_ref(), on_stuck, load_schema, address);
    }
    let wait = ServerWait::new(&spec.target);
    let mut note = None;
    let mut lookup_ns = None;
    let mut planned = plan_at(spec, &url, list.as_ref(), on_stuck, load_schema, |url| {
        let found = wait.retry(
            || {
                let begun = Instant::now();
                let found = url.resolve(spec.target.unix.as_deref());
                lookup_ns = url.has_name().then(|| begun.elapsed().as_nanos() as u64);
                found
            },
            observer,
        );
        let all = found.map_err(|failure| wait.give_up(failure, "check the name"))?;
        let mut all = addresses::of_family(&url.host, all, spec.target.family)?;
        if let Some(permissions) = permissions {
            all = permissions.permitted(all)?;
        }
        let (taken, others) = addresses::choose(&url.host, all, spec.load.connections.count());
        note = others;
        Ok(taken)
    })?;
    planned.notes.extend(note);
    planned.lookup_ns = lookup_ns;
    if let Some(permissions) = permissions {
        let PreparedLoad { plan, endpoint, destinations, .. } = &planned.load;
        permissions.check_endpoints(destinations.iter().chain([endpoint]))?;
        permissions.check_plan(plan)?;
    }
    Ok(planned)
}

/// Plans the load of a specification, with the server addresses that `resolve` returns, at least
/// one.
///
/// # Errors
/// As [`plan`], or when there is no address.
pub(crate) fn plan_at(
    spec: &RunSpec,
    url: &Url,
    list: Option<&List>,
    on_stuck: &OnStuck,
    load_schema: LoadSchema<'_>,
    resolve: impl FnOnce(&Url) -> Result<Vec<Endpoint>>,
) -> Result<Planned> {
    check_spec(spec)?;
    let mut notes = Vec::new();
    let mut inputs = Vec::new();
    let mut headers = headers(spec);
    let mut redaction = Redaction::of(spec);
    list.iter().for_each(|list| redaction.learn(&list.rows));
    let http = http::version(spec, url)?;
    let tls = tls(spec, url, http::alpn(http), &mut inputs)?;
    let cpus = Cpus::of(spec.engine.pin.as_ref())?;
    let threads_max = cpus.threads(spec, false, 1).own;
    let mut scripts = Scripts::load(spec, url, &headers, threads_max, on_stuck)?;
    inputs.extend(scripts.as_ref().and_then(|scripts| scripts.input.clone()));
    let (endpoint, destinations) = endpoints(spec, url, scripts.as_mut(), resolve)?;
    let server = (url, &endpoint, tls.as_ref());
    let (calls, url) = grpc::prepare(spec, server, &mut headers, load_schema, &mut inputs)?;
    let url = &url;
    let shares_cpus = destinations.iter().chain([&endpoint]).any(|to| is_local(to) == Some(true));
    let least = connections::threads_min(spec.load.connections.most(), scripts.is_some());
    let threads = cpus.threads(spec, shares_cpus, least);
    notes.extend(cpus.notes(spec, &threads));
    let own_threads = threads.within_limits(&Root::machine())?;
    let common = (&headers[..], calls.as_ref());
    let requests =
        RequestSet::of(spec, url, common, list, scripts.as_mut(), own_threads, &mut inputs)?;
    if let Some(list) = &requests.list {
        notes.extend(list.notes());
        redaction.hide(list.secrets.clone());
    }
    let stream = requests.list.as_ref().and_then(|list| list.stream.clone());
    let messages = messages::prepare(spec, calls.as_ref())?;
    let plan = Plan {
        url: redaction.url(&shown_url(spec, url, list.is_some())),
        target: Target { path: redaction.path(&url.path), ..url.target(&endpoint) },
        request: redaction.request(requests.plan(headers)),
        list: requests.list.as_ref().map(|list| redaction.list(list.plan.clone())),
        expect: requests.checks.as_ref().map(|checks| redaction.expectations(checks.plan.clone())),
        threads: threads.all,
        leaves_cpus: threads.leaves_cpus,
        http,
        tls: if url.is_secure { tls::plan(&spec.tls) } else { TlsPlan::default() },
        pacing: spec.engine.pacing.unwrap_or_else(|| cpus.pacing(own_threads)),
        io: engine(spec.engine.io, own_threads, &mut notes)?,
        connection: connection_plan(spec, &destinations),
        messages: messages.as_ref().map(|messages| messages.plan.clone()),
        ..plan_of(spec, requests.list.as_ref())
    };
    check(&plan, scripts.as_ref(), requests.list.as_ref())?;
    let load = PreparedLoad {
        endpoint,
        destinations,
        tls,
        request: requests.request,
        may_poll: shares_cpus && spec.compat.is_none() && cpus.may_poll(&plan),
        cpus: cpus.pinned,
        body_budget: body_budget(spec, requests.checks.is_some()),
        ending: ending(spec),
        extras: extras(spec, scripts.as_ref()),
        times: requests.list.as_ref().and_then(PreparedList::times),
        list: requests.list.map(|list| list.list),
        expectations: requests.checks.map(|checks| checks.checks),
        messages: messages.map(|messages| messages.rules),
        calls,
        first_message: spec.websocket.first.as_ref().map(|first| first.as_bytes().into()),
        plan,
    };
    Ok(Planned { load, scripts, notes, redaction, inputs, stream, lookup_ns: None })
}

/// Returns a specification that is planned without its server: agents resolve the names of its
/// destinations, and read the schema that a server has.
fn without_server(spec: &RunSpec) -> RunSpec {
    let mut spec = spec.clone();
    spec.connection.destinations.clear();
    if let Some(grpc) = spec.grpc.as_mut().filter(|grpc| grpc.protos.is_empty()) {
        grpc.is_binary = true;
    }
    spec
}

/// Returns the URL of the plan: that of the server if there is a list.
fn shown_url(spec: &RunSpec, url: &Url, has_list: bool) -> String {
    if has_list { format!("{}{}", url.origin(), url.path) } else { spec.target.url.clone() }
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

/// Returns the plan of connections that go to `destinations`.
fn connection_plan(spec: &RunSpec, destinations: &[Endpoint]) -> ConnectionPlan {
    let destinations = destinations.iter().map(Endpoint::to_string).collect();
    ConnectionPlan { destinations, ..spec.connection.clone() }
}

/// The address of the target, and the destinations of the connections, if these are partitioned.
fn endpoints(
    spec: &RunSpec,
    url: &Url,
    scripts: Option<&mut Scripts>,
    resolve: impl FnOnce(&Url) -> Result<Vec<Endpoint>>,
) -> Result<(Endpoint, Vec<Endpoint>)> {
    let named = &spec.connection.destinations;
    let all = match scripts {
        _ if !named.is_empty() => connections::destinations(named, url, spec.target.family)?,
        Some(scripts) if spec.target.unix.is_none() => vec![scripts.resolve()?],
        _ => resolve(url)?,
    };
    let first = all.first().context("the host of the URL has no address")?.clone();
    let is_partitioned = all.len() > 1 || !named.is_empty();
    Ok((first, if is_partitioned { all } else { Vec::new() }))
}

/// The fields of a plan that depend on nothing but the specification and the length of its list.
fn plan_of(spec: &RunSpec, list: Option<&PreparedList>) -> Plan {
    let plan = Plan {
        load: spec.load.clone(),
        wait: spec.engine.wait,
        tick_ns: spec.engine.tick_ns,
        stamps: spec.engine.stamps,
        matched_by: spec.websocket.matched_by.clone(),
        success: SuccessRule::default(),
        part: spec.part,
        ..Plan::default()
    };
    if let Some(Replay { plan: log, .. }) = list.and_then(|it| it.replay.as_ref()) {
        return Plan {
            load: Load {
                due: Some(DueTimes::Log(log.clone())),
                duration_ns: None,
                requests: None,
                warmup: Warmup::default(),
                ..plan.load
            },
            ..plan
        };
    }
    match list.map(|list| &list.plan) {
        Some(ListPlan { order: ListOrder::Once, rows, .. }) => plan.with_load(|load| {
            // The rows of a stream are counted while they are read.
            load.requests = Some(*rows).filter(|rows| *rows > 0);
            load.duration_ns = None;
            load.warmup = Warmup::default();
        }),
        _ => plan,
    }
}

/// Returns the URL of the server: that of the specification, or of a list's first request.
fn url_of(spec: &RunSpec, list: Option<&List>) -> Result<Url> {
    let Some(list) = list else { return Url::of(&spec.target) };
    let url = match spec.target.url.is_empty() {
        true => list.first_url()?.to_owned(),
        false => spec.target.url.clone(),
    };
    let url = Url::of(&TargetSpec { url, ..spec.target.clone() })?;
    if url.is_websocket {
        return Ok(url);
    }
    // The rows have the paths.
    Ok(Url { path: "/".to_owned(), ..url })
}

/// Checks a specification that may come from elsewhere. Flags check their values themselves.
fn check_spec(spec: &RunSpec) -> Result<()> {
    if spec.version != SPEC_VERSION {
        bail!("the run specification has version {}, not {SPEC_VERSION}", spec.version);
    }
    let missing = spec.missing_secrets();
    if !missing.is_empty() {
        bail!(
            "the run specification lacks its secrets: put the values of {} in the place of \
             [redacted]",
            missing.join(", ")
        );
    }
    parts::check_spec(spec)?;
    grpc::check_spec(spec)?;
    check_replay(spec)?;
    let load = &spec.load;
    let threads = spec.engine.threads.unwrap_or(1);
    if load.connections.count() == 0
        || threads == 0
        || load.timeout_ns == 0
        || load.connect_timeout_ns == 0
    {
        bail!("connections, threads and timeouts of a run are at least 1");
    }
    if !(1..=128).contains(&load.pipeline) {
        bail!("the pipelining depth {} does not lie between 1 and 128", load.pipeline);
    }
    if spec.http.streams.is_some_and(|streams| !(1..=128).contains(&streams)) {
        bail!("the number of streams per connection does not lie between 1 and 128");
    }
    let limits = [spec.connection.requests.map(u64::from), spec.connection.lifetime_ns];
    if limits.into_iter().chain([spec.engine.tick_ns]).any(|limit| limit == Some(0)) {
        bail!("the limits of a connection and the interval of sends are above 0");
    }
    if load.duration_ns == Some(0) || load.requests == Some(0) {
        bail!("a run that ends with a duration or a number of requests has one above 0");
    }
    open_loop::check_spec(spec)?;
    check_signal_ends(spec)?;
    conditions(spec)?;
    if spec.connection.rate.is_some_and(|rate| rate.numerator == 0 || rate.denominator == 0) {
        bail!("the rate of connects is above 0");
    }
    let has_stages = !load.stages().is_empty();
    load.check().map_err(|why| anyhow!("{}: {why}", if has_stages { STAGES } else { RATE }))?;
    if load.log().is_some() {
        bail!("{RATE}: the times of a log are those of {REPLAY}: leave them out");
    }
    match (has_stages, load.connections.stages().is_empty()) {
        (false, true) => Ok(()),
        (true, true) => check_stages_of(load),
        (false, false) => check_connection_stages_of(load),
        (true, false) => bail!("{STAGES} are all rates or all connections"),
    }
}

/// Checks that the rest of a load fits its stages of connections.
fn check_connection_stages_of(load: &Load) -> Result<()> {
    let stages = load.connections.stages();
    check_connection_stages(stages).map_err(|why| anyhow!("{STAGES}: {why}"))?;
    if load.is_open_loop() || load.in_flight_max.is_some() {
        bail!(
            "{STAGES} of connections are those of a closed loop: leave out {RATE} and {IN_FLIGHT}"
        );
    }
    check_has_own_length(load)?;
    check_warmup_of_stages(load, stages[0].from == 0, "number of connections")
}

/// Checks that nothing but the stages ends a load.
fn check_has_own_length(load: &Load) -> Result<()> {
    if load.duration_ns.is_some() || load.requests.is_some() {
        bail!("{STAGES} have a length of their own: leave out {DURATION} and {REQUESTS}");
    }
    Ok(())
}

/// Checks that stages begin at a planned time, and that there is a load to warm up with.
fn check_warmup_of_stages(load: &Load, begins_at_0: bool, what: &str) -> Result<()> {
    if load.warmup.is_auto {
        bail!("{STAGES} begin at a planned time: give {WARMUP} a length instead of auto");
    }
    if begins_at_0 && load.warmup.span_ns > 0 {
        bail!(
            "{STAGES}: the first {what} is 0, so there is nothing to warm up with: give {WARMUP} 0"
        );
    }
    Ok(())
}

/// Checks that nothing else than a replayed log has the requests or the load.
fn check_replay(spec: &RunSpec) -> Result<()> {
    let load = &spec.load;
    let others = [
        (LIST, spec.list.is_some()),
        (SCRIPT, spec.script.is_some()),
        (BODY, spec.request.body.is_some()),
        (METHOD, spec.request.method.is_some()),
        (RATE, load.constant_rate().is_some()),
        (STAGES, !load.stages().is_empty()),
        (REQUESTS, load.requests.is_some()),
        (PIPELINE, load.pipeline > 1),
        (PROVE_CLIENT, spec.checks.prove_client),
    ];
    let other = others.into_iter().find(|(_, is_given)| *is_given && spec.replay.is_some());
    if let Some((setting, _)) = other {
        bail!("{REPLAY} has its own requests and times: leave out {setting}");
    }
    if spec.replay.is_some() && spec.compat.is_some() {
        bail!("{REPLAY} is no load of wrk or wrk2");
    }
    if spec.replay.is_some() && spec.target.url.is_empty() {
        bail!("{REPLAY} needs the URL of a server: the hosts in a log are not used");
    }
    Ok(())
}

/// Checks that the rest of a load fits its stages.
fn check_stages_of(load: &Load) -> Result<()> {
    check_has_own_length(load)?;
    check_warmup_of_stages(load, load.stages()[0].from.numerator == 0, "rate")
}

/// Returns the conditions that end the load early.
///
/// # Errors
/// When one is wrong, or the load is a part of one.
pub(crate) fn conditions(spec: &RunSpec) -> Result<Vec<AbortCondition>> {
    if spec.part.is_some() && !spec.load.abort.is_empty() {
        bail!("{ABORT} cannot be used with {PART}: each part would end by itself");
    }
    let parsed = spec.load.abort.iter().map(|text| {
        let named = || format!("{ABORT} '{}'", weir_text::brief(text));
        text.parse::<AbortCondition>().with_context(named)
    });
    parsed.collect()
}

/// Checks that a run that only a signal ends needs no other end.
fn check_signal_ends(spec: &RunSpec) -> Result<()> {
    if !spec.load.is_until_signal() {
        return Ok(());
    }
    if spec.compat.is_some() || spec.part.is_some() {
        bail!("a run of wrk or wrk2, or in parts, needs an end: give {DURATION} a length");
    }
    if spec.checks.prove_client {
        bail!(
            "{PROVE_CLIENT} repeats the load for a share of its time, and {DURATION} 0 ends at a \
             signal: give {DURATION} a length"
        );
    }
    Ok(())
}

/// Checks that the plan can be carried out.
fn check(plan: &Plan, scripts: Option<&Scripts>, list: Option<&PreparedList>) -> Result<()> {
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

/// The TLS configuration; `None` for an http URL.
fn tls(
    spec: &RunSpec,
    url: &Url,
    alpn: &[&[u8]],
    inputs: &mut Vec<Input>,
) -> Result<Option<TlsConfig>> {
    if url.is_secure {
        return tls::config(&spec.tls, url, alpn, inputs).map(Some);
    }
    let has_secure_page = spec.watch.has_secure_page();
    tls::check_unused(&spec.tls, has_secure_page)?;
    if has_secure_page {
        // Its files are inputs of the run, though the load has no use for them.
        tls::config(&tls::of_pages(&spec.tls), url, alpn, inputs)?;
    }
    Ok(None)
}

/// True if the plan is so small that it may contain no request.
fn is_sparse(plan: &Plan) -> bool {
    match (plan.load.rate(), plan.load.length_ns()) {
        (Some(rate), Some(span_ns)) => rate.rps() * (span_ns as f64 / 1e9) < 10.0,
        _ => false,
    }
}

/// Maximum threads for which `auto` uses io_uring. Setting up 5,000 rings took 3.2 s, as many epoll
/// descriptors 0.7 s, and both carried the load equally well (two CPUs, Linux 6.18).
const RINGS_MAX: u32 = 1_024;

fn engine(choice: EngineChoice, threads: u32, notes: &mut Vec<Note>) -> Result<IoEngine> {
    if let EngineChoice::Only(engine) = choice {
        let word = engine.info().word;
        let failed = |error| anyhow!("{IO} {word} does not work here: {error}; use {IO} epoll");
        return engine.probe().map(|()| in_documents(engine)).map_err(failed);
    }
    let (id, reason) = if std::env::var_os("LD_PRELOAD").is_some_and(|value| !value.is_empty()) {
        let reason = format!(
            "LD_PRELOAD is set: epoll is used, since preloaded libraries do not see io_uring; {IO} \
             uring forces it"
        );
        ("epoll_for_preload", reason)
    } else if threads > RINGS_MAX {
        let reason = format!(
            "epoll is used: {threads} threads start sooner with it; {IO} uring forces io_uring"
        );
        ("epoll_for_threads", reason)
    } else if let Err(error) = Engine::Uring.probe() {
        ("epoll_fallback", format!("epoll is used: {error}"))
    } else {
        return Ok(IoEngine::IoUring);
    };
    notes.push(Note::new(id, reason));
    Ok(IoEngine::Epoll)
}

/// Returns the engine by which documents name one of weir-io.
fn in_documents(engine: Engine) -> IoEngine {
    IoEngine::named(engine.name()).expect("documents have every engine, as a test demands")
}

#[cfg(test)]
mod tests {
    use weir_io::ENGINES;
    use weir_result::{Arrivals, ConnectionLoad, Rate};

    use super::*;

    /// Flags check these too, but a specification may come from a file.
    #[test]
    fn a_specification_has_a_useful_end() {
        let check = |change: fn(&mut RunSpec), part: &str| {
            let mut spec = RunSpec::new("http://h/");
            change(&mut spec);
            let error = check_spec(&spec).map_err(|error| format!("{error:#}"));
            assert!(error.as_ref().is_err_and(|text| text.contains(part)), "{part}: {error:?}");
        };
        check(|spec| spec.load.duration_ns = Some(0), "has one above 0");
        check(|spec| spec.load.requests = Some(0), "has one above 0");
        check(
            |spec| {
                spec.load.duration_ns = None;
                spec.checks.prove_client = true;
            },
            "`load.duration_ns` 0 ends at a signal",
        );
        check(
            |spec| {
                let dialect = crate::spec::Dialect::Wrk;
                spec.load.duration_ns = None;
                spec.compat = Some(crate::spec::CompatSpec { dialect, batch_times: false });
            },
            "give `load.duration_ns` a length",
        );
        check(
            |spec| spec.load.connections = ConnectionLoad::Growing { first: 10, most: 20 },
            "`load.connections.most` needs planned times, which a closed loop has not",
        );
        check(
            |spec| {
                let rate = Rate { numerator: 5, denominator: 1 };
                let arrivals = Arrivals::Uniform;
                spec.load.due = Some(DueTimes::constant(rate, arrivals));
                spec.load.connections = ConnectionLoad::Growing { first: 10, most: 10 };
            },
            "is not above the number at the start",
        );
        check(
            |spec| {
                let dialect = crate::spec::Dialect::Wrk2;
                spec.load.in_flight_max = Some(20);
                spec.compat = Some(crate::spec::CompatSpec { dialect, batch_times: false });
            },
            "`load.in_flight_max` cannot be used in a run of wrk or wrk2",
        );
        check(
            |spec| spec.load.abort = vec!["x".to_owned()],
            "`load.abort` 'x': there is no comparison",
        );
        let mut endless = RunSpec::new("http://h/");
        endless.load.duration_ns = None;
        endless.load.abort = vec!["errors > 5% for 5s".to_owned()];
        check_spec(&endless).expect("a signal ends it, or a condition");
    }

    #[test]
    fn a_replayed_log_has_all_requests_and_times() {
        let replay = || crate::spec::ReplaySpec {
            file: crate::spec::InputFile::at("access.log"),
            format: None,
            speed: weir_result::Speed::default(),
            sends_unsafe: false,
            groups: Vec::new(),
        };
        let check = |change: fn(&mut RunSpec), part: &str| {
            let mut spec = RunSpec { replay: Some(replay()), ..RunSpec::new("http://h/") };
            change(&mut spec);
            let error = check_spec(&spec).map_err(|error| format!("{error:#}"));
            assert!(error.as_ref().is_err_and(|text| text.contains(part)), "{part}: {error:?}");
        };
        check(|spec| spec.list = Some(crate::spec::ListSpec::default()), "out `list.source`");
        check(|spec| spec.load.requests = Some(5), "leave out `load.requests`");
        check(|spec| spec.load.pipeline = 2, "leave out `load.pipeline`");
        check(|spec| spec.request.method = Some("PUT".to_owned()), "leave out `request.method`");
        check(|spec| spec.target.url.clear(), "needs the URL of a server");
        let spec = RunSpec { replay: Some(replay()), ..RunSpec::new("http://h/") };
        check_spec(&spec).expect("a log and a URL are enough");
        let text = serde_json::to_string(&spec).expect("UTF-8");
        assert_eq!(RunSpec::from_json(text.as_bytes()).expect("what was written"), spec);
    }

    #[test]
    fn documents_have_every_engine() {
        for info in ENGINES {
            assert_eq!(in_documents(info.engine).to_string(), info.name);
        }
    }
}
