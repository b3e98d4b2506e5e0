//! Each rule of the verdict against a document that triggers it, and one that does not.

use weir_run::document::RuleOutcome::{Caveat, Invalid, Note, Pass, Unknown};
use weir_run::document::{
    Change, Grade, LimitedBy, NetworkSection, Rule, RuleOutcome, SliceSeries, Subject, Trials,
    Verdict,
};
use weir_run::{
    ClientHealth, DepartureSpan, Departures, Document, DocumentParts, Histogram, Load,
    Measurements, Occupancy, Slice, Stamped, WorkerPhases, WorkerUsage,
};

use crate::fixture::{self, S, parts};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// Slices, and requests in each: 3,000/s for 10 s.
const SLICES: u64 = 30;
const EACH: u64 = 1_000;

/// A run with nothing against it: 30,000 requests of 1.00 to 1.10 ms, each sent 5 µs late and read
/// 3 µs after it had arrived, on 10 connections and two threads that are half idle.
fn well(change: impl FnOnce(&mut DocumentParts)) -> Document {
    let mut parts = DocumentParts { notes: Vec::new(), ..parts(1, 1, measured()) };
    parts.plan.load = Load::OpenLoop {
        rate: weir_run::Rate { numerator: 3_000, denominator: 1 },
        arrivals: weir_run::Arrivals::Uniform,
    };
    parts.plan.duration_ns = Some(10 * S);
    parts.environment.clock_source = Some("tsc".to_owned());
    parts.environment.cpu_governor = Some("performance".to_owned());
    parts.environment.cpus_usable = Some(4);
    parts.witness = Some(witness(1_000 * US));
    parts.trials = Trials::default();
    parts.network = Some(NetworkSection::default());
    parts.health = Some(ClientHealth {
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
    Document::assemble(parts).expect("it adds up")
}

fn measured() -> Measurements {
    let bins = u32::try_from(10 * S / MS).expect("10,000");
    let mut m = Measurements {
        slices: (0..SLICES).map(slice).collect(),
        workers: (0..2).map(worker).collect(),
        occupancy: Occupancy { integral_ns: 31_500 * 1_000_000, sum_ns: 31_500 * 1_000_000 },
        departures: Departures {
            spans: vec![DepartureSpan { start_ms: 0, bins }],
            sent: vec![3; bins as usize],
            planned: vec![3; bins as usize],
            displaced: 10,
            gaps: 29_000,
        },
        ..Measurements::default()
    };
    m.connections.asked = 10;
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
        },
        ..WorkerPhases::default()
    }
}

/// An answer in a slice, after a wait for a connection.
fn answer(m: &mut Measurements, slice: usize, wait_ns: u64, service_ns: u64) {
    const LAG: u64 = 5 * US;
    let response_ns = wait_ns + LAG + service_ns;
    m.planned += 1;
    m.outcomes.ok += 1;
    *m.status.entry(200).or_default() += 1;
    m.sent.measured += 1;
    m.window.sent += 1;
    m.window.completed += 1;
    m.window.good += 1;
    m.response_time.ok.record(response_ns);
    m.service_time.ok.record(service_ns);
    m.first_byte.record(service_ns);
    m.send_lag.ok.record(wait_ns + LAG);
    m.sched_lag.record(LAG);
    m.connection_wait.record(wait_ns);
    m.unlagged.record(response_ns - LAG);
    m.stamped.response.record(response_ns);
    m.stamped.unlagged.record(response_ns - LAG);
    m.stamped.outside.record(response_ns - LAG - 3 * US);
    m.slices[slice].ok.record(response_ns);
}

fn witness(p50_ns: u64) -> Measurements {
    let mut m = Measurements {
        slices: (0..SLICES)
            .map(|k| Slice { start_ns: k * S, end_ns: (k + 1) * S, ..Slice::default() })
            .collect(),
        ..Measurements::default()
    };
    m.connections.asked = 1;
    for k in 0..300 {
        let ns = p50_ns - 50 * US + 100 * US * (k % 10) / 9;
        m.service_time.ok.record(ns);
        m.slices[k as usize / 10].ok.record(ns);
    }
    m
}

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

