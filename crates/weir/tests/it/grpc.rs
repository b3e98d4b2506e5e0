//! `--grpc` against `weir serve`: calls are counted by their status on both sides, bodies are
//! encoded from JSON, and what cannot go together is refused.

use std::fs;
use std::process::Command;

use weir_grpc::gzip;
use weir_http::grpc::push_message;
use weir_http::h2::frame;
use weir_result::document::{Results, TargetState};
use weir_serve::EventStream;

use crate::http2::{serving, settings};
use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::served::Served;
use crate::support::weir::{self, WEIR, weir};

const ECHO: &str = r#"
syntax = "proto3";
package demo;
import "part.proto";
message Item { string name = 1; Part part = 2; }
service Echo {
  rpc Say(Item) returns (Item);
  rpc Send(stream Item) returns (Item);
  rpc Watch(Item) returns (stream Item);
}
"#;

const PART: &str = "syntax = \"proto3\"; package demo; message Part { repeated int32 n = 1; }";

/// Returns a directory with a schema, and the path of its file.
fn schema() -> (Directory, String) {
    let directory = Directory::new();
    fs::write(directory.file("part.proto"), PART).expect("a file");
    let file = directory.file("echo.proto");
    fs::write(&file, ECHO).expect("a file");
    (directory, file)
}

/// Returns the counts by kind.
fn missed(results: &Results) -> Vec<(&str, u64)> {
    results.missed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// Returns the counts by status.
fn statuses(results: &Results) -> Vec<(&str, u64)> {
    results.grpc_status.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

#[test]
fn exactly_the_calls_with_another_status_failed() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| {
            let faults = ["14@1/100", "NOT_FOUND@1/250"].map(|text| text.parse().expect(text));
            behaviour.grpc_faults = faults.to_vec();
        });
        let more = ["--grpc", "demo.Echo/Say", "--grpc-binary", "-b", "hi", &server.url()];
        let ran = weir::load(engine, "-n 1000 -c 4 -t 2 --streams 3", &more);
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        // The 500th and the 1,000th call have the first fault.
        assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (988, 12), "{ran}");
        assert_eq!(missed(results), [("grpc_NOT_FOUND", 2), ("grpc_UNAVAILABLE", 10)], "{ran}");
        let counts = [("NOT_FOUND", 2), ("OK", 988), ("UNAVAILABLE", 10)];
        assert_eq!(statuses(results), counts, "{ran}");
        ran.assert_says("gRPC status OK: 988 NOT_FOUND: 2 UNAVAILABLE: 10");
        let example = &accounting.miss_examples["grpc_UNAVAILABLE"];
        assert_eq!(example.expected, "grpc-status=0");
        assert_eq!(example.found, "UNAVAILABLE (14): fault of weir serve");
        let stats = server.stop();
        assert_eq!((stats.grpc.calls, stats.grpc.received), (1_000, 1_000));
        assert_eq!(stats.grpc.sent, 988);
        let statuses = [0, 5, 14].map(|status| stats.grpc_statuses[status]);
        assert_eq!(statuses, [988, 2, 10]);
    });
}

#[test]
fn another_status_can_be_expected() {
    let server = Served::with(|p| p.grpc_faults = vec!["5@1/2".parse().expect("valid")]);
    let words = "-n 100 -c 1 --grpc a.B/C --grpc-binary --expect grpc-status=5";
    let ran = weir::load("epoll", words, &[&server.url()]);
    assert_eq!(ran.document.results.outcomes.ok, 50, "{ran}");
    assert_eq!(missed(&ran.document.results), [("grpc_OK", 50)], "{ran}");
    ran.assert_says("gRPC status OK: 50 NOT_FOUND: 50");
}

#[test]
fn a_response_without_a_status_is_a_failure_of_its_own() {
    let server = Served::plainly();
    // A server that knows no gRPC answers requests with another media type in its own way.
    let more = ["-H", "content-type: text/plain", &server.url()];
    let ran = weir::load("epoll", "-n 10 -c 1 --grpc a.B/C --grpc-binary", &more);
    assert_eq!(missed(&ran.document.results), [("grpc_no_status", 10)], "{ran}");
    assert_eq!(statuses(&ran.document.results), [("none", 10)], "{ran}");
}

