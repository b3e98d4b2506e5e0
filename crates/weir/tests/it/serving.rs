//! `weir serve` as a process: its flags of TLS and HTTP/2, the files that it writes and the
//! counters that it prints.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use weir_machine::sys;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::serve::Serve;
use crate::support::wait;
use crate::support::weir::{self, WEIR, weir};

/// Starts `weir serve` in a directory on a free port. Returns it with its port.
fn serve(directory: &Directory, flags: &str) -> (Process, u16) {
    let mut command = Command::new(WEIR);
    command.current_dir(directory.path()).args(["serve", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start(command.args(flags.split_whitespace()));
    let line = process.next_line();
    let port = line.rsplit(':').next().and_then(|port| port.parse().ok());
    assert!(line.starts_with("listening on https://127.0.0.1:"), "{line}");
    (process, port.unwrap_or_else(|| panic!("{line}")))
}

/// Ends a server, and returns its output and its counters.
fn stop(process: Process) -> (Output, serde_json::Value) {
    process.signal(&["TERM"]);
    let output = process.wait();
    assert_eq!(output.code(), 0, "{output:?}");
    let last = output.stdout.lines().last().unwrap_or_default();
    let stats = serde_json::from_str(last).unwrap_or_else(|_| panic!("{output:?}"));
    (output, stats)
}

#[test]
fn the_own_authority_is_trusted_by_its_file_while_the_server_runs() {
    let directory = Directory::new();
    let (mut process, port) = serve(&directory, "--tls");
    let advice = process.next_line();
    let url = format!("https://localhost:{port}/");
    assert_eq!(advice, format!("trust it: weir --cacert weir-serve-ca.pem {url}"));
    assert_eq!(directory.names(), ["weir-serve-ca.pem"]);
    let file = directory.file("weir-serve-ca.pem");
    for url in [url, format!("https://127.0.0.1:{port}/")] {
        weir::load("epoll", "-n 50 -c2 --cacert", &[&file, &url]).assert_all_ok();
    }

    // Another server in the same directory would break the trust in the first.
    let mut command = Command::new(WEIR);
    command.current_dir(directory.path()).args(["serve", "--tls", "--listen", "127.0.0.1:0"]);
    let second = Process::start(&mut command).wait();
    assert_eq!((second.code(), second.stdout.as_str()), (2, ""), "{second:?}");
    assert!(second.stderr.contains("weir-serve-ca.pem exists already"), "{second:?}");

    let (output, stats) = stop(process);
    assert_eq!(output.stderr, "", "{output:?}");
    assert_eq!(stats["tls_failures"], 0, "{stats}");
    assert_eq!(stats["tls_handshakes"], stats["accepted"], "{stats}");
    assert!(stats["requests"].as_u64() >= Some(100), "{stats}");
    assert_eq!(directory.names(), [""; 0], "the file is removed");
}

#[test]
fn a_failed_handshake_is_reported_once_and_counted() {
    let directory = Directory::new();
    let (process, port) = serve(&directory, "--tls --tls-ca own.pem");
    for _ in 0..2 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(wait::GUARD)).expect("a valid timeout");
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
        // The alert, and the end.
        std::io::copy(&mut stream, &mut std::io::sink()).expect("it closes in order");
    }
    let (output, stats) = stop(process);
    assert_eq!(stats["tls_failures"], 2, "{stats}");
    assert_eq!(output.stderr.matches("weir serve: TLS: the client speaks no TLS").count(), 1);
}

#[test]
fn given_certificates_need_no_authority() {
    let directory = Directory::new();
    let key = rcgen::KeyPair::generate().expect("random bytes do not fail");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a valid name");
    let certificate = params.self_signed(&key).expect("parameters are complete");
    fs::write(directory.file("cert.pem"), certificate.pem()).expect("a file");
    fs::write(directory.file("key.pem"), key.serialize_pem()).expect("a file");
    let (process, port) = serve(&directory, "--cert cert.pem --key key.pem --http 1.1");
    let file = directory.file("cert.pem");
    let url = format!("https://localhost:{port}/");
    // Handshakes of a busy machine may take longer than the preflight waits once.
    weir::load("epoll", "-n 20 -c2 --wait-for-server 60s --cacert", &[&file, &url]).assert_all_ok();
    assert_eq!(directory.names(), ["cert.pem", "key.pem"]);
    let (_, stats) = stop(process);
    assert!(stats["requests"].as_u64() >= Some(20), "{stats}");
}

