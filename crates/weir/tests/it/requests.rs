//! `-n` sends exactly that number of requests, for any partition over threads and connections.

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::serve::Serve;
use crate::support::weir;

#[test]
fn one_request_is_one_request() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let ran = weir::load(engine, "-n 1", &[&server.url()]);
        ran.assert_all_ok();
        let sent = &ran.document.accounting.sent;
        assert_eq!((sent.preflight, sent.measured, sent.total), (1, 1, 2), "{ran}");
        assert_eq!(server.finish(), 2, "{ran}");

        let server = Raw::answering(OK);
        let ran = weir::load(engine, "-n 1 --no-preflight", &[&server.url()]);
        ran.assert_all_ok();
        assert_eq!(server.finish(), 1, "{ran}");
    });
}

#[test]
fn requests_are_exact_whatever_they_are_partitioned_over() {
    on_an_engine(|engine| {
        for flags in [
            "-n 1000 -c 7 -t 2",
            "-n 1000 -c 7 -t 2 -R 5000",
            "-n 1000 -c 7 -t 2 -R 5000 --arrivals poisson --seed 7",
            "-n 1000 -c 7 -t 2 --pipeline 5",
            "-n 1000 -c 3 -t 3 --pipeline 128",
            "-n 3 -c 10 -t 4",
            "-n 3 -c 10 -t 4 -R 100",
        ] {
            let server = Raw::answering(OK);
            let ran = weir::load(engine, flags, &[&server.url()]);
            let count = if flags.contains("1000") { 1000 } else { 3 };
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!(ran.document.results.outcomes.ok, count, "{flags}: {ran}");
            let sent = ran.document.accounting.sent;
            assert_eq!(sent.total - sent.probe, count + 1, "{flags}: {ran}");
            assert_eq!(server.finish(), sent.total, "{flags}: {ran}");
        }
    });
}

#[test]
fn a_worker_without_a_request_does_not_widen_the_window() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let ran = weir::load(engine, "-n 1 -c 3 -t 2", &[&server.url()]);
        ran.assert_all_ok();
        let document = &ran.document;
        assert_eq!(document.connections.open_at_t0, 3, "{ran}");
        let first_t0 = document.phases.iter().map(|phases| phases.t0_ns).min();
        let last_t1 = document.phases.iter().map(|phases| phases.t1_ns).max();
        let start = document.phases[0].start_ns;
        assert!(first_t0.is_some_and(|t0_ns| t0_ns >= start), "{ran}");
        let window_ns = last_t1.expect("two") - start;
        assert_eq!(document.throughput.window_s, window_ns as f64 / 1e9, "{ran}");
    });
}

#[test]
fn workers_that_end_apart_share_one_window() {
    on_an_engine(|engine| {
        // Two requests of the first worker, one of the second, and slices that end with the last.
        let server = Raw::answering(OK);
        for flags in ["-n 3 -c 2 -t 2", "-n 3 -c 2 -t 2 -d 30s --warmup 0"] {
            let ran = weir::load(engine, flags, &[&server.url()]);
            ran.assert_all_ok();
            let slices = &ran.document.slices;
            let last = slices.last().expect("there was a window");
            let longest = ran.document.phases.iter().map(|one| one.t1_ns - one.start_ns).max();
            let longest_s = longest.expect("two workers") as f64 / 1e9;
            assert!(last.end_s <= longest_s, "{last:?} of {longest_s}\n{ran}");
            for pair in slices.windows(2) {
                assert_eq!(pair[0].end_s, pair[1].start_s, "{ran}");
            }
        }
    });
}

#[test]
fn the_first_of_duration_and_requests_ends_the_run() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let flags = "-n 20 -d 1h -c 4 -t 2 --warmup 0";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        assert_eq!(ran.document.results.planned, 20, "{ran}");

        let flags = "-n 1000000 -d 100ms -c 4 -t 2 --warmup 0 --no-preflight";
        let server = Raw::answering(OK);
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        assert!(ran.document.results.planned < 1_000_000, "{ran}");
        assert_eq!(server.finish(), ran.document.accounting.sent.total, "{ran}");

        let server = Raw::answering(OK);
        let flags = "-n 1000000 -d 300ms -c 4 -t 2 --warmup 0 --no-preflight -R 100";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        assert_eq!(ran.document.results.planned, 30, "{ran}");
        assert_eq!(server.finish(), 30, "{ran}");
    });
}

#[test]
fn warm_up_comes_on_top_of_the_number() {
    on_an_engine(|engine| {
        for load in ["", "-R 500"] {
            let server = Raw::answering(OK);
            let flags = format!("-n 50 -c 4 -t 2 --warmup 100ms --no-preflight {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            let sent = &ran.document.accounting.sent;
            assert_eq!((sent.measured, sent.tail), (50, 0), "{ran}");
            assert!(sent.warmup > 0, "{ran}");
            assert_eq!(server.finish(), sent.total, "{ran}");
        }
    });
}

#[test]
fn a_server_that_answers_nothing_ends_the_run_all_the_same() {
    on_an_engine(|engine| {
        let server = Raw::start(|peer| {
            while peer.read_request()?.is_some() {}
            Ok(())
        });
        let ran = weir::load(engine, "-n 1000 -c 2 -t 2 -T 100ms --no-preflight", &[&server.url()]);
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!((ran.code, results.planned), (1, 1000), "{ran}");
        assert_eq!(results.outcomes.timed_out + results.outcomes.never_sent, 1000, "{ran}");
        assert!(results.outcomes.timed_out >= 2, "{ran}");
        assert_eq!(server.finish(), accounting.sent.total, "{ran}");
    });
}

#[test]
fn a_body_may_be_given_by_its_size() {
    let server = Serve::start(&[]);
    let ran = weir::load("epoll", "-n 20 -t1 -c2 --warmup 0 --body-size 10k", &[&server.url()]);
    assert_eq!(ran.code, 0, "{ran}");
    let request = &ran.document.plan.request;
    assert_eq!((request.method.as_str(), request.body_bytes), ("POST", 10_000));
    assert_eq!(ran.document.results.outcomes.ok, 20);
}
