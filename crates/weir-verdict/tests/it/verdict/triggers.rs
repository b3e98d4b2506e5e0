//! One change for each rule that triggers it, and the resulting outcome.

use weir_result::document::RuleOutcome::{self, Bound, Finding, Note, Void};
use weir_result::document::{NginxSample, NginxSection, ServerLoad, ServerSection};
use weir_result::{DocumentParts, Histogram, HttpPlan, Measurements, WebSocketPlan};

use super::run::{
    EACH, Failure, MS, S, SLICES, US, answer, busy, closed, failing, health, histogram, network,
    program_stopped, read_late, rule, slowed, stopped, well, witness,
};
use crate::fixture;

/// A change to the base run.
pub(crate) type Change = Box<dyn Fn(&mut DocumentParts)>;

/// A rule, its outcome, and a change that triggers it.
pub(crate) type Trigger = (&'static str, RuleOutcome, Change);

fn trigger(
    id: &'static str,
    outcome: RuleOutcome,
    change: impl Fn(&mut DocumentParts) + 'static,
) -> Trigger {
    (id, outcome, Box::new(change))
}

/// Every rule and every outcome beyond `pass` that it can have.
pub(crate) fn all() -> Vec<Trigger> {
    [of_client(), of_machine(), of_load()].into_iter().flatten().collect()
}

fn of_client() -> Vec<Trigger> {
    vec![
        trigger("client-overhead", Finding, read_late(300 * US)),
        trigger("cpu-contention", Finding, |parts| {
            parts.measurements.workers[1].usage.run_delay_ns = Some(700 * MS);
        }),
        trigger("client-cpu", Finding, busy(9 * S)),
        trigger("client-cpu", Bound, busy(99 * S / 10)),
        trigger("client-cpu", Finding, |parts| {
            parts.given.plan.load.duration_ns = Some(S / 2);
            busy(99 * S / 10)(parts);
        }),
        trigger("idle-connections", Finding, idle(90 * S)),
        trigger("idle-connections", Bound, idle(70 * S)),
        trigger("late-sends", Finding, late(300 * US)),
        trigger("late-sends", Bound, late(2 * MS)),
        trigger("probe-thread", Finding, |parts| parts.beside.witness = Some(witness(700 * US))),
        trigger("probe-thread", Bound, |parts| parts.beside.witness = Some(witness(300 * US))),
        trigger("probe-thread", Finding, |parts| {
            parts.beside.witness = Some(witness(40 * US));
            faster(parts, 120 * US);
        }),
        trigger("more-threads", Bound, |parts| {
            (parts.given.selfcheck, parts.given.prove_client) = fixture::trials();
            parts.given.selfcheck = None;
        }),
        trigger("noise-floor", Finding, |parts| {
            (parts.given.selfcheck, parts.given.prove_client) = fixture::trials();
            parts.given.prove_client = None;
            parts.given.selfcheck.as_mut().expect("it is there").service_time.p50_ns = 110 * US;
        }),
        trigger("littles-law", Finding, apart(100 * MS)),
        trigger("littles-law", Void, apart(S)),
        trigger("client-stopped", Finding, stopped(30 * MS)),
        trigger("client-stopped", Bound, stopped(600 * MS)),
        trigger("client-stopped", Void, stopped(6 * S)),
        trigger("client-stopped", Finding, program_stopped(3 * MS, 3 * MS)),
        trigger("client-stopped", Bound, program_stopped(6 * S, 200 * MS)),
        trigger("client-stopped", Void, program_stopped(9 * S, 6 * S)),
    ]
}

fn of_machine() -> Vec<Trigger> {
    vec![
        trigger("cpu-steal", Finding, health(|health| health.steal = Some(0.03))),
        trigger("cpu-quota", Finding, health(|health| health.throttled_ns = Some(50 * MS))),
        trigger("cpu-quota", Bound, health(|health| health.throttled_ns = Some(S))),
        trigger("cpu-pressure", Finding, health(|health| health.cpu_pressure = Some(0.5))),
        trigger(
            "cpu-pressure",
            Note,
            health(|health| {
                health.cpu_pressure = Some(0.5);
                health.is_server_local = Some(true);
            }),
        ),
        trigger("packets-dropped", Finding, health(|health| health.softnet_dropped = Some(900))),
        trigger(
            "retransmissions",
            Finding,
            network(|network| network.retransmitted_segments = 9_000),
        ),
        trigger(
            "tcp-timeouts",
            Finding,
            network(|network| network.retransmission_timeouts = Some(30)),
        ),
        trigger(
            "listen-overflows",
            Finding,
            health(|health| {
                health.listen_overflows = Some(90);
                health.is_server_local = Some(true);
            }),
        ),
        trigger("softirq-squeezed", Note, health(|health| health.softnet_squeezed = Some(7))),
        trigger("ephemeral-ports", Finding, health(|health| health.ephemeral_ports = Some(0.95))),
        trigger("interface-use", Finding, health(|health| health.interface_use = Some(0.95))),
        trigger("shared-host", Note, health(|health| health.is_server_local = Some(true))),
        trigger("idle-states", Note, health(|health| health.idle_exit_ns = Some(200 * US))),
        trigger("clock-step", Note, health(|health| health.clock_step_ns = Some(2 * MS))),
        trigger("cpu-governor", Note, |parts| {
            parts.given.environment.cpu_governor = Some("powersave".to_owned());
        }),
        trigger("slow-clock", Finding, |parts| {
            parts.given.environment.clock_source = Some("hpet".to_owned());
            parts.given.environment.clock_read_ns = Some(1_200.0);
        }),
    ]
}

fn of_load() -> Vec<Trigger> {
    vec![
        trigger("send-dispersion", Finding, sent(|k| if k % 10 == 0 { 30 } else { 0 })),
        trigger("send-burst", Finding, sent(|k| if k == 77 { 15 } else { 3 })),
        trigger("send-burst", Finding, sent(|k| if k == 77 { 1_500 } else { 3 })),
        trigger("send-rate", Finding, sent(|k| if k < 9_900 { 3 } else { 0 })),
        trigger("send-gaps", Finding, |parts| parts.measurements.departures.displaced = 2_000),
        trigger("connection-waits", Finding, |parts| failing(parts, 90, Failure::NeverSent)),
        trigger("growing-backlog", Finding, growing),
        trigger("delayed-ack", Finding, |parts| served(parts, |_| 41_000 * US)),
        trigger("upload-windows", Finding, held_up(3 * S)),
        trigger("unmatched-pushes", Void, pushed),
        trigger("server-count", Finding, watched(30_005, 0)),
        trigger("server-count", Finding, watched(29_990, 0)),
        trigger("dropped-accepts", Finding, watched(30_000, 3)),
        trigger("not-stationary", Finding, |parts| {
            slowed(parts, |k| if k < 18 { 100 } else { 150 } + k % 2);
        }),
        trigger("not-stationary", Finding, |parts| {
            slowed(parts, |k| if k < 18 { 500 } else { 100 } + k % 2);
        }),
        trigger("not-stationary", Finding, |parts| slowed(parts, |k| 100 + 100 * k)),
        trigger("autocorrelation", Finding, |parts| {
            // It oscillates with a period of ten slices, by too little to be a change.
            slowed(parts, |k| 1_000 + if k % 10 < 5 { 20 } else { 0 });
        }),
        trigger("warmup-too-short", Finding, |parts| {
            slowed(parts, |k| if k < 5 { 300 - 40 * k } else { 100 } + k * 7 % 3);
        }),
        trigger("no-steady-state", Finding, |parts| {
            parts.given.plan.load.warmup.is_auto = true;
            parts.measurements.is_unsettled = true;
        }),
    ]
}

/// Replaces the service time of each request, by its number.
pub(crate) fn served(parts: &mut DocumentParts, service_ns: impl Fn(u64) -> u64) {
    let m = &mut parts.measurements;
    m.slices.iter_mut().for_each(|slice| slice.ok = Histogram::new());
    let mut fresh = Measurements {
        slices: std::mem::take(&mut m.slices),
        workers: std::mem::take(&mut m.workers),
        connections: m.connections.clone(),
        departures: m.departures.clone(),
        occupancy: m.occupancy,
        ..Measurements::default()
    };
    fresh.stamped.connections = 10;
    for k in 0..SLICES * EACH {
        answer(&mut fresh, (k / EACH) as usize, 0, service_ns(k));
    }
    parts.measurements = fresh;
}

/// Sets the total time with requests in flight, of the 100 s that ten connections have.
pub(crate) fn idle(busy_ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        closed(parts);
        let occupancy = &mut parts.measurements.occupancy;
        (occupancy.integral_ns, occupancy.sum_ns) = (busy_ns.into(), busy_ns.into());
    }
}

