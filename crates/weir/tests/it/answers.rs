//! Responses in every form that HTTP/1.1 allows, and in some that it does not. The former count as
//! responses, the latter as errors, and neither ever hangs.

use std::time::Duration;

use weir_result::FailurePhase::{Idle, InUse};
use weir_serve::Framing;

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::wait::let_pass;
use crate::support::weir;

#[test]
fn bodies_ended_by_the_close_are_complete() {
    on_an_engine(|engine| {
        for load in ["", "-R 300"] {
            let server = Served::with(|behaviour| behaviour.framing = Framing::UntilClose);
            let flags = format!("-c5 -t2 -n 60 {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            let requests = server.stop().requests;
            assert_eq!((requests.received, requests.answered), (61, 61), "{ran}");
            // One connection for each request, plus those renewed at the end without a further
            // request.
            let connects = ran.connects();
            assert!((60..=65).contains(&connects), "{ran}");
        }
    });
}

/// Checks a response that must be accepted, with connections kept open.
fn check_kept(answer: &str, more: &[&str], status: u16, interim_each: u64) {
    on_an_engine(|engine| {
        let server = Raw::answering(answer);
        let url = server.url();
        let words = [more, &[url.as_str()]].concat();
        let ran = weir::load(engine, "-c2 -t2 -n 50", &words);
        ran.assert_all_ok();
        ran.assert_no_failure();
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!(results.status, [(status, 50)].into(), "{ran}");
        assert_eq!(accounting.interim_responses, 50 * interim_each, "{ran}");
        assert_eq!(ran.connects(), 2, "{ran}");
        ran.assert_says(&format!("{status}: 50"));
        assert_eq!(server.finish(), 51, "{ran}");
    });
}

#[test]
fn answers_to_head_have_no_body() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    check_kept(answer, &["-X", "HEAD"], 200, 0);
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_kept(answer, &["-X", "HEAD"], 200, 0);
}

#[test]
fn status_204_and_304_have_no_body_whatever_their_length_says() {
    check_kept("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", &[], 204, 0);
    check_kept("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", &[], 304, 0);
}

#[test]
fn interim_answers_are_no_answers() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    check_kept(&format!("{early}{OK}"), &[], 200, 2);
}

#[test]
fn the_first_byte_is_that_of_the_final_answer() {
    on_an_engine(|engine| {
        let server = Raw::start(|peer| {
            while peer.read_request()?.is_some() {
                peer.write("HTTP/1.1 103 Early Hints\r\n\r\n")?;
                let_pass(Duration::from_millis(50));
                peer.write(OK)?;
            }
            Ok(())
        });
        let ran = weir::load(engine, "-c2 -t1 -n 6 --no-preflight", &[&server.url()]);
        ran.assert_all_ok();
        let first_byte = &ran.document.latency.first_byte.ok;
        assert!(first_byte.min_ns.is_some_and(|ns| ns >= 50_000_000), "{ran}");
    });
}

#[test]
fn chunks_extensions_and_trailers_are_read() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    let body = "5;name=\"a;b\"\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n";
    check_kept(&format!("{head}{body}X-Sum: 1\r\nX-Sum: 2\r\n\r\n"), &[], 200, 0);
    check_kept(&format!("{head}0\r\n\r\n"), &[], 200, 0);
}

#[test]
fn an_http_1_0_server_closes_behind_each_answer() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| behaviour.http10 = true);
        let ran = weir::load(engine, "-c3 -t2 -n 30", &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        ran.assert_says("HTTP/1.0");
        assert_eq!(server.stop().requests.received, 31, "{ran}");
    });
}

