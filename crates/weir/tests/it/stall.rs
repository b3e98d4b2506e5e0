//! A server process that is stopped and continued (METHOD 2.2): response times follow the curve of
//! the stall, service times do not.
//!
//! The stall is bracketed: it lasted at least from the time at which every thread was seen stopped
//! until SIGCONT. The bounds follow from that bracket and from the document's window, so that a
//! busy machine cannot break them.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_result::Document;

use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::serve::Serve;
use crate::support::wait::{self, let_pass};
use crate::support::weir;

const RATE: u64 = 1000;
const WINDOW_NS: u64 = 3_000_000_000;
const STALL: Duration = Duration::from_millis(420);

/// A span of wall-clock time, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) until: u64,
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    u64::try_from(now.as_nanos()).expect("it is before 2554")
}

/// Stops the process for a time. Returns the span in which it was certainly stopped, and the one
/// outside which it certainly was not.
pub(crate) fn stall(process: &Process, length: Duration) -> (Span, Span) {
    let before = now();
    process.signal(&["STOP"]);
    await_standstill(process.id());
    let stopped = now();
    let_pass(length);
    let going_on = now();
    process.signal(&["CONT"]);
    (Span { from: stopped, until: going_on }, Span { from: before, until: now() })
}

/// Waits until each thread is in the state T (proc(5)), because signals take time.
fn await_standstill(id: u32) {
    wait::until("all threads to stop", || {
        let threads = fs::read_dir(format!("/proc/{id}/task")).expect("it runs");
        let is_stopped = |thread: fs::DirEntry| {
            let state = fs::read_to_string(thread.path().join("stat")).expect("proc is mounted");
            // The state follows the name, which ends with the last parenthesis.
            state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        };
        threads.flatten().all(is_stopped).then_some(())
    });
}

/// The part of a span that lay in the window, in nanoseconds.
fn in_window_ns(document: &Document, span: Span) -> u64 {
    let t0 = document.run.epoch_unix_ns
        + document.phases[0].start_ns
        + document.plan.load.warmup.span_ns;
    span.until.min(t0 + WINDOW_NS).saturating_sub(span.from.max(t0))
}

/// Lower bounds, in nanoseconds, for the response times of the requests due in the stall, largest
/// first: each waited at least until its end, and the next was due `1 / RATE` later.
fn curve(document: &Document, stall: Span) -> Vec<u64> {
    let epoch = document.run.epoch_unix_ns;
    let t0 = epoch + document.phases[0].start_ns + document.plan.load.warmup.span_ns;
    let from = stall.from.max(t0);
    let due_until = stall.until.min(t0 + WINDOW_NS);
    let spacing_ns = 1_000_000_000 / RATE;
    // The first slot in the span may lie up to one spacing after its beginning.
    let slots = due_until.saturating_sub(from) / spacing_ns;
    (1..=slots).map(|late| (stall.until - from).saturating_sub(late * spacing_ns)).collect()
}

#[test]
fn response_times_follow_a_stall_and_service_times_do_not() {
    on_an_engine(|engine| {
        let server = Serve::start(&["--threads", "1"]);
        let flags = format!("-c10 -t2 -R {RATE} -d3s --warmup 0 --no-preflight");
        let running = weir::start(engine, &flags, &[&server.url()]);
        // The load is running, and the window has room for the stall and the time after it.
        server.await_requests(300);
        let (inner, outer) = stall(server.process(), STALL);
        let ran = running.finish();
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert_eq!(ran.document.results.planned, 3 * RATE, "{ran}");
        let curve = curve(&ran.document, inner);
        assert!(curve.len() > 100, "the stall missed the window: {inner:?}\n{ran}");
        ran.assert_tail(&curve);

        let response = &ran.document.results.response_time.ok;
        let service = &ran.document.results.service_time;
        let max_ns = response.max_ns.expect("3,000 answers");
        let slack_ns = 2_000_000_000;
        assert!(max_ns <= outer.until - outer.from + slack_ns, "{outer:?}\n{ran}");
        // The document may withhold a percentile that depends on a single stall; the histograms
        // contain it.
        let p90 = |metric: &weir_result::document::Metric| {
            metric.times.ok.percentile(90.0).expect("of 3,000")
        };
        // 14% of the requests were due in the stall; ten of them were on the wire.
        assert!(p90(service) < p90(&ran.document.results.response_time) / 2, "{ran}");
        assert_eq!(ran.document.accounting.sent.total, server.stop(), "{ran}");
    });
}

#[test]
fn a_stopped_client_charges_itself() {
    on_an_engine(|engine| {
        let server = Serve::start(&[]);
        // So many connections that some are free at the stop, even if the server waits for a CPU.
        let flags = format!("-c100 -t2 -R {RATE} -d3s --warmup 0 --no-preflight");
        let running = weir::start(engine, &flags, &[&server.url()]);
        server.await_requests(300);
        let (inner, outer) = stall(&running.process, STALL);
        let ran = running.finish();
        ran.assert_all_ok();
        let curve = curve(&ran.document, inner);
        assert!(curve.len() > 100, "the stall missed the window: {inner:?}\n{ran}");
        ran.assert_tail(&curve);
        // The lag shows the same curve: nothing was on the wire while the client was stopped.
        let lag = ran.document.latency.send_lag.ok.max_ns.expect("3,000 sends");
        assert!(lag >= curve[0], "{lag}\n{ran}");
        let sched_lag = ran.document.latency.sched_lag.ok.max_ns.expect("3,000 sends");
        assert!(sched_lag >= curve[0], "{sched_lag}\n{ran}");
        // So does the heartbeat; its thread would have slept through up to 5 ms of the stop anyway.
        let gap = ran.document.health.and_then(|health| health.heartbeat_gap_ns);
        let gap = gap.expect("the window was watched");
        assert!(gap + 6_000_000 >= in_window_ns(&ran.document, inner), "{gap}\n{ran}");
        assert!(gap <= outer.until - outer.from + 2_000_000_000, "{gap} {outer:?}\n{ran}");
        server.stop();
    });
}
