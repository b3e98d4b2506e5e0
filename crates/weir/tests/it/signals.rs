//! Signals: at any time, the first one ends the run in order, with a report; a second one ends it
//! at once.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::wait;
use crate::support::weir::{self, Ran};

/// A server with a full accept queue: further connects neither succeed nor fail.
struct Full {
    address: SocketAddr,
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Full {
    fn new() -> Full {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let mut queued = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            queued.push(stream);
        }
        Full { address, _listener: listener, _queued: queued }
    }

    /// Waits for an attempt to connect.
    fn await_attempt(&self) {
        // proc(5): the remote address in hexadecimal, and 02 for SYN_SENT.
        let attempt = format!(":{:04X} 02 ", self.address.port());
        wait::until("an attempt to connect", || {
            let sockets = std::fs::read_to_string("/proc/net/tcp").expect("proc is mounted");
            sockets.contains(&attempt).then_some(())
        });
    }
}

fn assert_interrupted(ran: &Ran, code: i32) {
    assert_eq!(ran.code, code, "{ran}");
    assert!(ran.document.run.interrupted, "{ran}");
    ran.assert_says("interrupted");
}

#[test]
fn an_interrupt_while_connecting_is_reported() {
    on_an_engine(|engine| {
        for load in ["", "-R 100"] {
            let full = Full::new();
            let url = format!("http://{}/", full.address);
            let flags = format!("-c4 -t2 -d30s --no-preflight {load}");
            let running = weir::start(engine, &flags, &[&url]);
            full.await_attempt();
            running.process.signal(&["INT"]);
            let ran = running.finish();
            assert_interrupted(&ran, 130);
            let document = &ran.document;
            assert_eq!((document.results.planned, document.connections.connects), (0, 0));
            assert_eq!(document.connections.requested, 4, "{ran}");
            ran.assert_says("0 of 4 open");
        }
    });
}

#[test]
fn an_interrupt_while_looking_at_the_url_is_obeyed() {
    on_an_engine(|engine| {
        let full = Full::new();
        let running = weir::start(engine, "-d30s", &[&format!("http://{}/", full.address)]);
        full.await_attempt();
        running.process.signal(&["INT"]);
        let output = running.process.wait();
        assert!(!output.status.success(), "{output:?}");
        // There is nothing to report, unless the preflight was over by then.
        let names = running.directory.names();
        assert!(names.is_empty() || output.code() == 130, "{names:?} {output:?}");
        assert!(names.len() <= 1, "no half of a result is left: {names:?} {output:?}");
    });
}

