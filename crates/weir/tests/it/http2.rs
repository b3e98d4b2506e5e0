//! HTTP versions against a real nginx, whose limit of requests per connection stays at its default,
//! so that HTTP/2 connections end with GOAWAY: its count of requests equals weir's.

use std::io::{self, Read, Write};

use weir_http::h2::ErrorCode;
use weir_http::h2::frame::{self, FrameKind, Settings};
use weir_result::FailurePhase::{Idle, InUse};
use weir_result::HttpPlan;
use weir_result::document::TargetState;

use crate::support::directory::Directory;
use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::raw::Raw;
use crate::support::weir::{self, weir};

/// Length of the client's preface, and of a frame's header (RFC 9113 §3.4, §4.1).
const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;

/// A server of HTTP/2 that begins each connection with the bytes of `open`, and responds to each
/// request with the bytes of `respond`, which gets the number of requests so far and the stream.
pub(crate) fn serving(
    open: impl Fn(&mut Vec<u8>) + Send + Sync + 'static,
    respond: impl Fn(u64, u32, &mut Vec<u8>) + Send + Sync + 'static,
) -> Raw {
    Raw::start(move |peer| {
        let mut stream = peer.stream()?;
        stream.read_exact(&mut [0; PREFACE_BYTES])?;
        let mut out = Vec::new();
        open(&mut out);
        stream.write_all(&out)?;
        while let Some((kind, flags, number)) = read_frame(&mut stream)? {
            let mut out = Vec::new();
            match kind {
                FrameKind::SETTINGS if flags == 0 => frame::push_settings_ack(&mut out),
                FrameKind::HEADERS => {
                    peer.count_request();
                    respond(peer.requests(), number, &mut out);
                }
                _ => {}
            }
            stream.write_all(&out)?;
        }
        Ok(())
    })
}

/// Reads a frame; returns its type, its flags and its stream, or `None` if the client has closed.
fn read_frame(stream: &mut impl Read) -> io::Result<Option<(FrameKind, u8, u32)>> {
    let mut header = [0; HEADER_BYTES];
    match stream.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let [a, b, c, kind, flags, number @ ..] = header;
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    stream.read_exact(&mut vec![0; length])?;
    Ok(Some((FrameKind(kind), flags, u32::from_be_bytes(number))))
}

pub(crate) fn settings(streams_max: Option<u32>, out: &mut Vec<u8>) {
    let settings = Settings { max_concurrent_streams: streams_max, ..Settings::default() };
    frame::push_settings(out, &settings, &Settings::default());
}

/// A whole response: the status 200, as an index of the table (RFC 7541 appendix A).
fn ok(stream: u32, out: &mut Vec<u8>) {
    frame::push_headers(out, stream, &[0x88], true, 16_384);
}

#[test]
fn a_server_without_streams_failed() {
    on_an_engine(|engine| {
        let server = serving(|out| settings(Some(0), out), |_, _, _| ());
        let ran = weir::load(engine, "-d1s -c2 -t1 --http 2", &[&server.url()]);
        let target = &ran.document.verdict.target;
        assert_eq!(target.state, TargetState::Failed, "{ran}");
        let text = "the server allows no streams (MAX_CONCURRENT_STREAMS 0)";
        assert_eq!(target.text, text, "{ran}");
        assert_eq!((ran.code, ran.document.accounting.sent.total), (1, 0), "{ran}");
        assert!(ran.stderr.contains(text), "the preflight says so: {ran}");
        assert_eq!(ran.document.connections.without_streams, 2, "{ran}");
        assert_eq!(server.finish(), 0);
    });
}

#[test]
fn a_server_that_ends_each_connection_at_once_failed() {
    on_an_engine(|engine| {
        let open = |out: &mut Vec<u8>| {
            settings(None, out);
            frame::push_goaway(out, 0, ErrorCode::ENHANCE_YOUR_CALM);
        };
        let server = serving(open, |_, _, _| ());
        let ran = weir::load(engine, "-d500ms -c2 -t1 --http 2", &[&server.url()]);
        let target = &ran.document.verdict.target;
        assert_eq!(target.state, TargetState::Failed, "{ran}");
        let text = "the server ended connections (GOAWAY: ENHANCE_YOUR_CALM)";
        assert_eq!((target.text.as_str(), ran.code), (text, 1), "{ran}");
        assert!(ran.stderr.contains("GOAWAY: ENHANCE_YOUR_CALM"), "{ran}");
        assert_eq!(ran.document.accounting.sent.total, 0, "{ran}");
    });
}

