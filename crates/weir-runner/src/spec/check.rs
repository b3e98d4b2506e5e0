//! The checks of a specification, whether it comes from flags, from a file or from another machine.

use anyhow::{Context, Result, anyhow, bail};
use weir_result::{ListOrder, Load, check_connection_stages};
use weir_text::setting::{
    ABORT, BODY, CONNECTION_LIFETIME, CONNECTIONS, CONNECTIONS_MAX, DURATION, EXPECT_MAX_BODY,
    FORM_FIELD, GRPC, GRPC_BINARY, H2_WINDOW, HPACK_TABLE, HTTP, IN_FLIGHT, LIST, LIST_ORDER,
    MESSAGES, METHOD, PART, PIPELINE, PROVE_CLIENT, RATE, REDIRECTS, REPLAY, REQUESTS, SCENARIO,
    SCRIPT, STAGES, STREAMS, THREADS, WARMUP,
};
use weir_text::units::exact_duration;
use weir_verdict::AbortCondition;

use super::url::Url;
use super::{BodySpec, HttpChoice, ListSpec, RunSpec, SPEC_VERSION, limits};
use crate::errors::Error;

impl RunSpec {
    /// Checks its values, and that none excludes another. Nothing is read for that.
    ///
    /// # Errors
    /// When it cannot be carried out; the message has the remedy.
    pub(crate) fn check(&self) -> Result<()> {
        let spec = self;
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
        check_numbers(spec)?;
        check_grpc(spec)?;
        check_replay(spec)?;
        if spec.list.as_ref().is_some_and(ListSpec::has_scenarios) {
            spec.check_users()?;
        }
        check_redirects(spec)?;
        spec.check_whole_load()
    }

    /// Checks the load, its part on this machine and its end: all that depends neither on the
    /// server nor on the requests.
    ///
    /// # Errors
    /// When one choice excludes another; the message has the remedy.
    pub fn check_load(&self) -> Result<(), Error> {
        Ok(self.check_whole_load()?)
    }

    /// Checks that its other choices fit users, with scenarios or with the sessions of a list.
    ///
    /// # Errors
    /// When one does not; the message has the reason.
    pub(crate) fn check_users(&self) -> Result<()> {
        check_users(self)
    }

