//! Rules about the client.

use weir_result::document::RuleOutcome::{Bound, Finding, Pass, Unknown};
use weir_result::document::{Grade, Subject};
use weir_result::{Departures, DocumentParts, Histogram, Measurements, Occupancy};

use super::run::{
    MS, S, US, busy, check, closed, histogram, program_stopped, read_late, rule, says, stopped,
    well, witness,
};
use super::triggers::{apart, faster, idle, late};
use crate::fixture;

#[test]
fn a_run_that_is_well_is_clean() {
    let document = well(|_| ());
    let verdict = &document.verdict;
    let other: Vec<_> = verdict.rules.iter().filter(|rule| rule.outcome != Pass).collect();
    assert!(other.is_empty(), "{other:#?}");
    assert_eq!((verdict.grade, verdict.reason.as_str()), (Grade::Clean, ""));
    assert_eq!(verdict.findings, [""; 0]);
    assert_eq!(verdict.not_judged(), [""; 0]);
    let client_ns: Vec<(f64, u64)> =
        verdict.client_overhead.iter().map(|of| (of.p, of.client_ns / US)).collect();
    assert_eq!(client_ns, [(50.0, 8), (90.0, 8), (99.0, 8), (99.9, 8)], "{verdict:#?}");
}

#[test]
fn ids_are_unique_and_readable() {
    let document = well(|_| ());
    let mut ids: Vec<&str> = document.verdict.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert!(
        ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')),
        "{ids:?}"
    );
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}

#[test]
fn client_overhead() {
    let id = "client-overhead";
    let document = check(id, Finding, read_late(300 * US));
    let overhead = rule(&document, id);
    assert_eq!((overhead.subject, overhead.unit.as_str()), (Subject::Client, "share"));
    check(id, Pass, read_late(30 * US));
    // Late sends count in the same way.
    let document = check(id, Finding, |parts| {
        parts.measurements.unlagged = histogram((0..30_000).map(|_| 600 * US));
    });
    let p50 = document.verdict.client_overhead[0];
    assert!(p50.share > 0.4 && !p50.is_partial, "{p50:?}");
    // Half of 30 µs is the duration of a wake-up, as on any machine.
    let document = check(id, Pass, |parts| {
        let stamped = parts.measurements.stamped.clone();
        faster(parts, 30 * US);
        parts.measurements.stamped = stamped;
        let m = &mut parts.measurements;
        m.stamped.unlagged = m.results.response_time.ok.clone();
        m.stamped.outside = histogram((0..30_000).map(|k| 15 * US + k % 100));
        parts.beside.witness = None;
    });
    assert!(rule(&document, id).value.is_some_and(|share| share > 0.45));
    // Without stamps only the overhead before the send is known, and in a closed loop none.
    let document = well(|parts| parts.measurements.stamped = Default::default());
    assert!(document.verdict.client_overhead[0].is_partial);
    check(id, Unknown, |parts| {
        closed(parts);
        parts.measurements.stamped = Default::default();
    });
}

#[test]
fn cpu_contention() {
    let id = "cpu-contention";
    let wait = |delay_ns: u64| {
        move |parts: &mut DocumentParts| {
            parts.measurements.workers[1].usage.run_delay_ns = Some(delay_ns);
        }
    };
    check(id, Pass, wait(490 * MS));
    check(id, Finding, wait(510 * MS));
    says(
        id,
        wait(930 * MS),
        "CPU contention: worker 1 was runnable but not running 9.30% of the time (limit: 5%); \
         use more threads (`engine.threads`)",
    );
    let document = check(id, Unknown, |parts| {
        parts.measurements.workers.iter_mut().for_each(|worker| worker.usage.run_delay_ns = None);
    });
    assert_eq!((document.verdict.grade, document.verdict.not_judged()), (Grade::Clean, vec![id]));
}

#[test]
fn client_cpu() {
    let id = "client-cpu";
    check(id, Pass, busy(7 * S));
    check(id, Finding, busy(9 * S));
    check(id, Bound, busy(99 * S / 10));
    // Spinning does not count as busy time.
    check(id, Pass, |parts| {
        let usage = &mut parts.measurements.workers[0].usage;
        (usage.cpu_ns, usage.spun_ns) = (10 * S, 8 * S);
    });
    // The remedy is one that this machine permits.
    let limited = "client CPU: worker 0 needed a CPU 90.1% of the time (limit: 80%); ";
    let with = |remedy: &str| format!("{limited}{remedy}");
    says(id, busy(9 * S), &with("use more threads (`engine.threads`)"));
    let cpus = |parts: &mut DocumentParts| {
        busy(9 * S)(parts);
        parts.given.environment.cpus_usable = Some(2);
    };
    says(id, cpus, &with("lower `load.due`, or use a machine with more CPUs"));
    let local = |parts: &mut DocumentParts| {
        busy(9 * S)(parts);
        parts.beside.health.as_mut().expect("watched").is_server_local = Some(true);
    };
    says(
        id,
        local,
        &with("leave the server a CPU (`engine.threads` 1), or use another machine for it"),
    );
    // One thread fewer than 12 would still take both CPUs, and a single CPU cannot be shared out.
    let crowded = |cpus: u32| {
        move |parts: &mut DocumentParts| {
            local(parts);
            parts.given.plan.threads = 12;
            parts.given.environment.cpus_usable = Some(cpus);
        }
    };
    says(
        id,
        crowded(2),
        &with("leave the server a CPU (`engine.threads` 1), or use another machine for it"),
    );
    says(id, crowded(1), &with("use another machine for the server, or lower the load"));
}