fn rule<'d>(document: &'d Document, name: &str) -> &'d Rule {
    let found = document.verdict.rules.iter().find(|rule| rule.name == name);
    found.unwrap_or_else(|| panic!("no rule {name} in {:#?}", document.verdict))
}

/// The rule of this name after a change to the run that is well, whose grade must follow.
#[track_caller]
fn check(name: &str, outcome: RuleOutcome, change: impl FnOnce(&mut DocumentParts)) -> Document {
    let document = well(change);
    let rule = rule(&document, name);
    assert_eq!(rule.outcome, outcome, "{rule:?}");
    let grade = match outcome {
        Invalid => Some(Grade::Invalid),
        Caveat => Some(Grade::ValidWithCaveats),
        _ => None,
    };
    if let Some(grade) = grade {
        assert_eq!(document.verdict.grade, grade, "{:#?}", document.verdict);
    }
    document
}

#[test]
fn a_run_that_is_well_is_valid() {
    let document = well(|_| ());
    let verdict = &document.verdict;
    let fired: Vec<&Rule> = verdict.rules.iter().filter(|rule| rule.outcome != Pass).collect();
    let names: Vec<&str> = fired.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, [""; 0], "{fired:#?}");
    assert_eq!(verdict.grade, Grade::Valid);
    assert_eq!(verdict.limit.who, LimitedBy::Plan);
    assert_eq!(verdict.not_judged(), [""; 0]);
    let client_ns: Vec<(f64, u64)> =
        verdict.attribution.iter().map(|of| (of.p, of.client_ns / US)).collect();
    assert_eq!(client_ns, [(50.0, 8), (99.0, 8), (99.9, 8)], "{verdict:#?}");
}

#[test]
fn c1_what_the_client_adds_to_a_percentile() {
    // The answers lay in the client's buffers for 300 µs of 1 ms.
    let read_late = |m: &mut Measurements, late_ns: u64| {
        let of = |k: u64| 1_000 * US + k % 100 * US;
        m.stamped.outside = histogram((0..30_000).map(|k| of(k) - late_ns));
    };
    check("client_share", Invalid, |parts| read_late(&mut parts.measurements, 300 * US));
    check("client_share", Caveat, |parts| read_late(&mut parts.measurements, 80 * US));
    check("client_share", Pass, |parts| read_late(&mut parts.measurements, 30 * US));
    // Late sends count alike.
    let document = check("client_share", Invalid, |parts| {
        parts.measurements.unlagged = histogram((0..30_000).map(|_| 600 * US));
    });
    let p50 = document.verdict.attribution[0];
    assert!(p50.share > 0.4 && !p50.is_partial, "{p50:?}");
    assert_eq!(rule(&document, "client_share").subject, Subject::Client);
    // Half of 30 µs is the wake-up, as on any machine.
    let fast = |parts: &mut DocumentParts| {
        let m = &mut parts.measurements;
        *m = Measurements { planned: 0, ..measured() };
        for times in [&mut m.response_time.ok, &mut m.service_time.ok] {
            *times = histogram((0..30_000).map(|k| 30 * US + k % 100));
        }
        m.planned = 30_000;
        m.unlagged = m.response_time.ok.clone();
        m.stamped.unlagged = m.response_time.ok.clone();
        m.stamped.outside = histogram((0..30_000).map(|k| 15 * US + k % 100));
    };
    let document = check("client_share", Pass, fast);
    assert!(rule(&document, "client_share").value.is_some_and(|ratio| ratio > 1.9));
    // Without stamps only what was lost before the send is known, and in a closed loop nothing.
    let document = well(|parts| parts.measurements.stamped = Default::default());
    assert!(document.verdict.attribution[0].is_partial);
    check("client_share", Unknown, |parts| {
        closed(parts);
        parts.measurements.stamped = Default::default();
    });
}

