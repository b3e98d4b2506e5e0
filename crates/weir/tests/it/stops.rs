//! A client that is stopped and continued in the warm-up, over a border of the window, in the
//! drain, or twice (METHOD 1.9, `client-stopped`): the stop is found, and what it inflated is no
//! value.
//!
//! Each stop is bracketed, as in `stall.rs`: a busy machine makes it longer, and the time after it,
//! yet breaks no check.

use std::time::Duration;

use weir_result::Stops;
use weir_result::document::{Grade, RuleOutcome};
use weir_result::quantile::Bound;

use crate::stall::{Span, stall};
use crate::support::on_an_engine;
use crate::support::serve::Serve;
use crate::support::weir::{self, Ran};

const MS: u64 = 1_000_000;

/// A stop is found less up to one beat of 2.5 ms, and the time for which the heartbeat's thread
/// ran.
const LESS_NS: u64 = 3 * MS;

/// The window on the wall clock, and the end of its last request, in nanoseconds since 1970.
struct Window {
    t0: u64,
    t1: u64,
    resolved: u64,
}

impl Window {
    fn of(ran: &Ran) -> Window {
        let run = &ran.document.run;
        let plan = &ran.document.plan;
        let phases = &ran.document.phases;
        let t0 = run.epoch_unix_ns + phases[0].start_ns + plan.load.warmup.span_ns;
        let t1 = t0 + plan.load.duration_ns.expect("all runs have one");
        let resolved = phases.iter().map(|phases| phases.resolved_ns).max().unwrap_or(0);
        Window { t0, t1, resolved: run.epoch_unix_ns + resolved }
    }
}

/// Returns the stops that the document has.
fn found(ran: &Ran) -> Stops {
    ran.document.health.and_then(|health| health.stops).expect("the run was watched")
}

/// Checks that the document has at least these stops, and the verdict one of them.
fn assert_found(ran: &Ran, stops: &[Span]) {
    let stopped = found(ran);
    assert!(stopped.count as usize >= stops.len(), "{stopped:?} {stops:?}\n{ran}");
    let longest_ns = stops.iter().map(|stop| stop.until - stop.from).max().unwrap_or(0);
    assert!(stopped.longest_ns + LESS_NS >= longest_ns, "{stopped:?} {stops:?}\n{ran}");
    let rule = ran.document.verdict.rules.iter().find(|rule| rule.id == "client-stopped");
    let rule = rule.expect("it is always judged");
    assert!(rule.outcome >= RuleOutcome::Finding, "{rule:?}\n{ran}");
}

/// Checks that p99 is an upper bound, and the run not clean.
fn assert_bounded(ran: &Ran) {
    let p99 = ran.document.results.response_time.headline().percentile(99.0);
    assert_eq!(p99.map(|value| value.bound), Some(Bound::Upper), "{ran}");
    assert!(ran.document.verdict.grade >= Grade::Bounded, "{ran}");
}

#[test]
fn a_stop_from_the_warm_up_into_the_window_is_not_clean() {
    on_an_engine(|engine| {
        let server = Serve::start(&[]);
        let flags = "-t1 -c2 -R300 --warmup 1s -d2s --no-preflight";
        let running = weir::start(engine, flags, &[&server.url()]);
        server.await_requests(100);
        let (inner, _) = stall(&running.process, Duration::from_millis(2_000));
        let ran = running.finish();
        let window = Window::of(&ran);
        assert!(inner.from < window.t1 && inner.until > window.t0, "it missed the window\n{ran}");
        assert_found(&ran, &[inner]);
        assert_bounded(&ran);
        server.stop();
    });
}

#[test]
fn a_stop_in_the_warm_up_whose_backlog_reaches_the_window_is_not_clean() {
    on_an_engine(|engine| {
        // At 200 of at most 250 requests per second the backlog of 0.4 s takes 1.6 s.
        let server = Serve::start(&["--threads", "1", "--mode", "fifo", "--delay", "4ms"]);
        let flags = "-t1 -c200 -R200 --warmup 1s -d1s --no-preflight";
        let running = weir::start(engine, flags, &[&server.url()]);
        server.await_requests(40);
        let (inner, _) = stall(&running.process, Duration::from_millis(400));
        let ran = running.finish();
        let window = Window::of(&ran);
        assert!(inner.from < window.t1, "it missed the window\n{ran}");
        assert_found(&ran, &[inner]);
        assert_bounded(&ran);
        let delayed: u64 =
            ran.document.phases.iter().map(|phases| phases.usage.catch_up_requests).sum();
        assert!(delayed > 0, "{ran}");
        server.stop();
    });
}

#[test]
fn a_stop_over_the_end_and_one_in_the_drain_are_not_clean() {
    on_an_engine(|engine| {
        let server = Serve::start(&["--delay", "300ms"]);
        let flags = "-t1 -c200 -R200 --warmup 0 -d1s --no-preflight";
        // In the drain the load goes on, until the responses of the window are there.
        for requests in [190, 205] {
            let before = server.requests();
            let running = weir::start(engine, flags, &[&server.url()]);
            server.await_requests(before + requests);
            let (inner, _) = stall(&running.process, Duration::from_millis(600));
            let ran = running.finish();
            let window = Window::of(&ran);
            assert!(inner.from < window.resolved, "it came too late\n{ran}");
            assert_found(&ran, &[inner]);
            assert_bounded(&ran);
        }
        server.stop();
    });
}

#[test]
fn two_stops_of_one_run_are_both_found() {
    on_an_engine(|engine| {
        let server = Serve::start(&["--delay", "1ms"]);
        // A closed loop: nothing is due, and no response is late by itself.
        let flags = "-t1 -c2 --warmup 0 -d3s --no-preflight";
        let running = weir::start(engine, flags, &[&server.url()]);
        server.await_requests(100);
        let (first, _) = stall(&running.process, Duration::from_millis(50));
        let more = server.requests() + 100;
        server.await_requests(more);
        let (second, _) = stall(&running.process, Duration::from_millis(300));
        let ran = running.finish();
        let window = Window::of(&ran);
        assert!(second.from < window.t1, "it missed the window\n{ran}");
        assert_found(&ran, &[first, second]);
        assert!(ran.document.verdict.grade >= Grade::Bounded, "{ran}");
        server.stop();
    });
}