/// Streams of five messages, some of which are cut after two, and some of which never begin.
#[test]
fn streams_that_are_cut_failed_and_their_messages_count() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| {
            let cut = "1/10@2".parse().ok();
            behaviour.events = Some(EventStream { cut, ..EventStream::of(5) });
            behaviour.grpc_faults = vec!["14@1/11".parse().expect("valid")];
        });
        let (_directory, file) = schema();
        let more = ["--proto", &file, "--grpc", "demo.Echo/Watch", "-b", "{}", &server.url()];
        let ran = weir::load(engine, "-n 110 -c 2 --streams 2", &more);
        let results = &ran.document.results;
        let found =
            (results.outcomes.ok, results.outcomes.bad_response, results.outcomes.transport_error);
        assert_eq!(found, (90, 10, 10), "{ran}");
        let messages = ran.document.messages.as_ref().expect("the method streams them");
        assert_eq!((messages.measured, messages.streams), (90 * 5 + 10 * 2, 100), "{ran}");
        let stats = server.stop();
        assert_eq!((stats.events.streams, stats.events.cut), (100, 10));
        assert_eq!(stats.grpc.sent, messages.measured);
    });
}

/// Streams that outlast the run and deliver are alive.
#[test]
fn an_endless_stream_of_a_server_is_alive() {
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| {
            let gap = "10ms".parse().expect("valid");
            behaviour.events = Some(EventStream { gap, ..EventStream::of(100_000) });
        });
        let (_directory, file) = schema();
        let words = ["--proto", &file, "--grpc", "demo.Echo/Watch", "--assert", "errors == 0"];
        let url = server.url();
        let more = [&words[..], &[&url]].concat();
        let flags = "-d 1s --warmup 0 --drain 200ms -c 2 --streams 2";
        let ran = weir::load(engine, flags, &more);
        let results = &ran.document.results;
        let open = results.open_streams();
        assert_eq!((ran.code, open), (0, results.outcomes.in_flight_at_end), "{ran}");
        assert_eq!((open, results.outcomes.ok), (4, 0), "{ran}");
        assert_eq!(ran.document.verdict.target.state, TargetState::Ok, "{ran}");
        ran.assert_says("4 streams open at the end");
    });
}

/// Streams whose messages are compressed, some with and some without a token.
#[test]
fn tokens_are_found_in_compressed_messages() {
    let respond = |_, stream, out: &mut Vec<u8>| {
        let head = block(true, &[("grpc-encoding", "gzip")]);
        frame::push_headers(out, stream, &head, false, 16_384);
        let mut body = Vec::new();
        for message in [&b"\x0a\x02hi"[..], b"", &[b"\x0a\xd0\x0f", &[b'x'; 2_000][..]].concat()] {
            push_message(&mut body, true, &gzip(message));
        }
        frame::push_data(out, stream, &body, false);
        frame::push_headers(out, stream, &block(false, &[("grpc-status", "0")]), true, 16_384);
    };
    on_an_engine(|engine| {
        let server = serving(|out| settings(None, out), respond);
        let (_directory, file) = schema();
        let words = ["--proto", &file, "--grpc", "demo.Echo/Watch", "--tokens", "json:/name"];
        let url = server.url();
        let more = [&words[..], &[&url]].concat();
        let ran = weir::load(engine, "-n 20 -c 2 --no-preflight --warmup 0", &more);
        ran.assert_all_ok();
        let messages = ran.document.messages.as_ref().expect("they are measured");
        assert_eq!((messages.measured, messages.others, messages.too_long), (40, 20, 0), "{ran}");
    });
}

#[test]
fn tokens_are_found_in_messages_by_their_schema() {
    let server = Served::with(|behaviour| {
        let data = "tokens".parse().expect("valid");
        behaviour.events = Some(EventStream { data, ..EventStream::of(5) });
    });
    let (_directory, file) = schema();
    let of = |pointer: &str| {
        let tokens = format!("json:{pointer}");
        let url = server.url();
        let words = ["--proto", &file, "--tokens", &tokens, "--goodput", "total < 1m"];
        let more = [&words[..], &["--grpc", "demo.Echo/Watch", &url]].concat();
        let ran = weir::load("epoll", "-n 10 -c 1", &more);
        let results = &ran.document.results;
        let messages = ran.document.messages.as_ref().expect("they are measured");
        (messages.measured, messages.others, results.outcomes.ok, results.outcomes.bad_response)
    };
    // A place without a value in any message is a wrong one.
    assert_eq!((of("/name"), of("/part/n")), ((50, 0, 10, 0), (0, 50, 0, 10)));
}