#[test]
fn c2_waiting_for_a_cpu() {
    let wait = |share: f64| {
        move |parts: &mut DocumentParts| {
            let usage = &mut parts.measurements.workers[1].usage;
            usage.run_delay_ns = Some((share * 1e10) as u64);
        }
    };
    check("cpu_wait", Pass, wait(0.004));
    let document = check("cpu_wait", Caveat, wait(0.03));
    let text = &rule(&document, "cpu_wait").text;
    assert!(text.starts_with("worker 1 waited 3.00% of the time for a CPU"), "{text}");
    assert!(text.contains("(limit 0.50%)"), "{text}");
    check("cpu_wait", Invalid, wait(0.06));
    let document = check("cpu_wait", Unknown, |parts| {
        parts.measurements.workers.iter_mut().for_each(|worker| worker.usage.run_delay_ns = None);
    });
    assert_eq!(document.verdict.grade, Grade::Valid);
    assert_eq!(document.verdict.not_judged(), ["C2"]);
}

#[test]
fn c3_what_the_machine_took() {
    let health = |change: fn(&mut ClientHealth)| {
        move |parts: &mut DocumentParts| change(parts.health.as_mut().expect("watched"))
    };
    check("steal", Caveat, health(|health| health.steal = Some(0.02)));
    check("steal", Invalid, health(|health| health.steal = Some(0.06)));
    check("quota", Caveat, health(|health| health.throttled_ns = Some(MS)));
    check("quota", Invalid, health(|health| health.throttled_ns = Some(S)));
    check("pressure", Caveat, health(|health| health.cpu_pressure = Some(0.5)));
    // A server on this machine waits for CPUs too, and may do so.
    check(
        "pressure",
        Note,
        health(|health| {
            health.cpu_pressure = Some(0.5);
            health.is_server_local = Some(true);
        }),
    );
    let document = check("steal", Unknown, |parts| parts.health = None);
    assert_eq!((document.verdict.grade, document.verdict.not_judged()), (Grade::Valid, vec!["C3"]));
}

#[test]
fn c4_a_busy_thread() {
    let busy = |cpu_ns: u64| {
        move |parts: &mut DocumentParts| {
            let usage = &mut parts.measurements.workers[0].usage;
            (usage.cpu_ns, usage.spun_ns) = (cpu_ns, 0);
        }
    };
    check("busy", Pass, busy(7 * S));
    check("busy", Caveat, busy(9 * S));
    let document = check("busy", Invalid, |parts| {
        closed(parts);
        busy(99 * S / 10)(parts);
    });
    assert_eq!(document.verdict.limit.who, LimitedBy::Client);
    assert_eq!(document.verdict.limit.text, "weir itself, busy 99.0% of the time");
    // Spinning all the time is not.
    check("busy", Pass, |parts| {
        let usage = &mut parts.measurements.workers[0].usage;
        (usage.cpu_ns, usage.spun_ns) = (10 * S, 8 * S);
    });
}

/// The same requests by ten connections that send again at once: 3,000/s of 3.3 ms each.
fn closed(parts: &mut DocumentParts) {
    parts.plan.load = Load::ClosedLoop;
    let m = &mut parts.measurements;
    m.service_time = m.response_time.clone();
    m.send_lag = Default::default();
    m.sched_lag = Histogram::new();
    m.connection_wait = Histogram::new();
    m.unlagged = Histogram::new();
    m.departures = Departures::default();
    let busy_ns = u128::from(99 * S);
    m.occupancy = Occupancy { integral_ns: busy_ns, sum_ns: busy_ns };
    m.script = None;
}

