//! curl, as a client of another origin for each protocol.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use weir_serve::{
    EventStream, Http2Options, HttpVersion, Identity, Route, RouteBody, Routes, TlsConfig,
    TlsOptions,
};

use crate::protocols::client::check;

/// Runs curl with these words and a body on its standard input. Returns what it reports: status,
/// version of HTTP, and bytes received and sent.
fn curl(words: &[&str], body: &[u8]) -> Result<String, String> {
    let report = "%{http_code} %{http_version} %{size_download} %{size_upload}\\n";
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "60", "--output", "/dev/null"]);
    command.args(["--write-out", report]).args(words);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("curl is installed: cargo xtask setup");
    let mut stdin = child.stdin.take().expect("it is piped");
    // curl may have ended without reading.
    let _gone = stdin.write_all(body);
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn url(scheme: &str, address: SocketAddr, target: &str) -> String {
    format!("{scheme}://localhost:{}{target}", address.port())
}

#[test]
fn prior_knowledge_in_the_clear() {
    let http2 = Http2Options { window_bytes: 10_000, ..Http2Options::default() };
    check(
        None,
        |p| p.http2 = http2,
        |_, address| {
            let clear = |target: &str| url("http", address, target);
            let flag = "--http2-prior-knowledge";
            assert_eq!(curl(&[flag, &clear("/")], b""), Ok("200 2 14 0".to_owned()));
            let large = clear("/?size=20m&status=201");
            assert_eq!(curl(&[flag, &large], b""), Ok("201 2 20971520 0".to_owned()));
            let body = vec![b'y'; 3_000_000];
            let words = [flag, "--data-binary", "@-", &clear("/?size=5")];
            assert_eq!(curl(&words, &body), Ok("200 2 5 3000000".to_owned()));
            let words = [flag, "--head", &clear("/")];
            assert_eq!(curl(&words, b""), Ok("200 2 0 0".to_owned()));
            assert_eq!(curl(&["--http1.1", &clear("/")], b""), Ok("200 1.1 14 0".to_owned()));
        },
        |stats| {
            let requests = stats.requests;
            assert_eq!((requests.received, requests.answered, requests.bad), (5, 5, 0));
        },
    );
}

#[test]
fn alpn_chooses_the_protocol_of_tls() {
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    let tls = TlsConfig::new(TlsOptions::new(identity)).expect("the options are right");
    let file = std::env::temp_dir().join(format!("weir-serve-curl-{}.pem", std::process::id()));
    std::fs::write(&file, pem).expect("the directory can be written");
    let file = file.to_str().expect("temporary paths are text");
    let versions = [
        (HttpVersion::Auto, "--http2", "2"),
        (HttpVersion::Auto, "--http1.1", "1.1"),
        (HttpVersion::Http1, "--http2", "1.1"),
        (HttpVersion::Http2, "--http2", "2"),
    ];
    for (version, flag, spoken) in versions {
        check(
            Some(&tls),
            |p| p.http = version,
            |_, address| {
                let words = [flag, "--cacert", file, &url("https", address, "/?size=3m")];
                assert_eq!(curl(&words, b""), Ok(format!("200 {spoken} 3145728 0")));
                let target = url("https", address, "/?size=1");
                let words = [flag, "--cacert", file, "--data-binary", "@-", &target];
                let body = vec![b'y'; 1_000_000];
                assert_eq!(curl(&words, &body), Ok(format!("200 {spoken} 1 1000000")));
            },
            |stats| {
                assert_eq!((stats.requests.received, stats.requests.answered), (2, 2));
                assert_eq!((stats.tls.handshakes, stats.tls.failures), (2, 0));
            },
        );
    }
    check(
        Some(&tls),
        |_| {},
        |handle, address| {
            let error = curl(&[&url("https", address, "/")], b"").expect_err("it is not trusted");
            assert!(error.contains("SSL") || error.contains("certificate"), "{error}");
            // Its alert may still be on the way.
            while handle.stats().tls.failures == 0 {
                std::thread::yield_now();
            }
        },
        |stats| assert_eq!((stats.requests.received, stats.tls.failures), (0, 1)),
    );
    std::fs::remove_file(file).expect("it is there");
}