#[test]
fn json_is_encoded_by_a_schema() {
    let (directory, file) = schema();
    let list = directory.file("bodies");
    fs::write(&list, "{\"name\": \"a\"}\n{\"part\": {\"n\": [1]}}\n").expect("a file");
    for (method, words, received) in [
        ("Say", vec!["-b", r#"{"name": "a", "part": {"n": [1, 2]}}"#], 20),
        ("Say", vec![], 20),
        ("Say", vec!["--body-lines", &list], 20),
        ("Send", vec!["-b", r#"[{"name": "a"}, {}, {}]"#], 60),
        ("Send", vec!["-b", "[]"], 0),
    ] {
        let server = Served::plainly();
        let method = format!("demo.Echo/{method}");
        let url = server.url();
        let more = [&["--grpc", &method, "--proto", &file], &words[..], &[&url]].concat();
        let ran = weir::load("epoll", "-n 10 -c 2", &more);
        ran.assert_all_ok();
        let more = [&["-H", "grpc-encoding: gzip"], &more[..]].concat();
        weir::load("epoll", "-n 10 -c 2", &more).assert_all_ok();
        let stats = server.stop();
        assert_eq!((stats.grpc.calls, stats.grpc.received), (20, received), "{words:?}");
    }
}

#[test]
fn calls_over_tls() {
    let directory = Directory::new();
    let mut command = Command::new(WEIR);
    command.current_dir(directory.path()).args(["serve", "--tls", "--listen", "127.0.0.1:0"]);
    let mut server = Process::start(command.args(["--grpc-status", "14@1/10"]));
    let line = server.next_line();
    let url = format!("{}/", line.strip_prefix("listening on ").expect("its address"));
    server.next_line();
    let authority = directory.file("weir-serve-ca.pem");
    let more = ["--cacert", &authority, "--grpc", "a.B/C", "--grpc-binary", &url];
    let ran = weir::load("epoll", "-n 50 -c 2", &more);
    assert_eq!(ran.document.results.outcomes.ok, 45, "{ran}");
    assert_eq!(missed(&ran.document.results), [("grpc_UNAVAILABLE", 5)], "{ran}");
    // The reflection of a server that has none, over TLS.
    let output = weir("--grpc a.B/C --cacert", &[&authority, &url]);
    assert!(output.stderr.contains("the server has no reflection"), "{output:?}");
}

#[test]
fn what_cannot_go_together_is_refused_with_the_reason() {
    let (_directory, file) = schema();
    let server = Served::plainly();
    let url = server.url();
    let check = |words: &str, more: &[&str], part: &str| {
        let output = weir(&format!("-n 5 {words}"), &[more, &[&url]].concat());
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    };
    let binary = "--grpc a.B/C --grpc-binary";
    check("--grpc Say --grpc-binary", &[], "\"Say\" is no method: write package.Service/Method");
    check(&format!("{binary} --http 1.1"), &[], "--grpc needs HTTP/2: drop --http");
    check(&format!("{binary} --pipeline 2"), &[], "--grpc is HTTP/2, which has streams");
    check(&format!("{binary} -X PUT"), &[], "--grpc is POST: drop --method");
    check(&format!("{binary} --form-field a=b"), &[], "takes messages, and no form");
    check(&format!("{binary} --sse"), &[], "has messages itself: drop --sse");
    check(&format!("{binary} --tokens json:/a"), &[], "needs a schema: give --proto");
    check("--grpc a.B/C --body-size 9", &[], "takes JSON, and no filler");
    check(binary, &["-H", "grpc-encoding: snappy"], "compressed with gzip, not \"snappy\"");
    let of_schema = |method: &str| format!("--grpc {method} --proto {file}");
    let methods = "it has: Say, Send, Watch";
    check(&of_schema("demo.Echo/Sy"), &[], methods);
    check(&of_schema("demo.Eco/Say"), &[], "it has: demo.Echo");
    check(&of_schema("demo.Echo/Say"), &["-b", "{\"nme\": 1}"], "unrecognized field name 'nme'");
    check(&of_schema("demo.Echo/Say"), &["-b", "{} {}"], "it has 2 messages, and the method takes");
    check(
        "--grpc demo.Echo/Say",
        &[],
        "the server has no reflection: give the schema with --proto",
    );
}

/// Each message has its own values, and its bytes are those of its JSON.
#[test]
fn messages_are_encoded_with_the_values_of_their_fields() {
    let (directory, file) = schema();
    let rows = directory.file("rows.csv");
    let lines = directory.file("lines");
    fs::write(&rows, "user,n\nann,1\nbobby-with-more,-2147483648\n").expect("a file");
    let body = r#"{"name": "{{csv:user}} {{uuid}}", "part": {"n": [{{seq}}, {{csv:n}}]}}"#;
    let other = r#"{"part": {"n": [{{rand:1:9}}]}}"#;
    fs::write(&lines, [body, other].join("\n")).expect("a file");
    let name = r#"body~^.("name":"(ann|bobby-with-more) [0-9a-f-]{36}",)?"part":"#;
    let numbers = r#"body~"n":\[\d+(,(1|-2147483648))?\]"#;
    on_an_engine(|engine| {
        for (source, encoding) in
            [(["-b", body], "identity"), (["-b", body], "gzip"), (["--body-lines", &lines], "gzip")]
        {
            let server = Served::plainly();
            let encoding = format!("grpc-encoding: {encoding}");
            let more = ["--grpc", "demo.Echo/Say", "--proto", &file, "--rows", &rows];
            let more = [&more[..], &source, &["-H", &encoding, "-H", "x-id: {{seq}}"]].concat();
            let url = server.url();
            let more = [&more[..], &["--expect", name, "--expect", numbers, &url]].concat();
            let ran = weir::load(engine, "-n 60 -c 2 --streams 3", &more);
            ran.assert_all_ok();
            assert_eq!(server.stop().grpc.received, 60, "{ran}");
        }
    });
    // All but the first differ from it.
    let server = Served::plainly();
    let more = ["--grpc", "demo.Echo/Say", "--proto", &file, "-b", "{\"name\": \"{{seq}}\"}"];
    let url = server.url();
    let more = [&more[..], &["--expect", "same", &url]].concat();
    let ran = weir::load("epoll", "-n 60 -c 1", &more);
    assert_eq!(ran.document.results.outcomes.bad_response, 59, "{ran}");
    let body = r#"{"name": "n{{seq}}"}"#;
    let call = ["--debug", "--grpc", "demo.Echo/Say", "--proto", &file, "-b", body, &url];
    let shown = weir("", &call);
    assert!(shown.stdout.contains("\n> {\"name\":\"n0\"}\n"), "{shown:?}");
    drop(directory);
}

/// It is found before the load, with its row; a rare one in it.
#[test]
fn a_value_that_does_not_fit_its_field_is_refused_with_its_row() {
    let (directory, file) = schema();
    let rows = directory.file("rows.csv");
    fs::write(&rows, "n\n1\n2\nthree\n").expect("a file");
    let server = Served::plainly();
    let of = |body: &str, more: &[&str]| {
        let words = ["--grpc", "demo.Echo/Say", "--proto", &file, "-b", body];
        weir("-n 20000 -c 1 --seed 1", &[&words[..], more, &[&server.url()]].concat())
    };
    let output = of(r#"{"part": {"n": [{{csv:n}}]}}"#, &["--rows", &rows]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("--rows: with row 3: --body: "), "{output:?}");
    let output = of(r#"{"part": {"n": [{{rand:3000000000:4000000000}}]}}"#, &[]);
    assert!(output.code() == 2 && output.stderr.contains("--body: "), "{output:?}");
    let output = of(r#"{"nme": "{{seq}}"}"#, &[]);
    assert!(output.stderr.contains("unrecognized field name 'nme'"), "{output:?}");
    assert_eq!(server.stats().grpc.calls, 0);
    // One of 84,000 values is above 2³¹ − 1 by little.
    let output = of(r#"{"part": {"n": [2147{{rand:400000:483700}}]}}"#, &[]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("request ") && output.stderr.contains("--body: "), "{output:?}");
    assert!(server.stats().grpc.calls > 0);
    drop(directory);
}

/// A block of fields as literals (RFC 7541 §6.2.2); that of a head has the status 200 before them.
fn block(is_head: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = if is_head { vec![0x88] } else { Vec::new() };
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A response of which a client of gRPC says what `kind` says; `None` if it is OK.
struct Broken {
    kind: Option<&'static str>,
    head: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
    trailers: Option<Vec<(&'static str, &'static str)>>,
}

fn broken() -> Vec<Broken> {
    let message = [0, 0, 0, 0, 4, 10, 2, b'h', b'i'];
    let with = |first: u8, from: usize| [&[first][..], &message[from..]].concat();
    let ok = || Some(vec![("grpc-status", "0")]);
    let of = |kind, body: &[u8]| Broken { kind, head: vec![], body: body.to_vec(), trailers: ok() };
    let encoded = |kind, encoding, body: &[u8]| Broken {
        head: vec![("grpc-encoding", encoding)],
        ..of(kind, body)
    };
    let first = vec![("grpc-status", "0")];
    vec![
        of(None, &message),
        of(Some("grpc_cut_message"), &message[..6]),
        of(Some("grpc_cut_message"), &message[..3]),
        of(Some("grpc_cut_message"), b"\0\xff\xff\xff\xffabc"),
        of(Some("grpc_cut_message"), &[&message[..], b"\0\0"].concat()),
        of(Some("grpc_message_count"), b""),
        of(Some("grpc_message_count"), &message.repeat(2)),
        of(Some("grpc_bad_flag"), &with(2, 1)),
        of(Some("grpc_bad_encoding"), &with(1, 1)),
        encoded(None, "gzip", &message),
        encoded(Some("grpc_bad_encoding"), "snappy", &message),
        encoded(Some("grpc_damaged_message"), "gzip", &with(1, 1)),
        Broken { head: first.clone(), trailers: None, ..of(Some("grpc_no_status"), &message) },
        Broken { head: first, trailers: Some(vec![]), ..of(Some("grpc_no_status"), &message) },
        Broken { trailers: Some(vec![("grpc-status", "5")]), ..of(Some("grpc_NOT_FOUND"), b"") },
    ]
}

/// Calls that a client of gRPC fails, though their status is OK or their HTTP is.
#[test]
fn broken_responses_are_failures_of_their_own() {
    let (directory, file) = schema();
    let respond = |requests: u64, stream, out: &mut Vec<u8>| {
        let cases = broken();
        let case = &cases[usize::try_from(requests).expect("few") % cases.len()];
        frame::push_headers(out, stream, &block(true, &case.head), false, 16_384);
        let is_last = case.trailers.is_none();
        frame::push_data(out, stream, &case.body, is_last);
        if let Some(trailers) = &case.trailers {
            frame::push_headers(out, stream, &block(false, trailers), true, 16_384);
        }
    };
    on_an_engine(|engine| {
        let server = serving(|out| settings(None, out), respond);
        let cases = broken().len();
        let words = format!("-n {} -c 1 --no-preflight --warmup 0", 4 * cases);
        let more = ["--proto", &file, "--grpc", "demo.Echo/Say", &server.url()];
        let ran = weir::load(engine, &words, &more);
        let mut expected = std::collections::BTreeMap::new();
        for kind in broken().iter().filter_map(|case| case.kind) {
            *expected.entry(kind.to_owned()).or_insert(0) += 4_u64;
        }
        let results = &ran.document.results;
        assert_eq!(results.missed, expected, "{ran}");
        assert_eq!((results.outcomes.ok, results.outcomes.transport_error), (2 * 4, 0), "{ran}");
    });
    drop(directory);
}

/// Bodies and JSON are those of decoded messages.
#[test]
fn expectations_see_messages_by_their_schema() {
    let (_directory, file) = schema();
    let server = Served::plainly();
    let of = |encoding: &str, expectation: &str| {
        let encoding = format!("grpc-encoding: {encoding}");
        let url = server.url();
        let body = r#"{"name": "abc", "part": {"n": [1, 2]}}"#;
        let words = ["--proto", &file, "-H", &encoding, "-b", body, "--expect", expectation];
        let more = [&words[..], &["--grpc", "demo.Echo/Say", &url]].concat();
        missed_of(&weir::load("epoll", "-n 10 -c 1", &more).document.results)
    };
    for encoding in ["identity", "gzip"] {
        for met in ["json:/name=abc", "json:/part/n/1=2", "body~\"abc\"", "same"] {
            assert_eq!(of(encoding, met), [], "{encoding} {met}");
        }
        let missed = [("expect_json".to_owned(), 10)];
        assert_eq!(of(encoding, "json:/name=x"), missed, "{encoding}");
    }
    let more = ["--grpc", "demo.Echo/Say", "--grpc-binary", "--expect", "json:/a", &server.url()];
    let output = weir("-n 5", &more);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("needs a schema: give --proto"), "{output:?}");
}

fn missed_of(results: &Results) -> Vec<(String, u64)> {
    missed(results).into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect()
}