#[test]
fn c5_idle_connections() {
    let idle = |busy_s: u64| {
        move |parts: &mut DocumentParts| {
            closed(parts);
            parts.measurements.occupancy =
                Occupancy { integral_ns: u128::from(busy_s * S), sum_ns: u128::from(busy_s * S) };
        }
    };
    let document = check("client_gap", Pass, idle(99));
    assert_eq!(document.verdict.limit.who, LimitedBy::Server);
    check("client_gap", Caveat, idle(90));
    check("client_gap", Invalid, idle(70));
    // 300,000 answers: 20% of the time is 67 µs after each, which is slow but no fault of its own.
    check("client_gap", Caveat, |parts| {
        idle(78)(parts);
        parts.measurements.window.completed = 300_000;
    });
    // A tenth of a fast server's time.
    check("client_gap", Pass, |parts| {
        idle(90)(parts);
        parts.measurements.window.completed = 3_000_000;
    });
    let elsewhere: [fn(&mut DocumentParts); 4] = [
        |parts| parts.measurements.connections.closed_by_peer = 3,
        |parts| parts.plan.requests = Some(30_000),
        |parts| parts.measurements.interrupted = true,
        |parts| parts.measurements.occupancy = Occupancy::default(),
    ];
    for change in elsewhere {
        check("client_gap", Unknown, |parts| {
            idle(50)(parts);
            change(parts);
        });
    }
}

#[test]
fn c6_late_sends() {
    let late = |ns: u64| {
        move |parts: &mut DocumentParts| {
            let m = &mut parts.measurements;
            m.sched_lag = histogram((0..30_000).map(|k| if k % 50 == 0 { ns } else { 5 * US }));
        }
    };
    check("late_sends", Pass, late(90 * US));
    check("late_sends", Caveat, late(300 * US));
    check("late_sends", Invalid, late(2 * MS));
}

#[test]
fn c7_a_witness_beside_the_load() {
    let saw = |p50_ns: u64| move |parts: &mut DocumentParts| parts.witness = Some(witness(p50_ns));
    check("witness", Pass, saw(1_040 * US));
    check("witness", Caveat, saw(700 * US));
    let document = check("witness", Invalid, saw(300 * US));
    let seen = document.witness.expect("there was one");
    assert!(seen.ratio.is_some_and(|of| of.low < of.ratio && of.ratio < of.high), "{seen:?}");
    // Slower than the load: nothing against the client.
    check("witness", Pass, saw(5 * MS));
    check("witness", Unknown, |parts| parts.witness = Some(Measurements::default()));
}

#[test]
fn c8_losses_and_full_resources() {
    let health = |change: fn(&mut ClientHealth)| {
        move |parts: &mut DocumentParts| change(parts.health.as_mut().expect("watched"))
    };
    // The machine's are of all programs, and no rule is about them.
    check("retransmits", Pass, health(|health| health.retransmitted_segments = Some(9_000)));
    let network = |retransmitted_segments| {
        move |parts: &mut DocumentParts| {
            let network = parts.network.get_or_insert_default();
            network.retransmitted_segments = retransmitted_segments;
        }
    };
    check("retransmits", Caveat, network(9_000));
    check("retransmits", Pass, network(2));
    check("packets_dropped", Caveat, health(|health| health.softnet_dropped = Some(9)));
    check("packets_dropped", Invalid, health(|health| health.softnet_dropped = Some(900)));
    check("packets_dropped", Pass, health(|health| health.softnet_dropped = Some(4)));
    check("ephemeral_ports", Caveat, health(|health| health.ephemeral_ports = Some(0.95)));
    check("interface_use", Caveat, health(|health| health.interface_use = Some(0.95)));
    let overflows = health(|health| {
        health.listen_overflows = Some(90);
        health.is_server_local = Some(true);
    });
    let document = check("listen_overflows", Caveat, overflows);
    assert_eq!(rule(&document, "listen_overflows").subject, Subject::Server);
}