/// Sends one request in fifty `ns` late.
pub(crate) fn late(ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let lags = (0..30_000).map(|k| if k % 50 == 0 { ns } else { 5 * US });
        parts.measurements.sched_lag = histogram(lags);
    }
}

/// Makes two counts of the requests in flight differ by `ns` of 31.5 s.
pub(crate) fn apart(ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| parts.measurements.occupancy.sum_ns -= u128::from(ns)
}

/// Sets the time of every request to about `ns`.
pub(crate) fn faster(parts: &mut DocumentParts, ns: u64) {
    let m = &mut parts.measurements;
    for times in [&mut m.results.response_time.ok, &mut m.results.service_time.ok] {
        *times = histogram((0..30_000).map(|k| ns + k % 100));
    }
    for slice in &mut m.slices {
        slice.ok = histogram((0..EACH).map(|k| ns + k % 100));
    }
    m.unlagged = m.results.response_time.ok.clone();
    m.stamped = Default::default();
}

/// Sets the requests sent per millisecond; 3 were planned.
pub(crate) fn sent(per_ms: fn(usize) -> u32) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let sent = &mut parts.measurements.departures.sent;
        sent.iter_mut().enumerate().for_each(|(k, n)| *n = per_ms(k));
    }
}

/// Makes the bodies of 30,000 requests, of 1.05 ms each, wait for `ns` in total.
pub(crate) fn held_up(ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let connections = &mut parts.measurements.connections;
        (connections.window_waits, connections.window_wait_ns) = (10_000, ns);
    }
}

