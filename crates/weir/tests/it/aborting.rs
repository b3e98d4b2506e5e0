//! `--abort`: a condition that holds for some seconds ends the load, with a report and exit status
//! 6. Servers count requests, not time, so that a busy machine only delays the end.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::weir::{self, Ran};

const FAILED: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno";

/// A server that responds to that many requests, and to the others with 503.
fn failing_after(requests: u64) -> Raw {
    let count = AtomicU64::new(0);
    Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            let is_ok = count.fetch_add(1, Ordering::Relaxed) < requests;
            peer.write(if is_ok { OK } else { FAILED }.as_bytes())?;
        }
        Ok(())
    })
}

/// Checks that the run was aborted by this condition, with so many values for which `holds`.
fn assert_aborted(ran: &Ran, condition: &str, values: usize, holds: impl Fn(f64) -> bool) {
    let run = &ran.document.run;
    let aborted = run.aborted.as_ref().unwrap_or_else(|| panic!("it was not aborted\n{ran}"));
    assert_eq!((aborted.condition.as_str(), aborted.values.len()), (condition, values), "{ran}");
    assert!(aborted.values.iter().all(|value| holds(*value)), "{aborted:?}\n{ran}");
    assert!(run.interrupted, "{ran}");
    let window_s = ran.document.throughput.window_s;
    assert!(values as f64 <= aborted.at_s && aborted.at_s <= window_s, "{aborted:?}\n{ran}");
    assert!(window_s < 600.0, "{ran}");
    ran.assert_says(&format!("by the condition '{condition}': {}", aborted.measured));
}

#[test]
fn errors_for_some_seconds_end_the_load() {
    on_an_engine(|engine| {
        let loads = match engine {
            "epoll" => ["-d 10m", "-d 10m -R 200 -t2"],
            _ => ["-d 0", "-n 10M"],
        };
        for load in loads {
            let server = failing_after(100);
            let condition = "errors > 50% for 2s";
            let flags = format!("-c4 {load} --warmup 0 --no-preflight --abort");
            let ran = weir::load(engine, &flags, &[condition, &server.url()]);
            assert_eq!(ran.code, 6, "{ran}");
            assert_aborted(&ran, condition, 2, |share| share > 0.5);
            assert!(
                ran.stderr.contains("error: --abort 'errors > 50% for 2s' ended the load after")
            );
            assert_eq!(ran.document.plan.load.abort, [condition]);
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            assert_eq!((results.outcomes.ok, results.outcomes.in_flight_at_end), (100, 0), "{ran}");
            assert_eq!(server.finish(), accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn any_of_several_conditions_ends_the_load() {
    let server = Raw::answering(OK);
    let condition = "rate >= 1 for 2s";
    let flags = "-c4 -t2 -d 10m -R 50 --warmup 0 --no-preflight --abort";
    let more = ["errors > 5%", "--abort", condition, "--abort", "p99 > 1h", &server.url()];
    let ran = weir::load("epoll", flags, &more);
    assert_eq!(ran.code, 6, "{ran}");
    assert_aborted(&ran, condition, 2, |rate| rate >= 1.0);
}

#[test]
fn conditions_that_do_not_hold_end_nothing() {
    let server = Raw::answering(OK);
    let flags = "-c4 -t2 -d 2s --warmup 0 --no-preflight --abort";
    let ran = weir::load("epoll", flags, &["errors > 0%", "--abort", "max > 1h", &server.url()]);
    ran.assert_all_ok();
    assert_eq!((ran.document.run.aborted.is_some(), ran.document.run.interrupted), (false, false));
    assert_eq!(ran.document.plan.load.abort.len(), 2, "{ran}");
}

#[test]
fn the_warm_up_does_not_count() {
    let server = Raw::answering(OK);
    let flags = "-c2 -d 10m --warmup 2s --no-preflight --abort";
    let ran = weir::load("epoll", flags, &["rate >= 1", &server.url()]);
    assert_eq!(ran.code, 6, "{ran}");
    assert_aborted(&ran, "rate >= 1", 1, |rate| rate >= 1.0);
    assert!(ran.document.accounting.sent.warmup > 0, "{ran}");
}

#[test]
fn a_run_without_any_success_ends_with_1() {
    let server = Raw::answering(FAILED);
    let flags = "-c2 -d 10m --warmup 0 --no-preflight --abort";
    let ran = weir::load("epoll", flags, &["errors > 5%", &server.url()]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_aborted(&ran, "errors > 5%", 1, |share| share > 0.05);
}

#[test]
fn a_loaded_document_has_the_same_exit_status() {
    let server = failing_after(9);
    let flags = "-c2 -d 10m --warmup 0 --no-preflight --abort";
    let more = ["errors > 5%", "--assert", "rate < 1", &server.url()];
    let running = weir::start("epoll", flags, &more);
    let output = running.process.wait();
    assert_eq!(output.code(), 6, "it precedes a failed assertion: {output:?}");
    let report = weir::weir("report", &[&running.directory.file("run.json")]);
    assert_eq!(report.code(), 6, "{report:?}");
    assert!(report.stdout.contains("by the condition 'errors > 5%'"), "{report:?}");
}

#[test]
fn a_dialect_has_conditions_too() {
    let server = Raw::answering(FAILED);
    let words = "--compat wrk -c2 -t2 -d 10m --abort";
    let output = weir::weir(words, &["errors > 5% for 1s", &server.url()]);
    assert_eq!(output.code(), 6, "{output:?}");
    assert!(output.stdout.contains("Requests/sec:"), "{output:?}");
    assert!(output.stderr.contains("error: --abort 'errors > 5% for 1s' ended"), "{output:?}");
}

#[test]
fn wrong_conditions_are_refused_before_anything_is_sent() {
    let server = Raw::answering(OK);
    let example = "write it like 'errors > 5% for 5s'";
    for (words, condition, part) in [
        ("--abort", "errors", example),
        ("--abort", "errors > 5% for 0.5s", example),
        ("--abort", "p99 > 5", example),
        ("--abort", "never_sent > 5%", example),
        ("--abort", "errors == 5%", example),
        ("--compat wrk --abort", "errors > x", example),
        ("--part 1/2 -t2 --abort", "errors > 5%", "each part would end by itself"),
        ("repeat --abort", "errors > 5%", "leave it out"),
        ("ab --before true --abort", "errors > 5%", "leave it out"),
        ("sweep --vary c=1,2 --abort", "errors > 5%", "leave it out"),
        ("search errors<1% --abort", "errors > 5%", "leave it out"),
    ] {
        let output = weir::weir(words, &[condition, &server.url()]);
        assert_eq!(output.code(), 2, "{words} {condition}: {output:?}");
        let says = output.stderr.contains("--abort") && output.stderr.contains(part);
        assert!(says, "{words} {condition}: {output:?}");
    }
    assert_eq!(server.finish(), 0);
}