#[test]
fn c9_to_c11_and_clocks() {
    let health = |change: fn(&mut ClientHealth)| {
        move |parts: &mut DocumentParts| change(parts.health.as_mut().expect("watched"))
    };
    check("same_host", Note, health(|health| health.is_server_local = Some(true)));
    check("idle_exit", Note, health(|health| health.idle_exit_ns = Some(200 * US)));
    check("clock_step", Note, health(|health| health.clock_step_ns = Some(2 * MS)));
    check("governor", Note, |parts| parts.environment.cpu_governor = Some("powersave".into()));
    check("slow_clock", Caveat, |parts| parts.environment.clock_source = Some("hpet".into()));
    check("slow_clock", Unknown, |parts| parts.environment.clock_source = None);
}

#[test]
fn c12_and_the_noise_floor() {
    let proof = |is_client_limited: bool| {
        move |parts: &mut DocumentParts| {
            parts.trials = fixture::trials();
            let proof = parts.trials.prove_client.as_mut().expect("both are there");
            proof.is_client_limited = is_client_limited;
            let floor = parts.trials.selfcheck.as_mut().expect("both are there");
            floor.service_time.p50_ns = 20 * US;
        }
    };
    check("one_thread_more", Invalid, proof(true));
    let floor = |p50_ns: u64| {
        move |parts: &mut DocumentParts| {
            proof(false)(parts);
            parts.trials.selfcheck.as_mut().expect("there").service_time.p50_ns = p50_ns;
        }
    };
    check("one_thread_more", Pass, floor(20 * US));
    check("noise_floor", Pass, floor(100 * US));
    check("noise_floor", Caveat, floor(110 * US));
}

#[test]
fn c13_stops() {
    let stopped = |ns: u64| {
        move |parts: &mut DocumentParts| {
            let health = parts.health.as_mut().expect("watched");
            health.heartbeat_gap_ns = Some(ns);
        }
    };
    check("stops", Caveat, stopped(30 * MS));
    let document = check("stops", Invalid, stopped(600 * MS));
    let text = &rule(&document, "stops").text;
    assert!(text.starts_with("weir stood still for 600.00 ms, 1.00 s into the window"), "{text}");
    assert_eq!(document.verdict.limit.who, LimitedBy::Client);
    check("stops", Invalid, |parts| {
        parts.measurements.workers[1].usage.gap_max_ns = 101 * MS;
    });
    // 1% of an hour is 36 s.
    check("stops", Caveat, |parts| {
        parts.plan.duration_ns = Some(3_600 * S);
        stopped(600 * MS)(parts);
    });
    let document = check("stops", Unknown, |parts| {
        parts.health = None;
        parts.measurements.workers.clear();
    });
    assert_eq!(document.verdict.not_judged(), ["C2", "C3", "C13"]);
}

#[test]
fn a_arrivals() {
    let sent = |per_ms: fn(usize) -> u32| {
        move |parts: &mut DocumentParts| {
            let sent = &mut parts.measurements.departures.sent;
            sent.iter_mut().enumerate().for_each(|(k, n)| *n = per_ms(k));
        }
    };
    // A send that slips over a border of milliseconds is no burst, ten groups of 50 are.
    check(
        "bursty",
        Pass,
        sent(|k| {
            if k % 10 == 9 {
                4
            } else if k % 10 == 0 {
                2
            } else {
                3
            }
        }),
    );
    check("bursty", Caveat, sent(|k| if k % 10 == 0 { 30 } else { 0 }));
    check("largest_burst", Caveat, sent(|k| if k == 77 { 15 } else { 3 }));
    check("largest_burst", Pass, sent(|k| if k == 77 { 14 } else { 3 }));
    check("rate_kept", Caveat, sent(|k| if k < 9_900 { 3 } else { 0 }));
    check("rate_kept", Pass, sent(|k| if k < 9_999 { 3 } else { 0 }));
    check("displaced", Caveat, |parts| parts.measurements.departures.displaced = 2_000);
    check("displaced", Unknown, |parts| parts.measurements.departures = Departures::default());
}

