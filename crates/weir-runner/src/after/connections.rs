//! Notes on the connections of a finished run.

use std::io;

use weir_result::document::ConnectionFailure;
use weir_result::{FailureCause, FailurePhase, Histogram, Measurements, Note, Plan};
use weir_text::setting::{CLOSE, CONNECTION_LIFETIME, SOURCE_IP};
use weir_text::units;

use crate::prepare::server_wait::ServerWait;
use crate::run::health::ephemeral_port_count;
use crate::run::load::LoadOutcome;
use crate::spec::RunSpec;

/// Most reasons of ended connections that an error names.
const REASONS_MAX: usize = 3;

/// The error of a run that ended before its warm-up because no connection could be opened.
pub(crate) fn no_server(spec: &RunSpec, outcome: &LoadOutcome) -> Option<Note> {
    if !outcome.is_unconnected {
        return None;
    }
    let plan = &outcome.parts.given.plan;
    let address = match &plan.connection.destinations[..] {
        [] => plan.target.address.clone(),
        several => several.join(", "),
    };
    let failures = &outcome.parts.measurements.connections.failures;
    let is_tls = failures.keys().any(|kind| matches!(kind.cause, FailureCause::Tls(_)));
    let has_response = failures.keys().any(|kind| matches!(kind.cause, FailureCause::Protocol(_)));
    let mut reasons: Vec<String> =
        failures.iter().map(|(kind, count)| ConnectionFailure::of(*kind, *count).text).collect();
    reasons.dedup();
    let goaways = outcome.parts.measurements.connections.goaways.keys();
    let end = plan.connection_end();
    let ended: Vec<String> = goaways
        .take(REASONS_MAX)
        .map(|reason| format!("the server ended the connection ({}: {reason})", end.frame))
        .collect();
    let remedy = match (has_response, !ended.is_empty()) {
        _ if is_tls => "check the server's TLS",
        (true, _) => "check the URL and the server",
        (false, true) => end.remedy,
        (false, false) => "start the server",
    };
    reasons.extend(ended);
    let failure = format!("cannot connect to {address}: {}", reasons.join(", "));
    let error = ServerWait::new(&spec.target).give_up(failure, remedy);
    Some(Note::new("no_server", error.to_string()))
}

/// The note on connections that could not be opened because no local port was free.
pub(crate) fn out_of_ports(plan: &Plan, measurements: &Measurements) -> Option<Note> {
    let is_out = |cause| match cause {
        FailureCause::Errno(number) => {
            io::Error::from_raw_os_error(number).kind() == io::ErrorKind::AddrNotAvailable
        }
        _ => false,
    };
    let failures = measurements.connections.failures.iter();
    let of_ports =
        failures.filter(|(kind, _)| kind.phase == FailurePhase::Connect && is_out(kind.cause));
    let count: u64 = of_ports.map(|(_, count)| count).sum();
    if count == 0 {
        return None;
    }
    let remedy = match plan.connection.sources.is_empty() {
        true => format!("use {SOURCE_IP} with several addresses"),
        false => format!("give more addresses for {SOURCE_IP}"),
    };
    let text = format!(
        "{} connects failed: no local port was free (each pair of addresses has {}, and a closed \
         connection keeps its port for a minute); {remedy}",
        units::count(count),
        ephemeral_port_count().map_or_else(|| "some thousands".to_owned(), units::count),
    );
    Some(Note::new("out_of_ports", text))
}

/// The note on connections that reach their lifetime before they carry a request, because a connect
/// takes longer.
pub(crate) fn short_lifetime(plan: &Plan, measurements: &Measurements) -> Option<Note> {
    let lifetime_ns = plan.connection.lifetime_ns?;
    let median = |times: &Histogram| times.value_at_rank(times.count().div_ceil(2)).unwrap_or(0);
    let steps = [&measurements.connect, &measurements.tls_handshake, &measurements.opening];
    let connect_ns: u64 = steps.into_iter().map(median).sum();
    let text = format!(
        "{CONNECTION_LIFETIME} {} is less than a connect takes (median {}), so most of the time \
         goes into connects; raise it, or use {CLOSE} client",
        units::exact_duration(lifetime_ns),
        units::duration(connect_ns),
    );
    (lifetime_ns < connect_ns).then(|| Note::new("short_lifetime", text))
}

