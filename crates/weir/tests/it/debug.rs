//! `--debug`: whatever a run would measure of one request is shown, decoded and with its time.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use weir_http::ws::CloseCode;
use weir_serve::EventStream;

use crate::support::directory::Directory;
use crate::support::process::Output;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::sockets;
use crate::support::weir::weir;

#[track_caller]
fn assert_shows(output: &Output, code: i32, parts: &[&str]) {
    assert_eq!(output.code(), code, "{output:?}");
    for part in parts {
        assert!(output.stdout.contains(part), "{part:?}: {output:?}");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn events_are_shown_with_their_times() {
    let server = Served::with(|behaviour| {
        let gap = "1ms".parse().expect("valid");
        behaviour.events = Some(EventStream { gap, ..EventStream::of(3) });
    });
    for flags in ["--debug", "--debug --http 2"] {
        let shown = weir(flags, &[&server.url()]);
        assert_shows(&shown, 0, &["text/event-stream", "last byte"]);
        let events = shown.stdout.lines().filter(|line| line.starts_with("<  "));
        assert!(events.count() >= 3, "{shown:?}");
    }
}

#[test]
fn a_stream_that_goes_on_ends_with_the_timeout() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let server = Raw::answering(format!("{head}data: tick\n\ndata: tock\n\n"));
    let shown = weir("--debug -T 300ms", &[&server.url()]);
    assert_shows(&shown, 0, &["  tick\n", "  tock\n", "no end of the response within 300 ms"]);
    let many = "data: x\n\n".repeat(200);
    let server = Raw::answering(format!("{head}{many}"));
    let shown = weir("--debug", &[&server.url()]);
    assert_shows(&shown, 0, &["more than 100 messages: the rest is not shown"]);
    assert_eq!(shown.stdout.matches("  x\n").count(), 100, "{shown:?}");
}

#[test]
fn a_response_without_an_end_is_shown_as_far_as_it_came() {
    let server = Raw::answering("HTTP/1.1 200 OK\r\nServer: test\r\n\r\npart");
    let shown = weir("--debug -T 300ms", &[&server.url()]);
    assert_shows(&shown, 1, &["< HTTP/1.1 200\n", "< Server: test\n", "\n< part\n"]);
    assert!(shown.stderr.contains("no end of the response within 300 ms"), "{shown:?}");
    let server = Raw::start(|peer| {
        peer.read_request()?;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart")
    });
    let shown = weir("--debug", &[&server.url()]);
    assert_shows(&shown, 1, &["< HTTP/1.1 200 OK\n", "\n< part\n"]);
    assert!(shown.stderr.contains("closed within the body"), "{shown:?}");
}

#[test]
fn bodies_are_decoded() {
    let body = gzip("hello, hello, hello");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let server = Raw::answering([head.as_bytes(), &body].concat());
    let shown = weir("--debug", &[&server.url()]);
    let sizes = format!("[gzip: {} bytes, decoded 19]", body.len());
    assert_shows(&shown, 0, &["< hello, hello, hello\n", &sizes]);
    let damaged = [head.as_bytes(), &vec![b'x'; body.len()]].concat();
    let shown = weir("--debug", &[&Raw::answering(damaged).url()]);
    assert_shows(&shown, 0, &["it is not valid gzip"]);
}

#[test]
fn a_message_and_its_echo_are_shown() {
    let server = Served::plainly();
    let url = server.url().replace("http:", "ws:");
    let shown = weir("--debug", &["-b", "hello", &url]);
    let parts = ["> GET / HTTP/1.1\n", "< HTTP/1.1 101\n", "  hello\n", "echo "];
    assert_shows(&shown, 0, &parts);
    assert_eq!(shown.stdout.matches("  hello\n").count(), 2, "{shown:?}");
    assert_eq!(server.stop().websockets.messages, 1);
    let silent = sockets::start(&[], |socket| socket.next().map(|_| ()));
    let url = silent.url().replace("http:", "ws:");
    let shown = weir("--debug -T 300ms", &["-b", "hello", &url]);
    assert_shows(&shown, 1, &["  hello\n"]);
    assert!(shown.stderr.contains("no echo within 300 ms"), "{shown:?}");
    let closing = sockets::start(&[], |socket| {
        socket.next()?;
        socket.close(CloseCode(4401), "token expired")
    });
    let url = closing.url().replace("http:", "ws:");
    let shown = weir("--debug", &["-b", "hello", &url]);
    assert!(shown.code() == 1 && shown.stderr.contains("4401 token expired"), "{shown:?}");
}

#[test]
fn messages_of_calls_are_shown_by_their_schema() {
    const ECHO: &str = r#"
        syntax = "proto3";
        package demo;
        message Item { string name = 1; repeated int32 n = 2; }
        service Echo { rpc Say(Item) returns (Item); }
    "#;
    let directory = Directory::new();
    let server = Served::plainly();
    let file = directory.file("echo.proto");
    fs::write(&file, ECHO).expect("a file");
    let json = r#"{"name":"a","n":[1,300]}"#;
    let call = ["--grpc", "demo.Echo/Say", "--proto", &file, "-b", json, &server.url()];
    for encoding in ["identity", "gzip"] {
        let header = format!("grpc-encoding: {encoding}");
        let shown = weir("--debug", &[&["-H", &header][..], &call].concat());
        assert_shows(&shown, 0, &["> POST /demo.Echo/Say HTTP/2\n", "< grpc-status: 0\n"]);
        assert_eq!(shown.stdout.matches(json).count(), 2, "{shown:?}");
    }
}

#[test]
fn a_row_of_a_list_can_be_chosen() {
    let directory = Directory::new();
    let server = Served::plainly();
    let list = directory.file("urls.txt");
    fs::write(&list, "/a\n/b\n/c\n").expect("a file");
    let more = ["--from", &list, &server.url()];
    assert_shows(&weir("--debug", &more), 0, &["> GET /a HTTP/1.1\n"]);
    assert_shows(&weir("--debug=2", &more), 0, &["> GET /b HTTP/1.1\n"]);
    let none = weir("--debug=4", &more);
    assert!(none.code() == 2 && none.stderr.contains("--from has 3 rows"), "{none:?}");
    let none = weir("--debug=1", &[&server.url()]);
    assert!(none.code() == 2 && none.stderr.contains("give --from"), "{none:?}");
}

#[test]
fn redirects_are_followed_and_shown() {
    let location = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let server = Raw::start(move |peer| {
        while let Some(request) = peer.read_request()? {
            let is_first = request.starts_with("GET /a");
            peer.write(if is_first { location.as_bytes() } else { OK.as_bytes() })?;
        }
        Ok(())
    });
    let url = format!("{}a", server.url());
    let shown = weir("--debug --follow 1", &[&url]);
    assert_shows(&shown, 0, &["> GET /a HTTP/1.1\n", "< Location: /b\n", "> GET /b HTTP/1.1\n"]);
    let shown = weir("--debug", &[&url]);
    assert_shows(&shown, 1, &["< Location: /b\n"]);
    assert!(shown.stderr.contains("--follow 1") && !shown.stdout.contains("/b HTTP"), "{shown:?}");
}

#[test]
fn the_lookup_of_a_name_is_a_step() {
    let server = Raw::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let url = server.url().replace("127.0.0.1", "localhost");
    assert_shows(&weir("--debug --ipv4", &[&url]), 0, &["\n  lookup ", "\n  connect "]);
    let address = weir("--debug", &[&server.url()]);
    assert!(!address.stdout.contains("lookup"), "{address:?}");
}