#[test]
fn flags_that_contradict_are_refused() {
    let check = |flags: &str, part: &str| {
        let output = weir(&format!("serve --listen 127.0.0.1:0 {flags}"), &[]);
        assert_eq!(output.code(), 2, "{flags}: {output:?}");
        assert!(output.stderr.contains(part), "{flags}: {output:?}");
    };
    check("--tls-ca a.pem", "--tls-ca needs TLS");
    check("--client-ca a.pem", "--client-ca needs TLS");
    check("--cert a.pem", "--key");
    check("--tls --tls-min 1.3 --tls-max 1.2", "--tls-min is above --tls-max");
    check("--tls --client-ca /dev/null", "--client-ca has no valid certificate");
    check("--http 3", "1.1, 2 or auto");
    check("--http 1.1 --fault reset-stream:1/2", "needs HTTP/2");
    check("--h2-window 3g", "--h2-window must be at most 2147483647 bytes");
    check("--h2-window 8g", "--h2-window is too large");
    check("--h2-streams 70000", "--h2-streams must be at most 65535");
    check("--events 5 --size 10", "--size");
    check("--first 5ms", "--events");
    check("--events 5 --mode fifo", "use --mode concurrent");
    check("--events 5 --event-cut 1/2", "1/100@20");
    check("--events 5 --event-cut 1/2@5", "--events: a stream ends with event 5");
    check("--routes missing.jsonl", "--routes missing.jsonl cannot be read");
    check("--routes /dev/null", "it has no routes: write one on each line");
    let own = "--shop has responses of its own: leave out";
    check("--shop --size 10", &format!("{own} --size, or --shop"));
    check("--shop --events 5", &format!("{own} --events, or --shop"));
    check("--shop-token-ttl 5s", "--shop");
    check("--shop --shop-token-ttl 0s", "--shop-token-ttl must be above zero");
}

/// The rules are in a line of their own, before the counters.
#[test]
fn a_shop_reports_the_rules_that_were_broken() {
    let directory = Directory::new();
    let flags = "--tls --shop --shop-token-ttl 90s --delay 1ms --threads 2";
    let (mut process, port) = serve(&directory, flags);
    process.next_line();
    let file = directory.file("weir-serve-ca.pem");
    let load = |words: &[&str]| {
        let words = [&["--cacert", &file, "--expect"], words].concat();
        let flags = "-n 20 -c 2 -t 1 --no-preflight";
        weir::load("auto", flags, &words).assert_all_ok();
    };
    let url = |path: &str| format!("https://localhost:{port}{path}");
    let client = "{\"client\":\"a\",\"secret\":\"secret\"}";
    load(&["json:/expires_in=90", "-b", client, "-X", "POST", &url("/token")]);
    load(&["status=401", &url("/api/products")]);
    let (output, stats) = stop(process);
    let line = output.stdout.lines().rev().nth(1);
    assert_eq!(line, Some("rules broken: token_missing 20"), "{output:?}");
    let shop = &stats["shop"];
    assert_eq!((&shop["tokens"], &shop["broken"]["token_missing"]), (&20.into(), &20.into()));
}

/// Routes of [`routes_answer_by_path_and_are_counted`].
const ROUTES: &str = r#"# A shop.
{"path": "/item/*", "method": "GET", "json": {"ok": true}, "encoding": "gzip", "break_every": 10}
{"path": "/cart", "method": "POST", "status": 201, "headers": {"Location": "/cart/1"}}

{"path": "/gone", "body": "no such page", "status": 404, "break_every": 4, "break_status": 500}
"#;

/// Returns the response to a request, read to the end of the connection.
fn exchange(url: &str, request: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(wait::GUARD)).expect("a valid timeout");
    let text = format!("{request} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("it responds");
    String::from_utf8_lossy(&response).into_owned()
}

/// The time stamps are the server's own: no event leaves before it is due, however late the machine
/// lets it leave.
#[test]
fn events_arrive_in_order_at_their_times() {
    let flags = ["--events", "20", "--first", "30ms", "--gap", "5ms", "--event-cut", "1/2@7"];
    let server = Serve::start(&flags);
    for expected in [20, 7] {
        let requested_ns = sys::monotonic_ns();
        let response = exchange(&server.url(), "GET /");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        for line in ["Transfer-Encoding: chunked", "Content-Type: text/event-stream"] {
            assert!(head.contains(line), "{head}");
        }
        assert_eq!(body.ends_with("\r\n0\r\n\r\n"), expected == 20, "{body}");
        let events: Vec<serde_json::Value> = body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).expect("JSON"))
            .collect();
        let number = |event: &serde_json::Value, name: &str| event[name].as_u64().expect(name);
        let numbers: Vec<u64> = events.iter().map(|event| number(event, "n")).collect();
        assert_eq!(numbers, (1..=expected).collect::<Vec<u64>>());
        let stamps: Vec<u64> = events.iter().map(|event| number(event, "sent_ns")).collect();
        assert!(stamps.is_sorted(), "{stamps:?}");
        for (number, stamp) in (0..).zip(&stamps) {
            let due_ns = requested_ns + 30_000_000 + number * 5_000_000;
            assert!(*stamp >= due_ns, "event {number} left {} ns early", due_ns - stamp);
        }
    }
    let stats = server.stop_with_stats();
    let counts = ["event_streams", "events", "event_streams_cut", "answered", "partial"];
    let counts = counts.map(|name| stats[name].as_u64().expect(name));
    assert_eq!(counts, [2, 27, 1, 1, 1], "{stats}");
}