#[test]
fn huge_bodies_are_read_to_their_end() {
    const SIZE: u64 = 10 << 20;
    on_an_engine(|engine| {
        for framing in [Framing::Length, Framing::Chunked { chunk_bytes: 16_384 }] {
            let server = Served::with(|behaviour| {
                behaviour.body_bytes = SIZE;
                behaviour.framing = framing;
            });
            let ran = weir::load_weighed(engine, "-c2 -t2 -n 6", &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            let received: u64 = ran.document.series.iter().map(|part| part.bytes_received).sum();
            assert!(received >= 6 * SIZE, "{received} bytes: {ran}");
            assert!(received <= 6 * (SIZE + 64 * 1024), "{received} bytes: {ran}");
            assert_eq!(server.stop().requests.received, 7, "{ran}");
        }
    });
}

#[test]
fn answers_of_400_and_above_are_bad_and_still_answers() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| behaviour.status = 503);
        let ran = weir::load(engine, "-c2 -t2 -n 20", &[&server.url()]);
        let results = &ran.document.results;
        assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (0, 20), "{ran}");
        assert_eq!(results.status, [(503, 20)].into(), "{ran}");
        assert_eq!(ran.document.results.good, 0, "{ran}");
        assert_eq!(ran.code, 1, "{ran}");
        ran.assert_only_bounds(0);
        ran.assert_says("503: 20");
        // A warning before the load, a note after it: true in both places.
        let note = "responds with 503, an error: the load measures error responses";
        assert!(ran.stderr.contains(note), "{ran}");
        ran.assert_says(note);
    });
}

#[test]
fn a_redirect_is_pointed_out() {
    on_an_engine(|engine| {
        let answer = "HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n";
        let server = Raw::answering(answer);
        let ran = weir::load(engine, "-c2 -t2 -n 20", &[&server.url()]);
        assert!(
            ran.stderr.contains("warning: the URL responds with 301, a redirect to /there"),
            "{ran}"
        );
        ran.assert_says("a redirect to /there, which is not followed; use that URL, or --follow 1");
        let preflight = ran.document.run.preflight.as_ref().expect("it answers");
        assert_eq!((preflight.status, preflight.location.as_deref()), (301, Some("/there")));
    });
}

/// Checks a response that violates HTTP: each request that got one is an error of this kind, its
/// connection is renewed, and nothing hangs.
fn check_broken(answer: &str, kind: &str) {
    on_an_engine(|engine| {
        let server = Raw::answering(answer);
        let ran = weir::load(engine, "-c2 -t2 -n 8", &[&server.url()]);
        let results = &ran.document.results;
        assert_eq!((ran.code, results.outcomes.transport_error), (1, 8), "{kind}: {ran}");
        let kind = format!("protocol_{kind}");
        assert_eq!(results.errors, [(kind.clone(), 8)].into(), "{kind}: {ran}");
        assert_eq!(ran.failures(InUse, &kind), 8, "{kind}: {ran}");
        assert!(ran.connects() >= 8, "{kind}: {ran}");
        assert!(ran.stderr.contains("no valid response from"), "{kind}: {ran}");
        ran.assert_says(&kind.replace('_', " "));
        assert_eq!(server.finish(), 9, "{kind}: {ran}");
    });
}

#[test]
fn answers_that_break_http_are_counted_errors() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    for (answer, kind) in [
        ("ICY 200 OK\r\n\r\n".to_owned(), "bad_status_line"),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "bad_status_line"),
        (format!("{CHUNKED}\r\nzz\r\n"), "bad_chunk_size"),
        (format!("{CHUNKED}\r\n5\r\nhelloXX"), "bad_chunk_end"),
        (format!("{CHUNKED}Content-Length: 5\r\n\r\n0\r\n\r\n"), "conflicting_framing"),
        (LENGTHS.to_owned(), "conflicting_content_length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(), "bad_content_length"),
        (format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)), "head_too_large"),
        ("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n".to_owned(), "switching_protocols"),
    ] {
        check_broken(&answer, kind);
    }
}

/// A response with two lengths; one must be wrong.
const LENGTHS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!";

#[test]
fn bytes_behind_an_answer_cost_the_connection_and_not_the_answer() {
    on_an_engine(|engine| {
        let server = Raw::answering(format!("{OK}HTTP/1.1 200"));
        let ran = weir::load(engine, "-c2 -t2 -n 8", &[&server.url()]);
        let results = &ran.document.results;
        // The bytes arrive with the response, or before the next one.
        assert_eq!(results.outcomes.ok + results.outcomes.transport_error, 8, "{ran}");
        assert!(results.outcomes.ok >= 1, "{ran}");
        let kind = "protocol_unsolicited_bytes";
        let failed = ran.failures(Idle, kind) + ran.failures(InUse, kind);
        assert!(failed >= 7, "{ran}");
        assert!(ran.connects() >= 8, "{ran}");
        ran.assert_says("broke HTTP: unsolicited_bytes");
        assert_eq!(server.finish(), 9, "{ran}");
    });
}