/// After a few responses, which are soon there on a busy machine too, it allows no stream any more.
#[test]
fn a_server_that_withdraws_its_streams_fell_silent() {
    on_an_engine(|engine| {
        let respond = |requests: u64, stream, out: &mut Vec<u8>| {
            ok(stream, out);
            if requests >= 10 {
                settings(Some(0), out);
            }
        };
        let server = serving(|out| settings(None, out), respond);
        let ran = weir::load(
            engine,
            "-d1s -c1 -t1 --http 2 --no-preflight --warmup 0s",
            &[&server.url()],
        );
        let target = &ran.document.verdict.target;
        assert_eq!(target.state, TargetState::Failed, "{ran}");
        assert!(target.text.contains("MAX_CONCURRENT_STREAMS 0"), "{ran}");
        assert_eq!(ran.document.connections.without_streams, 1, "{ran}");
        assert!(ran.document.results.outcomes.ok > 0, "{ran}");
    });
}

#[test]
fn a_refused_preflight_is_counted_as_returned() {
    let respond = |requests: u64, stream, out: &mut Vec<u8>| match requests {
        1 => frame::push_reset(out, stream, ErrorCode::REFUSED_STREAM),
        _ => ok(stream, out),
    };
    let server = serving(|out| settings(None, out), respond);
    let ran = weir::load("epoll", "-n 10 -c1 -t1 --http 2", &[&server.url()]);
    let sent = &ran.document.accounting.sent;
    assert_eq!((sent.preflight, sent.returned, sent.total), (1, 1, 11), "{ran}");
    assert_eq!(server.finish(), 11);
}

/// Requests that the probe sent and the server refused are none that it processed.
#[test]
fn refused_requests_of_the_probe_are_counted_as_returned() {
    let respond = |requests: u64, stream, out: &mut Vec<u8>| match requests {
        3..=5 => frame::push_reset(out, stream, ErrorCode::REFUSED_STREAM),
        _ => ok(stream, out),
    };
    let server = serving(|out| settings(None, out), respond);
    let ran = weir::load("epoll", "-n 200 -c1 -t1 --http 2", &[&server.url()]);
    let sent = &ran.document.accounting.sent;
    assert!(sent.preflight == 1 && sent.probe > 0, "{ran}");
    assert_eq!((sent.returned, sent.total), (3, server.finish()), "{ran}");
}

#[test]
fn the_servers_limit_of_streams_is_named() {
    on_an_engine(|engine| {
        let server = serving(|out| settings(Some(2), out), |_, stream, out| ok(stream, out));
        let ran = weir::load(engine, "-n 100 -c2 -t1 --http 2 --streams 50", &[&server.url()]);
        assert_eq!(ran.document.connections.streams_allowed, 2, "{ran}");
        let text = ran.to_string();
        assert!(text.contains("2 connections × 2 of 50 streams"), "{ran}");
        assert!(text.contains("the server allows 2 of 50 streams"), "{ran}");
        let server = serving(|out| settings(Some(50), out), |_, stream, out| ok(stream, out));
        let ran = weir::load(engine, "-n 100 -c2 -t1 --http 2 --streams 50", &[&server.url()]);
        assert_eq!(ran.document.connections.streams_allowed, 0, "{ran}");
    });
}

/// Frames of a response that has ended (RFC 9113 §5.1) cost the connection and not the response.
#[test]
fn frames_behind_the_end_of_a_response_leave_a_trace() {
    let data: fn(u32, &mut Vec<u8>) = |stream, out| frame::push_data(out, stream, b"more", true);
    for late in [data, ok] {
        on_an_engine(|engine| {
            let respond = move |_, stream, out: &mut Vec<u8>| {
                ok(stream, out);
                late(stream, out);
            };
            let server = serving(|out| settings(None, out), respond);
            let ran = weir::load(engine, "-n 8 -c2 -t1 --http 2", &[&server.url()]);
            let kind = "protocol_stream_closed";
            let failed = ran.failures(Idle, kind) + ran.failures(InUse, kind);
            assert!(failed >= 7, "{ran}");
            ran.assert_says("broke HTTP: stream_closed");
        });
    }
}

