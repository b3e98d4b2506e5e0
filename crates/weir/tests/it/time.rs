//! Duration of a run: the wait for its server, and the time after the window.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_io::Endpoint;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::weir::{self, WEIR, weir};
use crate::support::wrk::weir_as;
use crate::support::wrk_report::Report;

/// A server that reads requests and never responds.
fn silent() -> Raw {
    Raw::start(|peer| {
        while peer.read_request()?.is_some() {}
        Ok(())
    })
}

#[test]
fn a_server_that_appears_later_is_waited_for() {
    // A socket's path belongs to the test; a port that is free now may be taken later.
    for flags in ["", "--no-preflight", "-X POST"] {
        let directory = Directory::new();
        let path = directory.file("socket");
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 2>&1 > /dev/null", WEIR]);
        command.args(["-n", "20", "-c2", "--no-verdict", "--wait-for-server", "60s"]);
        command.args(flags.split_whitespace());
        command.args(["--unix", &path, "http://any.host/"]);
        let mut process = Process::start(&mut command);
        let line = process.next_line();
        let expected = format!("waiting for the server: cannot connect to unix:{path}: ");
        assert!(line.starts_with(&expected), "{line}");
        let server = Served::at(Endpoint::Unix(path.into()), |_| {});
        let output = process.wait();
        assert_eq!((output.code(), output.stdout.as_str()), (0, ""), "{output:?}");
        let preflights = u64::from(flags.is_empty());
        assert_eq!(server.stop().requests.received, 20 + preflights, "{flags} {output:?}");
    }
}

#[test]
fn a_wait_needs_a_response() {
    // Accepts and closes at first, like a proxy whose backend is not running yet.
    let server = Raw::start(|peer| {
        while peer.read_request()?.is_some() && peer.number >= 3 {
            peer.write(OK)?;
        }
        Ok(())
    });
    let ran = weir::load("epoll", "-n 10 -c1 --wait-for-server 60s", &[&server.url()]);
    ran.assert_all_ok();
    let sent = ran.document.accounting.sent;
    assert_eq!((sent.preflight, sent.measured), (4, 10), "{ran}");
    assert_eq!(server.finish(), sent.total, "{ran}");
}

#[test]
fn a_wait_in_vain_says_for_how_long() {
    let directory = Directory::new();
    let path = directory.file("socket");
    let flags = "-d60s --wait-for-server 1ms -o";
    let words = [&directory.file("run.json"), "--unix", &path, "http://any.host/"];
    let output = weir(flags, &words);
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:?}");
    let error = output.stderr.lines().last().expect("an error");
    assert!(error.starts_with("error: cannot connect to unix:"), "{output:?}");
    assert!(error.ends_with(" (retried for 1 ms); start the server"), "{output:?}");

    let output = weir("-d60s --wait-for-server 1ms", &["http://no.such.host.invalid/"]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains(" (retried for 1 ms); check the name"), "{output:?}");
}

#[test]
fn a_silent_server_costs_one_drain() {
    on_an_engine(|engine| {
        for load in ["", "-R 100"] {
            let server = silent();
            let flags = format!("-c4 -t2 -d200ms --warmup 0 --no-preflight -T 300s {load}");
            let ran = weir::load(engine, &format!("{flags} --drain 100ms"), &[&server.url()]);
            let results = &ran.document.results;
            assert_eq!(ran.code, 1, "{ran}");
            assert_eq!(ran.document.plan.load.drain_ns, Some(100_000_000), "{ran}");
            // Nothing has timed out: the drain ended first.
            assert_eq!(
                (results.outcomes.in_flight_at_end, results.outcomes.timed_out),
                (4, 0),
                "{ran}"
            );
            assert_eq!(
                results.outcomes.in_flight_at_end + results.outcomes.never_sent,
                results.planned
            );
            ran.assert_only_bounds(100_000_000);
        }
    });
}

#[test]
fn an_interrupt_in_the_drain_ends_it_and_keeps_everything() {
    on_an_engine(|engine| {
        for (signal, load) in [("INT", "-R 100"), ("TERM", "-R 100")] {
            // The first request gets no response, the others get theirs at once.
            let count = AtomicU64::new(0);
            let server = Raw::start(move |peer| {
                while peer.read_request()?.is_some() {
                    if count.fetch_add(1, Ordering::Relaxed) == 0 {
                        return peer.await_close();
                    }
                    peer.write(OK)?;
                }
                Ok(())
            });
            let flags = "-c4 -t1 -d300ms --warmup 0 --no-preflight -T 300s --drain 300s";
            let running = weir::start(engine, &format!("{flags} {load}"), &[&server.url()]);
            // 30 belong to the window; more are sent only after it.
            server.await_requests(40);
            running.process.signal(&[signal]);
            let ran = running.finish();
            assert_eq!(ran.code, 0, "as any run whose window was complete: {ran}");
            assert!(!ran.document.run.interrupted, "{ran}");
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            assert_eq!(results.planned, 30, "{ran}");
            assert!(results.outcomes.in_flight_at_end >= 1 && results.outcomes.ok >= 25, "{ran}");
            assert!(accounting.sent.tail >= 10, "{ran}");
        }
    });
}

#[test]
fn a_dialect_sends_nothing_after_the_window() {
    for (dialect, flags) in [("wrk2", "-R 20000 -c2 -t1"), ("wrk", "-c4 -t2")] {
        let server = Raw::start(|peer| {
            while peer.read_request()?.is_some() {
                crate::support::wait::let_pass(Duration::from_millis(10));
                peer.write(OK)?;
            }
            Ok(())
        });
        let output = weir_as(dialect, &format!("-d1 {flags}"), &[&server.url()]);
        assert_eq!(output.code(), 0, "{output:?}");
        let report = Report::read(&output.stdout);
        // Each connection may have one more in flight when the window ends.
        let most = report.requests + report.connections;
        let sent = server.finish();
        assert!(sent <= most, "{sent} sent, {} in the window: {output:?}", report.requests);
    }
}

/// Against a server that never responds, a dialect takes its window and a drain, whatever its
/// timeout.
#[test]
fn a_dialect_does_not_wait_for_the_timeout() {
    let server = silent();
    let output = weir_as("wrk", "-d1 -c2 -t1 --timeout 300s", &[&server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert_eq!(Report::read(&output.stdout).requests, 0, "{output:?}");
    assert_eq!(server.finish(), 2, "{output:?}");
}