#[test]
fn what_a_stopped_server_does_accuses_nobody() {
    // It stood still from 4 s to 5 s: a tenth of the requests waited for a connection, and more of
    // them were never sent than one in a thousand.
    let document = well(|parts| {
        let mut m = Measurements { planned: 0, response_time: Default::default(), ..measured() };
        m = Measurements {
            slices: m.slices.into_iter().map(|of| Slice { ok: Histogram::new(), ..of }).collect(),
            workers: m.workers,
            connections: m.connections,
            departures: m.departures,
            occupancy: m.occupancy,
            ..Measurements::default()
        };
        m.stamped.connections = 10;
        for k in 0..SLICES * EACH {
            let waits = (12_000..15_000).contains(&k);
            let wait_ns = if waits { S - (k - 12_000) * S / 3_000 } else { 0 };
            answer(&mut m, (k / EACH) as usize, wait_ns, 1_000 * US + k % 100 * US);
        }
        m.departures.sent[5_000..].fill(0);
        m.planned += 300;
        m.outcomes.never_sent = 300;
        for ns in (0..300).map(|k| k * MS) {
            m.response_time.censored.record(ns);
            m.send_lag.censored.record(ns);
            m.slices[29].not_ok.record(ns);
        }
        parts.measurements = m;
    });
    let verdict = &document.verdict;
    let accused = verdict.rules.iter().filter(|rule| {
        rule.subject == Subject::Client && !matches!(rule.outcome, Pass | Unknown | Note)
    });
    assert_eq!(accused.count(), 0, "{verdict:#?}");
    assert_eq!(verdict.grade, Grade::ValidWithCaveats);
    assert_eq!(rule(&document, "connection_waits").outcome, Caveat);
    assert_eq!(verdict.limit.who, LimitedBy::Connections);
    assert_eq!(rule(&document, "bursty").outcome, Unknown);
}

#[test]
fn a_server_that_cannot_keep_up() {
    let growing = |parts: &mut DocumentParts| {
        for (k, slice) in (0..).zip(&mut parts.measurements.slices) {
            slice.backlog = 40 * k + k % 3;
        }
        parts.measurements.window.completed = 28_800;
        parts.measurements.window.good = 28_800;
    };
    let document = check("backlog_growth", Caveat, growing);
    assert_eq!(rule(&document, "backlog_growth").subject, Subject::Server);
    assert_eq!(document.verdict.limit.who, LimitedBy::Server);
    assert_eq!(document.verdict.limit.text, "the server: 2,880.0/s of 3,000/s offered");
    // Unless it was the client that could not.
    let document = well(|parts| {
        growing(parts);
        parts.measurements.workers[0].usage.cpu_ns = 20 * S;
    });
    assert_eq!(rule(&document, "backlog_growth").subject, Subject::Client);
    assert_eq!(document.verdict.limit.who, LimitedBy::Client);
    check("backlog_growth", Pass, |parts| {
        let slices = &mut parts.measurements.slices;
        (0..).zip(slices).for_each(|(k, slice)| slice.backlog = 100 * (k % 2));
    });
    check("backlog_growth", Unknown, |parts| {
        parts.measurements.slices.iter_mut().for_each(|slice| slice.sent = 0);
    });
}

#[test]
fn two_counts_that_differ() {
    let apart = |ns: u64| {
        move |parts: &mut DocumentParts| {
            parts.measurements.occupancy.sum_ns -= u128::from(ns);
        }
    };
    check("little", Pass, apart(31 * MS));
    check("little", Caveat, apart(100 * MS));
    check("little", Invalid, apart(S));
    check("little", Unknown, |parts| parts.measurements.occupancy = Occupancy::default());
}

