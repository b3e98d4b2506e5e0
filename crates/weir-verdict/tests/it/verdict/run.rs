//! A run in which no rule fires, and the changes that tests make to it.

use weir_result::document::{NetworkSection, Probed, Rule, RuleOutcome};
use weir_result::{
    ClientHealth, DepartureSpan, Departures, Document, DocumentParts, DueTimes, ErrorKind,
    FailureCause, FailureKind, FailurePhase, Histogram, HttpPlan, Measurements, Occupancy,
    OutcomeClass, Outcomes, Slice, Stamped, Stops, WebSocketPlan, WorkerPhases, WorkerUsage,
};

pub(crate) use crate::fixture::S;
use crate::fixture::parts;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;

/// Number of slices, and requests in each: 3,000/s for 10 s.
pub(crate) const SLICES: u64 = 30;
pub(crate) const EACH: u64 = 1_000;

/// A run in which no rule fires: 30,000 requests of 1.00 to 1.10 ms, each sent 5 µs late and read 3
/// µs after it had arrived. It has 10 connections and two threads that are half idle.
pub(crate) fn well(change: impl FnOnce(&mut DocumentParts)) -> Document {
    let mut parts = parts(1, 1, measured());
    let rate = weir_result::Rate { numerator: 3_000, denominator: 1 };
    parts.given.plan.load.due = Some(DueTimes::constant(rate, weir_result::Arrivals::Uniform));
    parts.given.plan.load.duration_ns = Some(10 * S);
    parts.given.environment.clock_source = Some("tsc".to_owned());
    parts.given.environment.cpu_governor = Some("performance".to_owned());
    parts.given.environment.cpus_usable = Some(4);
    parts.beside.witness = Some(witness(1_000 * US));
    (parts.given.selfcheck, parts.given.prove_client) = (None, None);
    parts.beside.probe = Probed::default();
    parts.beside.network = Some(NetworkSection::default());
    parts.beside.health = Some(ClientHealth {
        watched_ns: 10 * S,
        steal: Some(0.0),
        throttled_ns: Some(0),
        cpu_pressure: Some(0.01),
        softnet_dropped: Some(0),
        heartbeat_gap_ns: Some(200 * US),
        heartbeat_gap_at_ns: Some(S),
        is_server_local: Some(false),
        ..ClientHealth::default()
    });
    change(&mut parts);
    class_slices(&mut parts.measurements);
    weir_verdict::assemble(parts).expect("it adds up")
}

pub(crate) fn measured() -> Measurements {
    let bins = u32::try_from(10 * S / MS).expect("10,000");
    let mut m = Measurements {
        slices: (0..SLICES).map(slice).collect(),
        workers: (0..2).map(worker).collect(),
        occupancy: Occupancy {
            integral_ns: 31_500 * 1_000_000,
            sum_ns: 31_500 * 1_000_000,
            capacity_ns: 0,
        },
        departures: Departures {
            spans: vec![DepartureSpan { start_ms: 0, bins }],
            sent: vec![3; bins as usize],
            planned: vec![3; bins as usize],
            displaced: 10,
            gaps: 29_000,
        },
        ..Measurements::default()
    };
    m.connections.requested = 10;
    m.connections.open_at_t0 = 10;
    m.connections.connects = 10;
    m.stamped.connections = 10;
    for k in 0..SLICES * EACH {
        answer(&mut m, (k / EACH) as usize, 0, 1_000 * US + k % 100 * US);
    }
    m
}

fn slice(k: u64) -> Slice {
    let bound = |k| 10 * S * k / SLICES;
    let counts =
        Slice { sent: EACH, completed: EACH, good: EACH, in_flight: 3, ..Slice::default() };
    Slice { start_ns: bound(k), end_ns: bound(k + 1), ..counts }
}

fn worker(worker: u32) -> WorkerPhases {
    WorkerPhases {
        worker,
        connections: 5,
        t0_ns: S,
        t1_ns: 11 * S,
        usage: WorkerUsage {
            wall_ns: 10 * S,
            cpu_ns: 9 * S,
            spun_ns: 4 * S,
            run_delay_ns: Some(10 * MS),
            wakes: 50_000,
            events: 60_000,
            gap_max_ns: MS,
            gap_at_ns: 2 * S,
            ..WorkerUsage::default()
        },
        ..WorkerPhases::default()
    }
}