#[test]
fn idle_connections() {
    let id = "idle-connections";
    check(id, Pass, idle(99 * S));
    check(id, Finding, idle(90 * S));
    check(id, Bound, idle(70 * S));
    // 300,000 responses: 22% of the time is 73 µs after each, a slow turnaround that bounds
    // nothing.
    check(id, Finding, |parts| {
        idle(78 * S)(parts);
        parts.measurements.results.completed = 300_000;
    });
    // A tenth of the time, against a fast server.
    check(id, Pass, |parts| {
        idle(90 * S)(parts);
        parts.measurements.results.completed = 3_000_000;
    });
    let elsewhere: [fn(&mut DocumentParts); 4] = [
        |parts| parts.measurements.connections.closed_by_peer = 3,
        |parts| parts.given.plan.load.requests = Some(30_000),
        |parts| parts.measurements.interrupted = true,
        |parts| parts.measurements.occupancy = Occupancy::default(),
    ];
    for change in elsewhere {
        check(id, Unknown, |parts| {
            idle(50 * S)(parts);
            change(parts);
        });
    }
}

/// Streams that the connections allow, over the window of 10 s: 20 until 5 s, then 5, as the server
/// limits them, and none while connections were renewed.
#[test]
fn idle_streams() {
    let id = "idle-connections";
    let streams = |busy_ns: u64| {
        move |parts: &mut DocumentParts| {
            idle(busy_ns)(parts);
            parts.given.plan.load.pipeline = 2;
            parts.measurements.occupancy.capacity_ns = u128::from(125 * S);
            parts.measurements.connections.connects = 30;
            parts.measurements.connections.closed_by_peer = 20;
        }
    };
    let document = check(id, Pass, streams(125 * S));
    assert_eq!(rule(&document, id).value, Some(0.0));
    check(id, Finding, streams(115 * S));
    check(id, Bound, streams(90 * S));
    says(
        id,
        streams(90 * S),
        "idle connections: streams waited for the client 28.0% of the time, 1.17 ms after each \
         response (limit: 20%); use more threads (`engine.threads`)",
    );
}

#[test]
fn late_sends() {
    let id = "late-sends";
    check(id, Pass, late(90 * US));
    check(id, Finding, late(300 * US));
    check(id, Bound, late(2 * MS));
    check(id, Unknown, |parts| {
        parts.measurements = Measurements {
            workers: parts.measurements.workers.clone(),
            sched_lag: Histogram::new(),
            departures: Departures::default(),
            ..Measurements::default()
        };
    });
}

#[test]
fn probe_thread() {
    let id = "probe-thread";
    let saw =
        |p50_ns: u64| move |parts: &mut DocumentParts| parts.beside.witness = Some(witness(p50_ns));
    check(id, Pass, saw(1_040 * US));
    check(id, Finding, saw(700 * US));
    let document = check(id, Bound, saw(300 * US));
    let seen = document.witness.expect("there was one");
    assert!(seen.ratio.is_some_and(|of| of.low < of.ratio && of.ratio < of.high), "{seen:?}");
    // Slower than the load: no evidence of queues in the client.
    check(id, Pass, saw(5 * MS));
    check(id, Unknown, |parts| parts.beside.witness = Some(Measurements::default()));
}

#[test]
fn more_threads_and_the_noise_floor() {
    let trials = |is_limited: bool, floor_ns: u64| {
        move |parts: &mut DocumentParts| {
            (parts.given.selfcheck, parts.given.prove_client) = fixture::trials();
            let proof = parts.given.prove_client.as_mut().expect("both are there");
            proof.is_client_limited = is_limited;
            let floor = parts.given.selfcheck.as_mut().expect("both are there");
            floor.service_time.p50_ns = floor_ns;
        }
    };
    check("more-threads", Bound, trials(true, 20 * US));
    check("more-threads", Pass, trials(false, 20 * US));
    check("noise-floor", Pass, trials(false, 100 * US));
    check("noise-floor", Finding, trials(false, 110 * US));
}

