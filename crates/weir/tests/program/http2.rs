//! HTTP versions against a real nginx, whose limit of requests per connection stays at its default,
//! so that HTTP/2 connections end with GOAWAY: its count of requests equals weir's.

use weir_result::HttpPlan;

use crate::support::directory::Directory;
use crate::support::for_each_engine;
use crate::support::nginx::Nginx;
use crate::support::weir::{self, weir};

#[test]
fn nginx_counts_the_same_requests_over_every_version() {
    let nginx = Nginx::start("");
    let (plain, http2, secure) = (nginx.url(), nginx.http2_url(), nginx.secure_url());
    for_each_engine(|engine| {
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
            for load in ["-n 5000 -c3", "-R 2000 -c3 -d400ms --warmup 100ms"] {
                let before = nginx.requests();
                let ran = weir::load(engine, &format!("-t2 {load} {flags}"), &[url]);
                let what = format!("{url} {load} {flags}\n{ran}");
                let plan = &ran.document.plan;
                assert_eq!(plan.http.map(|http| http.to_string()).as_deref(), Some(version));
                let accounting = &ran.document.accounting;
                assert_eq!(accounting.ok, accounting.planned, "{what}");
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
    for_each_engine(|engine| {
        let before = nginx.requests();
        let body = format!("@{file}");
        let flags = "-n 200 -c2 --http 2 --streams 4 -b";
        let ran = weir::load(engine, flags, &[&body, &nginx.http2_url()]);
        ran.assert_no_failure();
        let accounting = &ran.document.accounting;
        assert_eq!((accounting.ok, accounting.planned), (200, 200), "{ran}");
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