/// A route with this body.
fn route(path: &str, body: RouteBody, coding: &str) -> Route {
    Route {
        path: path.parse().expect("a path"),
        method: None,
        status: None,
        body: Some(body),
        events: None,
        coding: coding.parse().expect("a coding"),
        delay: None,
        headers: Vec::new(),
        broken: None,
    }
}

/// Returns the body of a response, decoded by curl.
fn body(words: &[&str]) -> Vec<u8> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "60", "--compressed"]).args(words);
    let output = command.output().expect("curl is installed: cargo xtask setup");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The decoders of curl are not the server's.
#[test]
fn bodies_of_routes_are_decoded_by_curl() {
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    let tls = TlsConfig::new(TlsOptions::new(identity)).expect("the options are right");
    let file = std::env::temp_dir().join(format!("weir-serve-routes-{}.pem", std::process::id()));
    std::fs::write(&file, pem).expect("the directory can be written");
    let file = file.to_str().expect("temporary paths are text");
    let text: String = (0..20_000).map(|number| format!("{number} ")).collect();
    let filler = "x".repeat(5_000_000);
    let mut routes = Routes::default();
    let codings = ["identity", "gzip", "deflate", "br", "zstd"];
    for coding in codings {
        let bodies = [RouteBody::Text(text.clone()), RouteBody::Size(filler.len() as u64)];
        for (name, body) in ["text", "filler"].into_iter().zip(bodies) {
            routes.push(route(&format!("/{name}/{coding}"), body, coding)).expect("it is valid");
        }
    }
    for (tls, scheme, http2) in
        [(None, "http", "--http2-prior-knowledge"), (Some(&tls), "https", "--http2")]
    {
        check(
            tls,
            |p| p.routes = routes.clone(),
            |_, address| {
                for (flag, coding) in ["--http1.1", http2]
                    .into_iter()
                    .flat_map(|flag| codings.map(|coding| (flag, coding)))
                {
                    for (name, expected) in [("text", &text), ("filler", &filler)] {
                        let url = url(scheme, address, &format!("/{name}/{coding}"));
                        let found = body(&[flag, "--cacert", file, &url]);
                        assert!(found == expected.as_bytes(), "{flag} {url}: {}", found.len());
                    }
                }
            },
            |stats| assert_eq!((stats.requests.received, stats.requests.answered), (20, 20)),
        );
    }
    std::fs::remove_file(file).expect("it is there");
}

/// curl reads streams of events to their end, and notices that the second is cut.
#[test]
fn curl_reads_streams_of_events() {
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    let tls = TlsConfig::new(TlsOptions::new(identity)).expect("the options are right");
    let file = std::env::temp_dir().join(format!("weir-serve-events-{}.pem", std::process::id()));
    std::fs::write(&file, pem).expect("the directory can be written");
    let file = file.to_str().expect("temporary paths are text");
    let data = "text:abc".parse().expect("valid");
    let cut = "1/2@40".parse().ok();
    let events = EventStream { data, cut, ..EventStream::of(100) };
    for (tls, scheme, http2) in
        [(None, "http", "--http2-prior-knowledge"), (Some(&tls), "https", "--http2")]
    {
        for (flag, spoken) in [("--http1.1", "1.1"), (http2, "2")] {
            check(
                tls,
                |p| p.events = Some(events.clone()),
                |_, address| {
                    let url = url(scheme, address, "/");
                    let words = [flag, "--cacert", file, &url];
                    assert_eq!(curl(&words, b""), Ok(format!("200 {spoken} 1100 0")));
                    curl(&words, b"").expect_err("the stream ends early");
                },
                |stats| {
                    assert_eq!(
                        (stats.requests.received, stats.requests.answered, stats.requests.partial),
                        (2, 1, 1)
                    );
                    let counts = (stats.events.streams, stats.events.sent, stats.events.cut);
                    assert_eq!(counts, (2, 140, 1));
                },
            );
        }
    }
    std::fs::remove_file(file).expect("it is there");
}