/// Records a response in a slice, after a wait for a connection.
pub(crate) fn answer(m: &mut Measurements, slice: usize, wait_ns: u64, service_ns: u64) {
    const LAG: u64 = 5 * US;
    let response_ns = wait_ns + LAG + service_ns;
    m.results.planned += 1;
    m.results.outcomes.ok += 1;
    *m.results.status.entry(200).or_default() += 1;
    m.sent.measured += 1;
    m.window.sent += 1;
    m.results.completed += 1;
    m.results.good += 1;
    m.results.response_time.ok.record(response_ns);
    m.results.service_time.ok.record(service_ns);
    m.first_byte.record(service_ns);
    m.send_lag.ok.record(wait_ns + LAG);
    m.sched_lag.record(LAG);
    m.connection_wait.record(wait_ns);
    m.unlagged.record(response_ns - LAG);
    m.stamped.response.record(response_ns);
    m.stamped.unlagged.record(response_ns - LAG);
    m.stamped.outside.record(response_ns - LAG - 3 * US);
    m.stamped.wire_time.record(service_ns - 3 * US);
    m.stamped.rx_delay.record(3 * US);
    m.slices[slice].ok.record(response_ns);
}

pub(crate) fn witness(p50_ns: u64) -> Measurements {
    let mut m = Measurements {
        slices: (0..SLICES)
            .map(|k| Slice { start_ns: k * S, end_ns: (k + 1) * S, ..Slice::default() })
            .collect(),
        ..Measurements::default()
    };
    m.connections.requested = 1;
    for k in 0..300 {
        let ns = p50_ns - p50_ns / 20 + p50_ns / 10 * (k % 10) / 9;
        m.results.service_time.ok.record(ns);
        m.slices[k as usize / 10].ok.record(ns);
    }
    class_slices(&mut m);
    m
}

/// Counts the requests of the slices by class: the failures of the run one class after the other.
pub(crate) fn class_slices(measurements: &mut Measurements) {
    let mut left = OutcomeClass::ALL.map(|class| (class, measurements.results.outcomes.of(class)));
    for slice in &mut measurements.slices {
        slice.outcomes = Outcomes { ok: slice.ok.count(), ..Outcomes::default() };
        let mut failed = slice.not_ok.count();
        for (class, left) in left.iter_mut().skip(1) {
            let own = failed.min(*left);
            slice.outcomes.count(*class, own);
            *left -= own;
            failed -= own;
        }
    }
}

pub(crate) fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

pub(crate) fn rule<'d>(document: &'d Document, id: &str) -> &'d Rule {
    let found = document.verdict.rules.iter().find(|rule| rule.id == id);
    found.unwrap_or_else(|| panic!("no rule {id} in {:#?}", document.verdict))
}

/// Asserts the outcome of a rule after a change to the base run, and returns the document.
#[track_caller]
pub(crate) fn check(
    id: &str,
    outcome: RuleOutcome,
    change: impl FnOnce(&mut DocumentParts),
) -> Document {
    let document = well(change);
    let rule = rule(&document, id);
    assert_eq!(rule.outcome, outcome, "{rule:?}");
    let is_listed = document.verdict.findings.iter().any(|found| found == id);
    assert_eq!(is_listed, rule.has_fired(), "{:?}", document.verdict.findings);
    document
}

/// Asserts the sentence of a rule after a change.
#[track_caller]
pub(crate) fn says(id: &str, change: impl FnOnce(&mut DocumentParts), text: &str) {
    assert_eq!(rule(&well(change), id).text, text);
}

/// Changes the health of the machine.
pub(crate) fn health(change: fn(&mut ClientHealth)) -> impl Fn(&mut DocumentParts) {
    move |parts| change(parts.beside.health.as_mut().expect("watched"))
}

/// Delays all responses in the client's buffers by `late_ns`.
pub(crate) fn read_late(late_ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let stamped = &mut parts.measurements.stamped;
        let of = |k: u64| 1_000 * US + k % 100 * US;
        stamped.outside = histogram((0..30_000).map(|k| of(k) - late_ns));
        stamped.wire_time = stamped.outside.clone();
        stamped.rx_delay = histogram((0..30_000).map(|_| late_ns));
    }
}

/// Stops the client for `ns`.
pub(crate) fn stopped(ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| parts.beside.health.as_mut().expect("watched").heartbeat_gap_ns = Some(ns)
}

/// Stops the whole program once, for `ns`; `window_ns` of it are in the window. The stop begins at
/// t0 or, if it lies before, ends there.
pub(crate) fn program_stopped(ns: u64, window_ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let longest_at_ns = window_ns as i64 - ns as i64;
        let stops =
            Stops { count: 1, longest_ns: ns, longest_at_ns, effective_ns: window_ns, window_ns };
        parts.beside.health.as_mut().expect("watched").stops = Some(stops);
    }
}

/// Makes a thread need a CPU for `cpu_ns` of the 10 s.
pub(crate) fn busy(cpu_ns: u64) -> impl Fn(&mut DocumentParts) {
    move |parts| {
        let usage = &mut parts.measurements.workers[0].usage;
        (usage.cpu_ns, usage.spun_ns) = (cpu_ns, 0);
    }
}

/// Error number of a connection reset by the peer, on Linux.
const ECONNRESET: i32 = 104;