#[test]
fn nginx_counts_the_same_requests_over_every_version() {
    let nginx = Nginx::start("");
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let secure = nginx.secure_url();
    on_an_engine(|engine| {
        for (url, flags, version) in [
            (&secure, "--insecure", "HTTP/2"),
            (&secure, "--insecure --http 2", "HTTP/2"),
            (&secure, "--insecure --http 2 --streams 10", "HTTP/2"),
            (&secure, "--insecure --no-preflight --streams 3", "HTTP/2"),
            (&secure, "--insecure --http 1.1", "HTTP/1.1"),
            (&http2, "--http 2", "HTTP/2"),
            (&http2, "--http 2 --streams 10 --hpack-table 0", "HTTP/2"),
            (&http2, "--http 2 --streams 100 --close client", "HTTP/2"),
            (&plain, "", "HTTP/1.1"),
            (&plain, "--http 1.0", "HTTP/1.0"),
        ] {
            for load in ["-n 600 -c3", "-R 1000 -c3 -d200ms --warmup 100ms"] {
                let before = nginx.requests();
                let ran = weir::load(engine, &format!("-t2 {load} {flags}"), &[url]);
                let what = format!("{url} {load} {flags}\n{ran}");
                let plan = &ran.document.plan;
                assert_eq!(plan.http.map(|http| http.to_string()).as_deref(), Some(version));
                let results = &ran.document.results;
                let accounting = &ran.document.accounting;
                assert_eq!(results.outcomes.ok, results.planned, "{what}");
                assert_eq!(ran.document.connections.failures, [], "{what}");
                let processed = accounting.sent.total - accounting.sent.returned;
                assert_eq!(nginx.requests() - before - 1, processed, "{what}");
                let is_preflight_there = !flags.contains("--no-preflight");
                assert_eq!(accounting.sent.preflight, u64::from(is_preflight_there), "{what}");
            }
        }
    });
}

#[test]
fn the_preflight_describes_an_http2_response() {
    let nginx = Nginx::start("");
    let ran = weir::load("epoll", "-n 10 -c1 --insecure", &[&nginx.secure_url()]);
    let preflight = ran.document.run.preflight.as_ref().expect("it was sent");
    assert_eq!((preflight.status, preflight.http_version.as_str()), (200, "HTTP/2"), "{ran}");
    assert_eq!(preflight.body_bytes, Some(2), "{ran}");
    assert!(preflight.server.as_ref().is_some_and(|name| name.starts_with("nginx")), "{ran}");
    ran.assert_says("HTTP/2");
    ran.assert_says("1 connection × 1 stream");
    let Some(HttpPlan::Http2(http2)) = ran.document.plan.http else { panic!("{ran}") };
    assert_eq!((http2.streams, http2.header_table_bytes), (1, 4_096), "{ran}");
}

/// Bodies of requests pass the server's flow-control windows.
#[test]
fn uploads_pass_windows() {
    let nginx = Nginx::start("client_max_body_size 10m; client_body_buffer_size 10m;");
    let directory = Directory::new();
    let file = directory.file("body");
    std::fs::write(&file, vec![b'x'; 300_000]).expect("the directory is the test's own");
    on_an_engine(|engine| {
        let before = nginx.requests();
        let body = format!("@{file}");
        let flags = "-n 200 -c2 --http 2 --streams 4 -b";
        let ran = weir::load(engine, flags, &[&body, &nginx.http2_url()]);
        ran.assert_no_failure();
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!((results.outcomes.ok, results.planned), (200, 200), "{ran}");
        let processed = accounting.sent.total - accounting.sent.returned;
        assert_eq!(nginx.requests() - before - 1, processed, "{ran}");
    });
}

#[test]
fn a_server_without_http2_is_named_with_the_remedy() {
    let nginx = Nginx::start("");
    let output = weir("-n 10 --http 2", &[&nginx.url()]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("does not speak HTTP/2"), "{output:?}");
    assert!(output.stderr.contains("--http 1.1"), "{output:?}");
}

#[test]
fn choices_that_exclude_each_other_are_refused() {
    for (flags, says) in [
        ("--http 1.1 --streams 2", "--streams needs HTTP/2"),
        ("--http 1.0 --pipeline 2", "--pipeline needs HTTP/1.1"),
        ("--http 2 --pipeline 2", "--pipeline needs HTTP/1"),
        ("--http 2 --close server", "--close server needs HTTP/1"),
        ("--http 3", "'3'"),
        ("--streams 129", "between 1 and 128"),
        ("--h2-window 0", "between 1 and"),
    ] {
        let output = weir(flags, &["http://127.0.0.1:9/"]);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{flags}: {output:?}");
        assert!(output.stderr.contains(says), "{flags}: {output:?}");
    }
}