#[test]
fn a_run_that_is_interrupted_reports_what_it_has() {
    on_an_engine(|engine| {
        for (load, signal, code) in
            [("", "INT", 130), ("", "TERM", 143), ("-R 500", "INT", 130), ("-R 500", "TERM", 143)]
        {
            let server = Raw::answering(OK);
            let flags = format!("-c4 -t2 -d30s --warmup 0 --no-preflight {load}");
            let running = weir::start(engine, &flags, &[&server.url()]);
            server.await_requests(50);
            running.process.signal(&[signal]);
            let ran = running.finish();
            assert_interrupted(&ran, code);
            let document = &ran.document;
            assert!(document.results.outcomes.ok >= 10, "{ran}");
            assert_eq!(document.results.outcomes.timed_out, 0, "{ran}");
            assert!(document.throughput.window_s < 30.0, "{ran}");
            assert_eq!(server.finish(), document.accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn a_signal_is_the_planned_end_with_d_0() {
    on_an_engine(|engine| {
        for (load, signal) in [("", "INT"), ("-R 500", "TERM")] {
            let server = Raw::answering(OK);
            let flags = format!("-c4 -t2 -d 0 --warmup 0 --no-preflight {load}");
            let running = weir::start(engine, &flags, &[&server.url()]);
            server.await_requests(50);
            running.process.signal(&[signal]);
            let ran = running.finish();
            ran.assert_all_ok();
            let document = &ran.document;
            assert!(!document.run.interrupted, "{ran}");
            assert_eq!(
                document.plan.load.duration_ns.or(document.plan.load.requests),
                None,
                "{ran}"
            );
            ran.assert_says("until a signal");
            assert!(!ran.text.contains("interrupted"), "{ran}");
            assert_eq!(server.finish(), document.accounting.sent.total, "{ran}");
        }
    });
}

#[test]
fn d_0_has_a_warm_up_and_a_signal_in_it_interrupts() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let flags = "-c4 -d 0 --warmup 30s --no-preflight";
        let running = weir::start(engine, flags, &[&server.url()]);
        server.await_requests(50);
        running.process.signal(&["INT"]);
        let ran = running.finish();
        assert_interrupted(&ran, 130);
        assert_eq!(ran.document.results.planned, 0, "{ran}");
        assert_eq!(server.finish(), ran.document.accounting.sent.total, "{ran}");
    });
}

#[test]
fn d_0_is_refused_where_a_run_must_end_by_itself() {
    let remedy = "give -d a length";
    for (words, remedy) in [
        ("repeat -d 0 http://127.0.0.1:9/", remedy),
        ("ab --before true -d 0 http://127.0.0.1:9/", remedy),
        ("sweep --vary d=1,0 http://127.0.0.1:9/", remedy),
        ("search p99<5ms -d 0 http://127.0.0.1:9/", remedy),
        ("-d 0 --prove-client -c4 -t1 http://127.0.0.1:9/", remedy),
        ("-d 0 -n 9 http://127.0.0.1:9/", "leave one of them out"),
        ("-d 0 --part 1/2 -t2 http://127.0.0.1:9/", "give a length"),
    ] {
        let output = weir::weir(words, &[]);
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        let is_named = output.stderr.contains("-d 0") || output.stderr.contains("d=0");
        assert!(is_named && output.stderr.contains(remedy), "{words}: {output:?}");
    }
    let output = weir::weir("--compat wrk -d 0 http://127.0.0.1:9/", &[]);
    assert_eq!(output.code(), 1, "wrk's code: {output:?}");
    assert!(output.stderr.contains("invalid --duration: it must be > 0"), "{output:?}");
}

#[test]
fn an_interrupt_during_the_warm_up_measures_nothing() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let running =
            weir::start(engine, "-c4 -t2 -d30s --warmup 30s --no-preflight", &[&server.url()]);
        server.await_requests(50);
        running.process.signal(&["INT"]);
        let ran = running.finish();
        assert_interrupted(&ran, 130);
        assert_eq!(ran.document.results.planned, 0, "{ran}");
        assert_eq!(server.finish(), ran.document.accounting.sent.total, "{ran}");
    });
}

#[test]
fn an_interrupted_black_hole_is_no_fast_server() {
    on_an_engine(|engine| {
        for load in ["", "-R 200"] {
            let server = Raw::start(|peer| {
                while peer.read_request()?.is_some() {}
                Ok(())
            });
            let flags = format!("-c4 -t2 -d30s --warmup 0 --no-preflight {load}");
            let running = weir::start(engine, &flags, &[&server.url()]);
            server.await_requests(4);
            running.process.signal(&["INT"]);
            let ran = running.finish();
            assert_interrupted(&ran, 130);
            let results = &ran.document.results;
            assert_eq!(results.outcomes.in_flight_at_end, 4, "{ran}");
            assert_eq!(
                results.outcomes.in_flight_at_end + results.outcomes.never_sent,
                results.planned
            );
            ran.assert_only_bounds(0);
        }
    });
}

#[test]
fn a_second_signal_ends_the_run_without_a_report() {
    on_an_engine(|engine| {
        for duration in ["-d30s", "-d0"] {
            assert_second_signal_abandons(engine, duration);
        }
    });
}

fn assert_second_signal_abandons(engine: &str, duration: &str) {
    let server = Raw::start(|peer| {
        while peer.read_request()?.is_some() {}
        Ok(())
    });
    let flags = format!("-c4 -t2 {duration} --warmup 0 --no-preflight");
    let running = weir::start(engine, &flags, &[&server.url()]);
    server.await_requests(4);
    // Two pending signals of one kind are one; the lower number is delivered first.
    running.process.signal(&["INT", "TERM"]);
    let output = running.process.wait();
    assert_eq!(output.code(), 143, "{output:?}");
    assert_eq!(output.stdout, "", "{output:?}");
    assert!(output.stderr.contains("abandoned without a report"), "{output:?}");
    assert_eq!(running.directory.names(), [""; 0], "no half of a result is left");
}