/// The same run, its slices so many times slower than they were.
fn slowed(parts: &mut DocumentParts, factor: impl Fn(u64) -> u64) {
    let m = &mut parts.measurements;
    m.response_time.ok = Histogram::new();
    for (k, slice) in (0..).zip(&mut m.slices) {
        let times = (0..EACH).map(|i| (1_000 * US + i % 100 * US) * factor(k) / 100);
        slice.ok = histogram(times);
        m.response_time.ok.add(&slice.ok);
    }
    // The server's doing, all of it.
    m.unlagged = m.response_time.ok.clone();
    m.stamped = Stamped::default();
}

#[test]
fn what_changed_within_the_run() {
    let document = check("change", Caveat, |parts| {
        slowed(parts, |k| if k < 18 { 100 } else { 150 } + k % 2);
    });
    let mean = &document.stationarity[1];
    assert_eq!(mean.series, SliceSeries::Mean);
    assert!(mean.fired.contains(&Change::Shift), "{mean:?}");
    let text = &rule(&document, "change").text;
    assert!(text.starts_with("the mean response time rose by 49"), "{text}");
    assert!(text.contains("at 6.00 s"), "{text}");
    check("change", Pass, |parts| slowed(parts, |k| 100 + k * 7 % 3));
    check("change", Unknown, |parts| one_slice(&mut parts.measurements));
}

#[test]
fn a_warmup_that_was_too_short() {
    let document = check("transient", Caveat, |parts| {
        slowed(parts, |k| if k < 5 { 300 - 40 * k } else { 100 } + k * 7 % 3);
    });
    let text = &rule(&document, "transient").text;
    // 1 s of warm-up, and five slices of a third of a second.
    assert!(text.ends_with("--warmup 3s"), "{text}");
    check("transient", Pass, |parts| slowed(parts, |k| 100 + k * 7 % 3));
    check("transient", Unknown, |parts| one_slice(&mut parts.measurements));
}

/// As a run that a count ends has them.
fn one_slice(m: &mut Measurements) {
    let mut whole = Slice { end_ns: 10 * S, sent: 30_000, completed: 30_000, ..Slice::default() };
    m.slices.iter().for_each(|slice| whole.ok.add(&slice.ok));
    m.slices = vec![whole];
}

#[test]
fn runs_without_evidence_are_not_judged() {
    for measurements in [Measurements::default(), Measurements { interrupted: true, ..measured() }]
    {
        let mut parts = parts(1, 1, measurements);
        (parts.health, parts.witness, parts.trials) = (None, None, Trials::default());
        let document = Document::assemble(parts).expect("it adds up");
        assert_ne!(document.verdict.grade, Grade::Invalid, "{:#?}", document.verdict);
        assert!(document.verdict.not_judged().contains(&"C3"));
    }
}

#[test]
fn a_document_of_an_older_program_is_judged_when_it_is_read() {
    let document = well(|parts| parts.plan.duration_ns = Some(10 * S));
    let mut value: serde_json::Value =
        serde_json::from_slice(&fixture::json(&document)).expect("JSON");
    let fields = value.as_object_mut().expect("an object");
    for name in
        ["verdict", "stamps", "departures", "occupancy", "health", "witness", "stationarity"]
    {
        assert!(fields.remove(name).is_some(), "{name}");
    }
    for phases in value["phases"].as_array_mut().expect("workers") {
        phases.as_object_mut().expect("an object").remove("usage");
    }
    let slices = value["slices"].as_array_mut().expect("slices");
    for slice in slices {
        let fields = slice.as_object_mut().expect("an object");
        fields.retain(|name, _| ["start_s", "end_s", "ok", "not_ok"].contains(&name.as_str()));
    }
    let text = serde_json::to_vec(&value).expect("JSON");
    let old = Document::from_json(&text).expect("an older document");
    assert_eq!(old.verdict.grade, Grade::Valid);
    assert_eq!(old.verdict.not_judged(), ["C2", "C3", "C13"]);
    // What was judged once stays as it was.
    assert_eq!(Document::from_json(&fixture::json(&document)).expect("it"), document);
    assert_eq!(Verdict::of(&document), document.verdict);
}