/// The note on more threads than CPUs, with the share of the window in which they waited for a CPU.
pub(crate) fn crowding(plan: &Plan, cpus: usize, measurements: &Measurements) -> Option<Note> {
    if plan.own_threads() as usize <= cpus {
        return None;
    }
    let usages = || measurements.workers.iter().map(|phases| phases.usage);
    let wall_ns: u64 = usages().map(|usage| usage.wall_ns).sum();
    let waited_ns: u64 = usages().filter_map(|usage| usage.run_delay_ns).sum();
    let share = (wall_ns > 0).then(|| units::percent(waited_ns as f64 / wall_ns as f64))?;
    let text = format!(
        "{} threads on {cpus} CPU{} waited {share} of the window for a CPU, which is part of their \
         latencies",
        plan.own_threads(),
        if cpus == 1 { "" } else { "s" },
    );
    Some(Note::new("threads_waited", text))
}

#[cfg(test)]
mod tests {
    use weir_result::{ConnectionPlan, FailureKind, WorkerPhases, WorkerUsage};

    use super::*;

    #[test]
    fn the_note_on_used_up_ports_has_the_remedy() {
        // EADDRNOTAVAIL and ECONNREFUSED.
        for (errno, phase, ranges, part) in [
            (99, FailurePhase::Connect, None, Some("`connection.sources` with several")),
            (99, FailurePhase::Connect, Some("127.0.0.1"), Some("more addresses for")),
            (111, FailurePhase::Connect, None, None),
            (99, FailurePhase::Idle, None, None),
        ] {
            let mut measurements = Measurements::default();
            let kind = FailureKind { phase, cause: FailureCause::Errno(errno) };
            measurements.connections.failures.insert(kind, 1_234);
            let range = |text: &str| text.parse().expect("a range of addresses");
            let sources = ranges.map(range).into_iter().collect();
            let connection = ConnectionPlan { sources, ..ConnectionPlan::default() };
            let plan = Plan { connection, ..Plan::default() };
            let note = out_of_ports(&plan, &measurements).map(|note| note.text);
            let fits = part.is_none_or(|part| {
                note.as_ref().is_some_and(|text| text.contains(part) && text.contains("1,234"))
            });
            assert!(fits && note.is_some() == part.is_some(), "{errno}, {phase:?}: {note:?}");
        }
    }

    #[test]
    fn lifetimes_below_the_connect_time_are_noted() {
        for (lifetime_ns, connect_ns, is_noted) in [
            (Some(1_000_000), 2_000_000, true),
            (Some(3_000_000), 2_000_000, false),
            (Some(1_000_000), 0, false),
            (None, 2_000_000, false),
        ] {
            let mut measurements = Measurements::default();
            if connect_ns > 0 {
                measurements.connect.record(connect_ns);
            }
            let connection = ConnectionPlan { lifetime_ns, ..ConnectionPlan::default() };
            let plan = Plan { connection, ..Plan::default() };
            let note = short_lifetime(&plan, &measurements).map(|note| note.text);
            let fits = note.as_ref().is_some_and(|text| {
                text.contains("`connection.lifetime_ns` 1 ms") && text.contains("median 2.00 ms")
            });
            assert_eq!((fits, note.is_some()), (is_noted, is_noted), "{lifetime_ns:?}: {note:?}");
        }
    }

    #[test]
    fn the_note_on_crowded_threads_has_their_wait() {
        let usage = |run_delay_ns| WorkerUsage {
            wall_ns: 1_000,
            run_delay_ns: Some(run_delay_ns),
            ..WorkerUsage::default()
        };
        let workers = [100, 300].map(|ns| WorkerPhases { usage: usage(ns), ..Default::default() });
        let measurements = Measurements { workers: workers.to_vec(), ..Measurements::default() };
        let plan = Plan { threads: 2, ..Plan::default() };
        let note = crowding(&plan, 1, &measurements).expect("more threads than CPUs");
        assert!(note.text.contains("waited 20") && note.text.contains("1 CPU"), "{}", note.text);
        assert_eq!(crowding(&plan, 2, &measurements), None);
    }
}