/// Adds requests that fail in the last slice.
pub(crate) fn failing(parts: &mut DocumentParts, count: u64, failure: Failure) {
    let m = &mut parts.measurements;
    m.results.planned += count;
    let ns = match failure {
        Failure::Status(_) | Failure::Reset => 2 * MS,
        Failure::TimedOut => 10 * S,
        Failure::NeverSent => 3 * S,
    };
    let times = || histogram((0..count).map(|_| ns));
    if !matches!(failure, Failure::NeverSent) {
        m.sent.measured += count;
        m.send_lag.ok.add(&histogram((0..count).map(|_| 5 * US)));
        m.sched_lag.add(&histogram((0..count).map(|_| 5 * US)));
        m.connection_wait.add(&histogram((0..count).map(|_| 0)));
    }
    match failure {
        Failure::Status(code) => {
            m.results.outcomes.bad_response += count;
            *m.results.status.entry(code).or_default() += count;
            m.results.response_time.bad.add(&times());
            m.results.service_time.bad.add(&times());
            m.results.completed += count;
        }
        Failure::Reset => {
            m.results.outcomes.transport_error += count;
            *m.results.errors.entry(ErrorKind::Errno(ECONNRESET)).or_default() += count;
            m.results.response_time.failed_at.add(&times());
            m.results.service_time.failed_at.add(&times());
        }
        Failure::TimedOut => {
            m.results.outcomes.timed_out += count;
            m.overdue += count;
            m.results.response_time.censored.add(&times());
            m.results.service_time.censored.add(&times());
        }
        Failure::NeverSent => {
            m.results.outcomes.never_sent += count;
            m.results.response_time.censored.add(&times());
            m.send_lag.censored.add(&times());
        }
    }
    let slices = m.slices.len();
    m.slices[slices - 1].not_ok.add(&times());
}

/// Kind of failure of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    Status(u16),
    Reset,
    TimedOut,
    NeverSent,
}

/// Removes all `ok` requests.
pub(crate) fn no_success(parts: &mut DocumentParts) {
    let empty = Measurements {
        slices: (0..SLICES).map(slice).collect(),
        workers: parts.measurements.workers.clone(),
        connections: parts.measurements.connections.clone(),
        ..Measurements::default()
    };
    parts.measurements = empty;
}

/// Turns the run into one that only holds ten connections, of which the server ends some with a
/// reset.
pub(crate) fn held(lost: u64) -> impl FnOnce(&mut DocumentParts) {
    move |parts| {
        no_success(parts);
        parts.given.plan.load.due = None;
        let websocket = WebSocketPlan { in_flight: 1, idle: true, ..WebSocketPlan::default() };
        parts.given.plan.http = Some(HttpPlan::WebSocket(websocket));
        let m = &mut parts.measurements;
        m.departures = Departures::default();
        m.slices.iter_mut().for_each(|slice| (slice.sent, slice.completed, slice.good) = (0, 0, 0));
        m.connections.open_max = 10;
        m.connections.connects += lost;
        let reset = FailureKind { phase: FailurePhase::Idle, cause: FailureCause::Errno(104) };
        m.connections.failures.extend((lost > 0).then_some((reset, lost)));
    }
}

/// Turns the run into a closed loop of the same requests on ten connections: 3,000/s of 3.3 ms
/// each.
pub(crate) fn closed(parts: &mut DocumentParts) {
    parts.given.plan.load.due = None;
    let m = &mut parts.measurements;
    m.results.service_time = m.results.response_time.clone();
    m.send_lag = Default::default();
    m.sched_lag = Histogram::new();
    m.connection_wait = Histogram::new();
    m.unlagged = Histogram::new();
    m.departures = Departures::default();
    let busy_ns = u128::from(99 * S);
    m.occupancy = Occupancy { integral_ns: busy_ns, sum_ns: busy_ns, capacity_ns: 0 };
    m.script = None;
}

/// Multiplies the response times of slice `k` by `factor(k)` percent.
pub(crate) fn slowed(parts: &mut DocumentParts, factor: impl Fn(u64) -> u64) {
    let m = &mut parts.measurements;
    m.results.response_time.ok = Histogram::new();
    for (k, slice) in (0..).zip(&mut m.slices) {
        let times = (0..EACH).map(|i| (1_000 * US + i % 100 * US) * factor(k) / 100);
        slice.ok = histogram(times);
        m.results.response_time.ok.add(&slice.ok);
    }
    // The slowdown is the server's alone.
    m.unlagged = m.results.response_time.ok.clone();
    m.stamped = Stamped::default();
}

/// Leaves one slice, as in a run that a count ends.
pub(crate) fn one_slice(m: &mut Measurements) {
    let mut whole = Slice { end_ns: 10 * S, sent: 30_000, completed: 30_000, ..Slice::default() };
    m.slices.iter().for_each(|slice| whole.ok.add(&slice.ok));
    m.slices = vec![whole];
}

/// Changes a figure of this run's sockets.
pub(crate) fn network(change: impl Fn(&mut NetworkSection)) -> impl Fn(&mut DocumentParts) {
    move |parts| change(parts.beside.network.get_or_insert_default())
}