/// Adds the counts of an nginx that got 30,000 requests of weir over 10 connections.
pub(crate) fn watched(requests: u64, dropped: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let weir = ServerLoad { requests: 30_000, ..ServerLoad::default() };
        let after = NginxSample { accepts: 10, handled: 10 - dropped, ..NginxSample::default() };
        let nginx = NginxSection {
            requests: Some(requests),
            difference: Some(weir.difference(requests)),
            dropped: Some(dropped),
            after: Some(after),
            ..NginxSection::default()
        };
        parts.given.server =
            Some(ServerSection { weir, nginx: Some(nginx), ..ServerSection::default() });
    }
}

/// Adds a backlog that grows by 120 requests a second.
pub(crate) fn growing(parts: &mut DocumentParts) {
    for (k, slice) in (0..).zip(&mut parts.measurements.slices) {
        slice.backlog = 40 * k + k % 3;
    }
    parts.measurements.results.completed = 28_800;
    parts.measurements.results.good = 28_800;
}

/// Turns the run into one over WebSocket, whose server pushed three messages.
pub(crate) fn pushed(parts: &mut DocumentParts) {
    parts.given.plan.http = Some(HttpPlan::WebSocket(WebSocketPlan::default()));
    parts.measurements.connections.pushed = 3;
}

/// Each trigger has its outcome, the base run triggers none of them, and no rule lacks a trigger.
#[test]
fn every_rule_fires() {
    let clean = well(|_| ());
    let triggers = all();
    let is_known = |id: &str| triggers.iter().any(|(known, ..)| *known == id);
    for (id, outcome, change) in &triggers {
        let document = well(change);
        let fired = rule(&document, id);
        assert_eq!(fired.outcome, *outcome, "{fired:?}");
        let before = clean.verdict.rules.iter().find(|rule| rule.id == *id);
        assert!(before.is_none_or(|rule| rule.outcome == RuleOutcome::Pass), "{before:?}");
        for rule in &document.verdict.rules {
            assert!(is_known(&rule.id), "no trigger for {}", rule.id);
        }
    }
}
