//! The line `Load`: the delivery of the planned load (METHOD 1.9).

use crate::target::silent_share;
use crate::thresholds::{LATE_NS, LATE_SHARE, NEVER_SENT_SHARE};
use weir_result::document::{Delivery, Limit, LimitedBy, LoadLine};
use weir_result::{Document, FailurePhase};
use weir_text::units;

/// Derives the line.
pub(crate) fn of(document: &Document, limit: &Limit) -> LoadLine {
    if let Some(text) = missing_connections(document).or_else(|| never_sent(document, limit)) {
        return LoadLine { delivery: Delivery::Incomplete, text };
    }
    if let Some(text) = late(document) {
        return LoadLine { delivery: Delivery::Late, text };
    }
    LoadLine { delivery: Delivery::AsPlanned, text: as_planned(document) }
}

fn as_planned(document: &Document) -> String {
    let connections = document.covered_connections();
    let noun = if connections == 1 { "connection" } else { "connections" };
    let counted = || {
        let counted = format!("{} {noun}", units::count(connections.into()));
        match document.plan.load.connections.stages().len() {
            0 => counted,
            1 => format!("up to {counted} in 1 stage"),
            stages => format!("up to {counted} in {stages} stages"),
        }
    };
    let covered = document.offered_in_words().unwrap_or_else(counted);
    if document.share() >= 1.0 {
        return format!("as planned: {covered}");
    }
    let whole = match document.plan.load.rate() {
        Some(rate) => rate.to_string(),
        None => units::count(document.plan.load.connections.count().into()),
    };
    format!("as planned: {covered}, of {whole} over all parts")
}

/// Reports connections that were planned and not open when the window began.
fn missing_connections(document: &Document) -> Option<String> {
    let connections = &document.connections;
    let (requested, open) = match document.plan.load.connections.stages().is_empty() {
        // They come later too.
        false if !connections.failures.is_empty() => {
            (document.covered_connections().into(), connections.open_max)
        }
        _ => (connections.requested, connections.open_at_t0),
    };
    if open >= requested || connections.were_renewed() {
        return None;
    }
    let worst = connections.failures.iter().max_by_key(|failure| failure.count);
    let why = worst.map_or_else(String::new, |failure| format!(": {}", failure.text));
    let requested = units::count(requested);
    let open = units::count(open);
    Some(format!("{open} of {requested} connections opened{why}"))
}

/// Reports requests that were due and never sent, with the reason.
fn never_sent(document: &Document, limit: &Limit) -> Option<String> {
    let results = &document.results;
    let planned = results.planned;
    let missing = results.outcomes.never_sent;
    let share = missing as f64 / planned.max(1) as f64;
    // One request at the edge of the window is not a missed plan.
    if missing <= 1 || share < NEVER_SENT_SHARE {
        return None;
    }
    let connections = document.covered_connections_max();
    let shed = results.outcomes.unsent_by_plan();
    let why = match (limit.by, document.run.interrupted) {
        (_, true) if document.run.aborted.is_some() => "the run was aborted".to_owned(),
        (_, true) => "the run was interrupted".to_owned(),
        _ if shed > missing / 2 => {
            let most = document.plan.load.in_flight_max.map_or(0, u64::from);
            let of_all = match shed == missing {
                true => String::new(),
                false => format!("{} ", units::count(shed)),
            };
            format!("{of_all}shed while {} were in flight", units::count(most))
        }
        (LimitedBy::ClientCpu, _) => "the client had no CPU time for them".to_owned(),
        _ if let Some(why) = refused(document).filter(|_| silent_share(document) > 0.0) => {
            format!("connections did not open: {why}")
        }
        _ if connections == 1 => "the connection was busy".to_owned(),
        _ => format!("all {} connections were busy", units::count(connections.into())),
    };
    let missing = units::count(missing);
    let planned = units::count(planned);
    let share = units::short_percent(share);
    Some(format!("{share} never sent ({missing} of {planned} requests): {why}"))
}

/// Returns the most frequent reason for which connections did not open, if some did not.
fn refused(document: &Document) -> Option<&str> {
    let failures = document.connections.failures.iter();
    let connects = failures.filter(|failure| failure.phase == FailurePhase::Connect);
    connects.max_by_key(|failure| failure.count).map(|failure| &*failure.text)
}

/// Reports the lateness of sends, and its cause.
fn late(document: &Document) -> Option<String> {
    let results = &document.results;
    let latency = &document.latency;
    let lag = latency.send_lag.ok.percentile(99.0)?.ns;
    let p50_ns = results.service_time.ok.percentile(50.0).map_or(0, |value| value.ns);
    if lag as f64 <= LATE_NS.max(LATE_SHARE * p50_ns as f64) {
        return None;
    }
    // Requests that came due while the client was stopped wait for connections for about as long.
    let caught_up = document.phases.iter().map(|phases| phases.usage.catch_up_lag_ns).max();
    let of_client = latency.sched_lag.ok.max_ns.max(caught_up).unwrap_or(0);
    let why = match of_client >= lag / 2 {
        true => "the client was late",
        false if document.is_below_connections_max() => "they waited for a connection to open",
        false => "they waited for a free connection",
    };
    let lag = units::duration(lag);
    Some(format!("late: 1% of requests were sent {lag} or more after they were due: {why}"))
}