    fn check_whole_load(&self) -> Result<()> {
        check_part(self)?;
        check_open_loop(self)?;
        check_signal_ends(self)?;
        check_abort(self)?;
        let load = &self.load;
        let has_stages = !load.stages().is_empty();
        load.check().map_err(|why| anyhow!("{}: {why}", if has_stages { STAGES } else { RATE }))?;
        if has_stages && is_once(self) {
            bail!(
                "{LIST_ORDER} once ends when each request was sent, and {STAGES} at their own \
                 time: leave one of them out"
            );
        }
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

    /// Returns the conditions that end the load early.
    ///
    /// # Errors
    /// When one is wrong.
    pub(crate) fn abort_conditions(&self) -> Result<Vec<AbortCondition>> {
        let parsed = self.load.abort.iter().map(|text| {
            let named = || format!("{ABORT} '{}'", weir_text::brief(text));
            text.parse::<AbortCondition>().with_context(named)
        });
        parsed.collect()
    }
}

/// Checks each number by itself.
fn check_numbers(spec: &RunSpec) -> Result<()> {
    let RunSpec { load, http, connection, engine, expect, .. } = spec;
    let of_settings = [
        (CONNECTIONS, limits::COUNT, Some(load.connections.count().into())),
        (THREADS, limits::THREADS, engine.threads.map(u64::from)),
        (PIPELINE, limits::DEPTH, Some(load.pipeline.into())),
        (STREAMS, limits::DEPTH, http.streams.map(u64::from)),
        (H2_WINDOW, limits::WINDOW, Some(http.window_bytes.into())),
        (HPACK_TABLE, limits::TABLE, Some(http.header_table_bytes.into())),
        (REQUESTS, limits::COUNT, load.requests),
        (CONNECTION_LIFETIME, limits::SPAN, connection.lifetime_ns),
        (EXPECT_MAX_BODY, limits::DECODED_BODY, Some(expect.body_max_bytes)),
    ];
    for (setting, limit, value) in of_settings {
        let checked = value.map_or(Ok(()), |value| limit.check(value));
        checked.map_err(|why| anyhow!("{setting} {why}"))?;
    }
    let of_fields = [
        ("load.timeout_ns", limits::SPAN, Some(load.timeout_ns)),
        ("load.connect_timeout_ns", limits::SPAN, Some(load.connect_timeout_ns)),
        ("connection.requests", limits::COUNT, connection.requests.map(u64::from)),
        ("engine.tick_ns", limits::SPAN, engine.tick_ns),
    ];
    for (field, limit, value) in of_fields {
        let checked = value.map_or(Ok(()), |value| limit.check(value));
        checked.map_err(|why| anyhow!("`{field}` {why}"))?;
    }
    if load.duration_ns == Some(0) {
        bail!("a run that ends with a duration has one above 0");
    }
    if connection.rate.is_some_and(|rate| rate.numerator == 0 || rate.denominator == 0) {
        bail!("the rate of connects is above 0");
    }
    Ok(())
}

/// Checks that a part gives every machine the same plan, and a share of it.
fn check_part(spec: &RunSpec) -> Result<()> {
    let Some(part) = spec.part else { return Ok(()) };
    let Some(threads) = spec.engine.threads else {
        bail!("{PART} needs {THREADS}: the number over all parts, the same on each machine");
    };
    let needed = part.workers_min();
    if threads.min(spec.load.connections.count()) < needed {
        bail!(
            "{PART}: the {} parts need {needed} threads and as many connections, so that each has \
             its share: raise {THREADS} or {CONNECTIONS} to {needed} or more",
            part.count()
        );
    }
    if spec.load.is_until_signal() {
        bail!(
            "{PART} cannot be used with {DURATION} 0: each part would end at its own signal; give \
             a length"
        );
    }
    if !spec.load.abort.is_empty() {
        bail!("{ABORT} cannot be used with {PART}: each part would end by itself");
    }
    if spec.load.warmup.is_auto {
        bail!(
            "{PART} cannot be used with {WARMUP} auto: each part would end its own warm-up; give a \
             length"
        );
    }
    if spec.checks.prove_client {
        bail!("{PART} cannot be used with {PROVE_CLIENT}, which repeats the whole load");
    }
    Ok(())
}

/// Checks that the other choices of a run fit calls.
///
/// # Errors
/// When one does not; the message has the reason.
fn check_grpc(spec: &RunSpec) -> Result<()> {
    let Some(grpc) = &spec.grpc else { return Ok(()) };
    grpc.name()?;
    if spec.compat.is_some() {
        bail!("{GRPC} needs HTTP/2, which the dialect has not: use weir's own form");
    }
    let is_form = matches!(spec.request.body, Some(BodySpec::Form(_)));
    let is_filler = matches!(spec.request.body, Some(BodySpec::Filler(_))) && !grpc.is_binary;
    let problem = match spec.http.version {
        HttpChoice::Http10 | HttpChoice::Http11 => format!("needs HTTP/2: drop {HTTP}"),
        _ if spec.load.pipeline > 1 => format!("is HTTP/2, which has streams: drop {PIPELINE}"),
        _ if spec.script.is_some() => format!("makes the requests: drop {SCRIPT}"),
        _ if spec.replay.is_some() => format!("makes the requests: drop {REPLAY}"),
        _ if spec.messages.protocol.is_some() => format!("has messages itself: drop {MESSAGES}"),
        _ if spec.request.method.is_some() => format!("is POST: drop {METHOD}"),
        _ if is_form => format!("takes messages, and no form: drop {FORM_FIELD}"),
        _ if is_filler => format!("takes JSON, and no filler: give {BODY}, or {GRPC_BINARY}"),
        _ => return Ok(()),
    };
    bail!("{GRPC} {problem}");
}

/// Checks that the other choices of a run fit requests that follow redirects.
///
/// # Errors
/// When one does not; the message has the reason.
fn check_redirects(spec: &RunSpec) -> Result<()> {
    if spec.request.redirects == 0 {
        return Ok(());
    }
    let problem = if spec.compat.is_some() {
        "cannot be used in a run of wrk or wrk2".to_owned()
    } else if spec.grpc.is_some() {
        format!("is for pages, and calls of gRPC have no redirects: drop {GRPC}")
    } else if spec.script.is_some() {
        format!("needs requests that no script makes: drop {SCRIPT}")
    } else if spec.replay.is_some() {
        format!("would send more than the log has: drop {REPLAY}")
    } else if spec.load.pipeline > 1 {
        format!("waits for each response before it goes on: drop {PIPELINE}")
    } else {
        return Ok(());
    };
    bail!("{REDIRECTS} {problem}");
}

/// Checks that the other choices of a run fit users, with scenarios or with the sessions of a list.
///
/// # Errors
/// When one does not; the message has the reason.
fn check_users(spec: &RunSpec) -> Result<()> {
    let has_scenarios = spec.list.as_ref().is_some_and(ListSpec::has_scenarios);
    let setting = if has_scenarios { SCENARIO } else { LIST };
    let has_streams = spec.http.streams.is_some_and(|streams| streams > 1);
    let url = Url::parse(&spec.target.url).ok().filter(|_| has_scenarios);
    if let Some(Url { path, .. }) = url.filter(|url| url.path != "/") {
        bail!("{SCENARIO} has the paths of its steps: write them with {path}, and the URL without");
    }
    let problem = match &spec.request.body {
        _ if spec.compat.is_some() => "cannot be used in a run of wrk or wrk2".to_owned(),
        _ if spec.grpc.is_some() => format!("sends no calls of gRPC: drop {GRPC}"),
        _ if spec.script.is_some() => format!("has the requests: drop {SCRIPT}"),
        _ if spec.replay.is_some() => format!("has the requests: drop {REPLAY}"),
        _ if has_scenarios && spec.request.method.is_some() => {
            format!("has the methods of its steps: drop {METHOD}")
        }
        Some(_) if has_scenarios => format!("has the bodies of its steps: drop {BODY}"),
        _ if spec.load.pipeline > 1 => {
            format!("has users with one request at a time: drop {PIPELINE}")
        }
        _ if has_streams && !spec.load.connections.stages().is_empty() => {
            format!("has one user on each connection with {STAGES} of connections: drop {STREAMS}")
        }
        _ => return Ok(()),
    };
    bail!("{setting} {problem}");
}

/// Checks connections that grow, and a limit of requests in flight.
///
/// # Errors
/// When the load is no open loop of weir's own, the range of connections is empty, or a script
/// makes requests of which some would be shed. The message has the remedy.
fn check_open_loop(spec: &RunSpec) -> Result<()> {
    let load = &spec.load;
    let first = load.connections.count();
    let grows_to = load.connections.grows_to();
    let given = [(CONNECTIONS_MAX, grows_to.is_some()), (IN_FLIGHT, load.in_flight_max.is_some())];
    let Some((setting, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    if spec.compat.is_some() {
        bail!("{setting} cannot be used in a run of wrk or wrk2, whose connections are fixed");
    }
    match grows_to {
        _ if load.is_open_loop() => {}
        Some(most) => bail!(
            "{CONNECTIONS_MAX} {first}..{most} needs a rate: a closed loop has no request that \
             waits for a connection; add {RATE}, give {CONNECTIONS} one number, or use {STAGES} \
             1m@c={first}..{most}"
        ),
        None => bail!(
            "{IN_FLIGHT} needs a rate: a closed loop has no more requests in flight than \
             connections; add {RATE}, or give their number by {CONNECTIONS}"
        ),
    }
    if grows_to.is_some_and(|most| most <= first) {
        bail!(
            "the greatest number of connections ({CONNECTIONS_MAX}) is not above the number at the \
             start ({CONNECTIONS}): raise it, or leave it out"
        );
    }
    if load.in_flight_max.is_some() && spec.script.is_some() {
        bail!(
            "{IN_FLIGHT} cannot be used with {SCRIPT}, which makes requests ahead of their time, \
             also those that would be shed: leave one of them out"
        );
    }
    Ok(())
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

/// Checks that a run that only a signal ends needs no other end.
fn check_signal_ends(spec: &RunSpec) -> Result<()> {
    if !spec.load.is_until_signal() {
        return Ok(());
    }
    if spec.compat.is_some() {
        bail!("a run of wrk or wrk2 needs an end: give {DURATION} a length");
    }
    if spec.checks.prove_client {
        bail!(
            "{PROVE_CLIENT} repeats the load for a share of its time, and {DURATION} 0 ends at a \
             signal: give {DURATION} a length"
        );
    }
    Ok(())
}

/// True if each request of a list is sent once, which ends the load.
fn is_once(spec: &RunSpec) -> bool {
    spec.list.as_ref().is_some_and(|list| list.order == ListOrder::Once)
}

/// Checks that each condition can hold for as long as it must, unless the requests end the load.
fn check_abort(spec: &RunSpec) -> Result<()> {
    let conditions = spec.abort_conditions()?;
    if spec.replay.is_some() || is_once(spec) {
        return Ok(());
    }
    let Some(window_ns) = spec.load.length_ns() else { return Ok(()) };
    match conditions.iter().find(|condition| condition.for_ns() > window_ns) {
        Some(condition) => bail!(
            "{ABORT} '{condition}' can never hold that long: the load lasts {}; shorten the time \
             behind 'for', or raise {DURATION}",
            exact_duration(window_ns)
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, ConnectionLoad, DueTimes, Rate};

    use super::*;

    #[test]
    fn a_specification_has_a_useful_end() {
        let check = |change: fn(&mut RunSpec), part: &str| {
            let mut spec = RunSpec::new("http://h/");
            change(&mut spec);
            let error = spec.check().map_err(|error| format!("{error:#}"));
            assert!(error.as_ref().is_err_and(|text| text.contains(part)), "{part}: {error:?}");
        };
        check(|spec| spec.load.duration_ns = Some(0), "has one above 0");
        check(|spec| spec.load.requests = Some(0), "`load.requests` must be at least 1");
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
            "`load.connections.most` 10..20 needs a rate: a closed loop has no request that waits",
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
        endless.check().expect("a signal ends it, or a condition");
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
            let error = spec.check().map_err(|error| format!("{error:#}"));
            assert!(error.as_ref().is_err_and(|text| text.contains(part)), "{part}: {error:?}");
        };
        check(|spec| spec.list = Some(ListSpec::default()), "out `list.source`");
        check(|spec| spec.load.requests = Some(5), "leave out `load.requests`");
        check(|spec| spec.load.pipeline = 2, "leave out `load.pipeline`");
        check(|spec| spec.request.method = Some("PUT".to_owned()), "leave out `request.method`");
        check(|spec| spec.target.url.clear(), "needs the URL of a server");
        let spec = RunSpec { replay: Some(replay()), ..RunSpec::new("http://h/") };
        spec.check().expect("a log and a URL are enough");
        let text = serde_json::to_string(&spec).expect("UTF-8");
        assert_eq!(RunSpec::from_json(text.as_bytes()).expect("what was written"), spec);
    }
}
