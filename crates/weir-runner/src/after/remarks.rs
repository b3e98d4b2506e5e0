//! Notes attached to a finished run.

use weir_engine::Job;
use weir_io::Nanos;
use weir_result::{Document, Measurements, Note, Plan};
use weir_text::setting::{MESSAGES, START_AT, TLS_RESUME, TOKENS};
use weir_text::units;

use crate::after::{connections, prove_client};
use crate::before::selfcheck;
use crate::prepare::script;
use crate::prepare::threads::usable_cpus;
use crate::run::load::LoadOutcome;

/// Notes attached to the finished run.
pub(crate) fn remarks(job: &Job, outcome: &LoadOutcome, has_preflight: bool) -> Vec<Note> {
    let plan = &outcome.parts.given.plan;
    let measurements = &outcome.parts.measurements;
    let mut notes: Vec<Note> = gave_up(outcome).into_iter().collect();
    notes.extend(script::notes(plan, measurements, !outcome.failures.is_empty()));
    notes.extend(mostly_errors(outcome, has_preflight));
    notes.extend(connections::out_of_ports(plan, measurements));
    notes.extend(connections::short_lifetime(plan, measurements));
    notes.extend(connections::crowding(plan, usable_cpus().len(), measurements));
    notes.extend(of_trials(&outcome.parts.given));
    notes.extend(started_late(job, measurements));
    notes.extend(not_resumed(measurements));
    notes.extend(unmeasured_streams(plan, measurements));
    for failure in &outcome.failures {
        notes.push(Note::new("script_failed", script::describe(failure)));
    }
    notes
}

/// Notes on the short runs beside the load.
fn of_trials(given: &Document) -> impl Iterator<Item = Note> {
    let floor = given.selfcheck.map(|floor| selfcheck::describe(&floor));
    let proof = given.prove_client.map(|proof| prove_client::describe(&proof));
    let floor = floor.map(|text| Note::new("noise_floor", text));
    floor.into_iter().chain(proof.map(|text| Note::new("prove_client", text)))
}

/// The note on a run whose responses are mostly errors, unless the preflight received a response.
fn mostly_errors(outcome: &LoadOutcome, has_preflight: bool) -> Option<Note> {
    let outcomes = &outcome.parts.measurements.results.outcomes;
    if has_preflight || outcomes.bad_response <= outcomes.ok {
        return None;
    }
    let responses = outcomes.ok + outcomes.bad_response;
    let problem = match outcome.parts.measurements.results.missed.is_empty() {
        true => "have a status of 400 or above",
        false if outcome.parts.given.plan.expect.is_none() => "are streams that failed",
        false => "miss an expectation",
    };
    let text = format!(
        "{} of {} responses {problem}: the latencies are those of errors",
        units::count(outcomes.bad_response),
        units::count(responses),
    );
    Some(Note::new("mostly_errors", text))
}

/// The note on responses that are streams of events, in a run that does not measure messages.
fn unmeasured_streams(plan: &Plan, measurements: &Measurements) -> Option<Note> {
    let is_found = measurements.event_streams && plan.messages.is_none();
    let text = format!(
        "the responses are streams of events (text/event-stream), of which only the whole is \
         measured: {MESSAGES} measures each event, {TOKENS} those that carry a token"
    );
    is_found.then(|| Note::new("event_streams", text))
}

/// The note on sessions that were to be resumed, and were not.
fn not_resumed(measurements: &Measurements) -> Option<Note> {
    let tls = measurements.tls.as_ref().filter(|tls| tls.not_resumed > 0)?;
    let returns = tls.resumed.saturating_add(tls.not_resumed);
    let text = format!(
        "{TLS_RESUME}: the server resumed {} of {} sessions, and {} handshakes were full; enable \
         its session tickets or cache",
        units::count(tls.resumed),
        units::count(returns),
        units::count(tls.not_resumed),
    );
    Some(Note::new("tls_not_resumed", text))
}

/// The note on a run that gave up before its number of requests.
fn gave_up(outcome: &LoadOutcome) -> Option<Note> {
    let plan = &outcome.parts.given.plan;
    let never_sent = outcome.parts.measurements.results.outcomes.never_sent;
    if plan.load.length_ns().is_some()
        || plan.is_until_signal()
        || outcome.signal.is_some()
        || never_sent == 0
    {
        return None;
    }
    let text = match outcome.parts.measurements.connections.connects {
        0 => "no connection could be opened: the run ended early".to_owned(),
        _ => {
            let patience =
                units::exact_duration(plan.load.timeout_ns + plan.load.connect_timeout_ns);
            format!("no response for {patience} (the sum of both timeouts): the run ended early")
        }
    };
    Some(Note::new("gave_up", text))
}

/// The note on a schedule that began after `--start-at`, because the connections were not open yet.
pub(crate) fn started_late(job: &Job, measurements: &Measurements) -> Option<Note> {
    let start = measurements.workers.iter().map(|worker| worker.start_ns).max()?;
    let late_ns = Nanos(start).since(job.not_before);
    (job.not_before > Nanos::ZERO && late_ns > 0).then(|| {
        let text = format!(
            "the load began {} after {START_AT}, when the connections were open: give a later time",
            units::duration(late_ns),
        );
        Note::new("started_late", text)
    })
}