/// A list that meets every route, over both protocols.
#[test]
fn routes_answer_by_path_and_are_counted() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    fs::write(&routes, ROUTES).expect("a file");
    let rows = "{\"url\": \"/item/1\", \"weight\": 2}\n{\"url\": \"/other\"}\n\
                {\"url\": \"/cart\", \"method\": \"POST\", \"body\": \"item=1\"}\n\
                {\"url\": \"/gone?page=1\"}\n";
    let list = directory.file("list.jsonl");
    fs::write(&list, rows).expect("a file");
    for http in ["1.1", "2"] {
        let server = Serve::start(&["--routes", &routes]);
        let flags = format!("-n 100 -R 5000 -c 2 -t 1 --http {http} --no-preflight");
        let ran = weir::load("auto", &flags, &["--from", &list, &server.url()]);
        let names = ran.document.names.iter();
        let statuses: Vec<String> =
            names.map(|name| format!("{}: {:?}", name.name, name.results.status)).collect();
        assert_eq!(
            statuses,
            [
                "GET /item/1: {200: 40}",
                "GET /other: {200: 20}",
                "POST /cart: {201: 20}",
                "GET /gone: {404: 15, 500: 5}",
            ]
        );
        let stats = server.stop_with_stats();
        let counts = serde_json::json!([
            {"path": "/item/*", "method": "GET", "requests": 40, "broken": 4},
            {"path": "/cart", "method": "POST", "requests": 20, "broken": 0},
            {"path": "/gone", "requests": 20, "broken": 5},
        ]);
        assert_eq!((&stats["routes"], &stats["requests"]), (&counts, &100.into()), "{stats}");
    }
}

/// The bytes of responses, as they leave.
#[test]
fn responses_of_routes_have_their_status_headers_and_body() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    fs::write(&routes, ROUTES).expect("a file");
    let server = Serve::start(&["--routes", &routes, "-H", "X-All: 1"]);
    let check = |request: &str, parts: &[&str]| {
        let response = exchange(&server.url(), request);
        assert!(parts.iter().all(|part| response.contains(part)), "{request}: {response:?}");
    };
    let json = "\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n\u{1f}";
    check("GET /item/7?q=1", &["HTTP/1.1 200 OK\r\n", "\r\nX-All: 1\r\n", json]);
    check("POST /cart", &["HTTP/1.1 201 Created\r\n", "\r\nLocation: /cart/1\r\n", "\r\n\r\nxxxx"]);
    check("GET /cart", &["HTTP/1.1 200 OK\r\n", "\r\n\r\nxxxxxxxxxxxxxx"]);
    for _ in 0..3 {
        check("GET /gone", &["HTTP/1.1 404 Not Found\r\n", "\r\n\r\nno such page"]);
    }
    check("GET /gone", &["HTTP/1.1 500 Internal Server Error\r\n", "\r\n\r\nwrong\n"]);
    check("GET /weir/stats", &["{\"path\":\"/gone\",\"requests\":4,\"broken\":1}]}"]);
    assert_eq!(server.stop(), 7);
}

#[test]
fn a_wrong_line_of_routes_is_named() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    fs::write(&routes, format!("{ROUTES}{{\"path\": \"/\", \"delay\": \"soon\"}}\n"))
        .expect("a file");
    let output = weir("serve --listen 127.0.0.1:0 --routes", &[&routes]);
    assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{output:?}");
    for part in ["error: --routes ", "routes.jsonl: line 6: `delay`: `soon` is not a delay: write"]
    {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
}

/// A compressed body is made in pieces: the limit is a fifth of the body.
#[test]
fn a_large_compressed_body_is_never_held() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    let line = "{\"path\": \"/\", \"size\": \"256Mi\", \"encoding\": \"gzip\"}\n";
    fs::write(&routes, line).expect("a file");
    let server = Serve::start(&["--routes", &routes]);
    let response = exchange(&server.url(), "HEAD /");
    let length = response.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length: u64 = length.and_then(|length| length.parse().ok()).expect("a length");
    assert!((100_000..1_000_000).contains(&length), "{response}");
    let status = fs::read_to_string(format!("/proc/{}/status", server.process().id()));
    let status = status.expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().split(' ').next()?.parse::<u64>().ok());
    assert!(peak.is_some_and(|peak_kib| peak_kib < 50 * 1024), "{peak:?}");
    server.stop();
}
