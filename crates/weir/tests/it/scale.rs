//! Many connections, many threads, and the minimum of both. The tests check that everything is
//! opened, sent and responded to within the memory limit, and not the speed.

use crate::support::on_an_engine;
use crate::support::serve::Serve;
use crate::support::weir::{self, Ran};

fn check_ten_thousand(engine: &str, load: &str) -> Ran {
    // A process of its own: two ends of 10,000 connections need more descriptors than one process
    // may have.
    let server = Serve::start(&[]);
    let flags = format!("-c10k -t2 -d500ms --warmup 200ms {load}");
    let ran = weir::load_weighed(engine, &flags, &[&server.url()]);
    ran.assert_all_ok();
    ran.assert_no_failure();
    let connections = &ran.document.connections;
    assert_eq!((connections.open_at_t0, ran.connects()), (10_000, 10_000), "{ran}");
    assert_eq!(server.stop(), ran.document.accounting.sent.total, "{ran}");
    for phases in &ran.document.phases {
        assert!(phases.connected_ns <= phases.start_ns, "{ran}");
    }
    ran
}

#[test]
fn ten_thousand_connections_are_open_before_the_window_of_a_closed_loop() {
    on_an_engine(|engine| {
        check_ten_thousand(engine, "");
    });
}

#[test]
fn ten_thousand_connections_carry_a_rate_exactly() {
    on_an_engine(|engine| {
        let ran = check_ten_thousand(engine, "-R 2000");
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!((results.planned, results.outcomes.never_sent), (1000, 0), "{ran}");
        assert_eq!((accounting.sent.warmup, accounting.sent.measured), (400, 1000), "{ran}");
    });
}

#[test]
fn one_thread_with_one_connection_is_enough() {
    on_an_engine(|engine| {
        for load in ["", "-R 1000", "--pipeline 8"] {
            let server = Serve::start(&[]);
            let flags = format!("-c1 -t1 -d300ms --warmup 50ms {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!(ran.connects(), 1, "{ran}");
            assert_eq!(server.stop(), ran.document.accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn forty_threads_start_together_and_end() {
    on_an_engine(|engine| {
        for load in ["", "-R 2000"] {
            let server = Serve::start(&[]);
            let flags = format!("-c40 -t40 -d300ms --warmup 100ms {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            let phases = &ran.document.phases;
            assert_eq!(phases.len(), 40, "{ran}");
            for worker in phases {
                assert_eq!(worker.start_ns, phases[0].start_ns, "{ran}");
                assert!(worker.connected_ns <= worker.start_ns, "{ran}");
                assert_eq!(worker.connections, 1, "{ran}");
            }
            assert_eq!(server.stop(), ran.document.accounting.sent.total, "{ran}");
            if usable_cpus() < 40 {
                ran.assert_says("40 threads share");
            }
        }
    });
}

fn usable_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