#[test]
fn littles_law() {
    let id = "littles-law";
    check(id, Pass, apart(31 * MS));
    check(id, Finding, apart(100 * MS));
    check(id, weir_result::document::RuleOutcome::Void, apart(S));
    check(id, Unknown, |parts| parts.measurements.occupancy = Occupancy::default());
}

#[test]
fn client_stopped() {
    let id = "client-stopped";
    check(id, Pass, stopped(9 * MS));
    check(id, Finding, stopped(30 * MS));
    check(id, Bound, stopped(600 * MS));
    says(
        id,
        stopped(600 * MS),
        "client stopped: weir could not run for 600.00 ms, 1.00 s into the window (limit: 100 ms); \
         run again on a quiet machine",
    );
    check(id, Bound, |parts| parts.measurements.workers[1].usage.gap_max_ns = 101 * MS);
    // 1% of an hour is 36 s.
    check(id, Finding, |parts| {
        parts.given.plan.load.duration_ns = Some(3_600 * S);
        stopped(600 * MS)(parts);
    });
    let document = check(id, Unknown, |parts| {
        parts.beside.health = None;
        parts.measurements.workers.clear();
    });
    assert_eq!(document.verdict.not_judged(), ["cpu-contention", "client-stopped", "cpu-steal"]);
}

#[test]
fn stops_of_the_whole_program() {
    let id = "client-stopped";
    // Short ones are findings too: no thread is so late without a cause.
    check(id, Finding, program_stopped(3 * MS, 3 * MS));
    says(
        id,
        program_stopped(3 * MS, 3 * MS),
        "client stopped: weir could not run for 3.00 ms, 0 ns into the window (limit: 2 ms); run \
         again on a quiet machine",
    );
    // A lateness of a thread that is no finding hides none.
    check(id, Finding, |parts| {
        program_stopped(3 * MS, 3 * MS)(parts);
        stopped(9 * MS)(parts);
    });
    says(
        id,
        program_stopped(2_500 * MS, 600 * MS),
        "client stopped: weir could not run for 2.50 s, from 1.90 s before the window (limit: 100 \
         ms); run again on a quiet machine",
    );
    // One that ends just after t0 is found, and bounds nothing.
    check(id, Finding, program_stopped(2_500 * MS, MS));
    let several = |parts: &mut DocumentParts| {
        program_stopped(80 * MS, 80 * MS)(parts);
        let stops = parts.beside.health.as_mut().and_then(|health| health.stops.as_mut());
        let stops = stops.expect("stopped");
        (stops.count, stops.effective_ns) = (3, 150 * MS);
    };
    says(
        id,
        several,
        "client stopped: weir could not run for 150.00 ms, in 3 stops, the longest 80.00 ms, 0 ns \
         into the window (limit: 100 ms); run again on a quiet machine",
    );
}

#[test]
fn requests_that_a_stop_delayed_are_no_values() {
    let bounds = |document: &weir_result::Document| {
        let response = &document.results.response_time.ok;
        [50.0, 90.0, 99.0, 99.9].map(|p| response.percentile(p).expect("listed").bound)
    };
    let [upper, exact] = [weir_result::quantile::Bound::Upper, weir_result::quantile::Bound::Exact];
    // 2% of the requests waited for 10 ms more, on connections: their sends are not late.
    let delayed = |parts: &mut DocumentParts| {
        let m = &mut parts.measurements;
        for slice in 0..2 {
            (0..300).for_each(|_| super::run::answer(m, slice, 10 * MS, MS));
        }
    };
    let document = well(delayed);
    assert_eq!(bounds(&document), [exact; 4], "the server may be the cause");
    let document = well(|parts| {
        delayed(parts);
        parts.measurements.workers[0].usage.catch_up_requests = 600;
        parts.measurements.workers[0].usage.catch_up_lag_ns = 20 * MS;
    });
    assert_eq!(bounds(&document), [exact, exact, upper, upper]);
    assert_eq!(document.verdict.grade, Grade::Bounded);
    assert_eq!(document.results.response_time.ok.mean_bound, upper);
    // The most that lateness can have added is nothing to ten milliseconds.
    let document = well(|parts| {
        delayed(parts);
        parts.measurements.workers[0].usage.catch_up_requests = 600;
        parts.measurements.workers[0].usage.catch_up_lag_ns = 400 * US;
    });
    assert_eq!(bounds(&document), [exact; 4]);
    // Three requests of each slice are in flight: a stop delays as many responses.
    let document = well(|parts| {
        (0..40).for_each(|_| super::run::answer(&mut parts.measurements, 3, 0, 50 * MS));
        program_stopped(50 * MS, 50 * MS)(parts);
        let health = parts.beside.health.as_mut().and_then(|health| health.stops.as_mut());
        health.expect("stopped").count = 10;
    });
    assert_eq!(bounds(&document), [exact, exact, exact, upper]);
}
