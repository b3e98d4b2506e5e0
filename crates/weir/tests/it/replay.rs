//! Replayed logs: which requests are sent when, what is left out, and what is refused.

use std::collections::BTreeMap;
use std::fs;

use weir_result::Document;

use crate::rows::{self, Slot};
use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::served::Served;
use crate::support::weir::weir;

const MS: u64 = 1_000_000;

/// Milliseconds and request lines of a log, which was written at the ends of the requests.
const LOGGED: [(u64, &str); 8] = [
    (40, "GET /a HTTP/1.1"),
    (0, "GET /a?b=c HTTP/1.1"),
    (7, "HEAD http://other:81/d HTTP/2.0"),
    (7, "POST /a HTTP/1.1"),
    (7, "GET /a HTTP/1.1"),
    (111, "DELETE /d HTTP/1.1"),
    (111, "-"),
    (152, "OPTIONS /a HTTP/1.1"),
];

const FORMAT: &str = "$remote_addr [$msec] \"$request\" $status";

/// Writes a log with fractions of seconds.
fn log(directory: &Directory) -> String {
    let line =
        |(at_ms, request): &(u64, &str)| format!("::1 [1700000000.{at_ms:03}] \"{request}\" 200\n");
    write(directory, "access.log", &LOGGED.iter().map(line).collect::<String>())
}

fn write(directory: &Directory, name: &str, text: &str) -> String {
    let file = directory.file(name);
    fs::write(&file, text).expect("the directory is the test's own");
    file
}

/// Returns the planned times of the requests after the first slot, with their names.
fn planned(slots: &[Slot], document: &Document) -> Vec<(u64, String)> {
    let start = document.phases[0].start_ns;
    let mut planned: Vec<(u64, String)> = slots
        .iter()
        .map(|slot| (slot.intended_at - start, slot.name.clone().unwrap_or_default()))
        .collect();
    planned.sort();
    planned
}

/// The plan is that of the log to the nanosecond, at other speeds too, whatever shares the slots.
#[test]
fn requests_have_the_times_of_the_log() {
    let directory = Directory::new();
    let log = log(&directory);
    on_an_engine(|engine| {
        for (flags, divisor, unsafe_too) in
            [("-c1 -t1", 1, false), ("-c5 -t2 --speed 10x --replay-unsafe", 10, true)]
        {
            let server = Served::plainly();
            let flags = format!("--replay {log} {flags}");
            let more = ["--replay-format", FORMAT];
            let (ran, slots) = rows::load_with(engine, &flags, &more, &server.url());
            ran.assert_all_ok();
            let name = |request: &str| match request {
                "GET /a?b=c HTTP/1.1" => "GET /a".to_owned(),
                "HEAD http://other:81/d HTTP/2.0" => "HEAD /d".to_owned(),
                other => other.trim_end_matches(" HTTP/1.1").to_owned(),
            };
            let is_sent = |request: &str| {
                let is_safe = !request.starts_with("POST") && !request.starts_with("DELETE");
                request != "-" && (is_safe || unsafe_too)
            };
            let sent = LOGGED.iter().filter(|(_, request)| is_sent(request));
            let mut expected: Vec<(u64, String)> =
                sent.map(|(at_ms, request)| (at_ms * MS / divisor, name(request))).collect();
            expected.sort();
            assert_eq!(planned(&slots, &ran.document), expected, "{ran}");
            let plan = &ran.document.plan;
            let replay = plan.load.log().expect("it is in the plan");
            assert_eq!(plan.load.length_ns(), Some(153 * MS / divisor), "{ran}");
            assert!(plan.load.is_open_loop() && plan.load.warmup.span_ns == 0, "{ran}");
            let left_out: &[(&str, u64)] =
                if unsafe_too { &[] } else { &[("DELETE", 1), ("POST", 1)] };
            let left_out: BTreeMap<String, u64> =
                left_out.iter().map(|(method, count)| ((*method).to_owned(), *count)).collect();
            assert_eq!((&replay.left_out, replay.without_request), (&left_out, 1), "{ran}");
            assert_eq!((replay.lines, replay.name.as_str()), (8, "access.log"), "{ran}");
            let requests = server.stop().requests;
            assert_eq!(requests.received, ran.document.accounting.sent.total, "{ran}");
            ran.assert_says(&format!("replay of access.log, {} requests in", expected.len()));
            ran.assert_says("1 line without a request");
            match unsafe_too {
                false => ran.assert_says("1 DELETE request"),
                true => {
                    ran.assert_says("at 10x");
                    ran.assert_says("without a body");
                }
            }
        }
    });
}

/// With more different requests than are prepared, they are read while the load runs. Times in
/// whole seconds are spread, the last line was cut, and the same run follows from its document.
#[test]
fn a_long_log_in_whole_seconds_is_repeated() {
    let directory = Directory::new();
    let server = Served::plainly();
    let line = |nth: u64| {
        let second = 10 + nth / 2_500;
        format!("::1 - - [10/Oct/2000:13:55:{second} -0700] \"GET /{nth} HTTP/1.1\" 200 5\n")
    };
    let text = (0..5_000).map(line).collect::<String>() + "::1 - - [10/Oct";
    let log = write(&directory, "long.log", &text);
    let output = directory.file("first.json");
    let words =
        format!("--no-verdict --drain 60s --replay {log} --speed 4x --group /* -c20 -o {output}");
    let first = weir(&words, &[&server.url()]);
    assert_eq!(first.code(), 0, "{first:?}");
    let document = Document::load(&output).expect("a document");
    assert_eq!(
        (document.results.planned, document.results.outcomes.ok),
        (5_000, 5_000),
        "{first:?}"
    );
    assert_eq!(document.plan.load.length_ns(), Some(500 * MS));
    let replay = document.plan.load.log().expect("it is in the plan");
    assert_eq!((replay.has_whole_seconds, replay.is_cut, replay.lines), (true, true, 5_000));
    for part in ["spread evenly", "was cut"] {
        assert!(first.stdout.contains(part), "{part}: {first:?}");
    }
    assert!(document.results.completed_interval.is_none() && document.stationarity.is_empty());
    let again = directory.file("again.json");
    let repeated = weir("rerun --no-verdict", &[&output, "-o", &again]);
    assert_eq!(repeated.code(), 0, "{repeated:?}");
    let again = Document::load(&again).expect("a document");
    assert_eq!(again.run.plan_sha256, document.run.plan_sha256);
    fs::write(&log, line(0)).expect("the directory is the test's own");
    let changed = weir("rerun --no-verdict", &[&output]);
    assert_eq!(changed.code(), 2, "{changed:?}");
    assert!(changed.stderr.contains("--replay"), "{changed:?}");
}

/// The lines of Caddy's access log, whose request is an object, and of Traefik's, whose `time` is
/// that of the line.
#[test]
fn logs_of_caddy_and_traefik_are_replayed() {
    let directory = Directory::new();
    let server = Served::plainly();
    let caddy = |ts: &str, uri: &str| {
        format!(
            "{{\"level\":\"info\",\"ts\":{ts},\"msg\":\"handled request\",\"request\":{{\
             \"method\":\"GET\",\"host\":\"shop.test\",\"uri\":\"{uri}\"}},\"status\":200}}\n"
        )
    };
    let traefik = |at: &str, path: &str| {
        format!(
            "{{\"RequestMethod\":\"GET\",\"RequestPath\":\"{path}\",\"StartUTC\":\
             \"2026-11-28T10:00:{at}Z\",\"time\":\"2026-11-28T10:00:09Z\"}}\n"
        )
    };
    for text in [
        caddy("1790000000.25", "/a?x=1") + &caddy("1790000000.75", "/b"),
        traefik("00.25", "/a?x=1") + &traefik("00.75", "/b"),
    ] {
        let log = write(&directory, "access.log", &text);
        let output = directory.file("out.json");
        let words = format!("--no-verdict -q --replay {log} --no-preflight -o {output}");
        let ran = weir(&words, &[&server.url()]);
        assert_eq!(ran.code(), 0, "{ran:?}");
        let document = Document::load(&output).expect("a document");
        assert_eq!(document.results.outcomes.ok, 2, "{text}");
        assert_eq!(document.plan.load.length_ns(), Some(510 * MS), "{text}");
        let names: Vec<&str> = document.names.iter().map(|name| name.name.as_str()).collect();
        assert_eq!(names, ["GET /a", "GET /b"], "{text}");
    }
}

#[test]
fn what_cannot_be_replayed_is_refused_before_any_load() {
    let directory = Directory::new();
    let server = Served::plainly();
    let log = log(&directory);
    let check = |words: &str, more: &[&str], part: &str| {
        let url = server.url();
        let words = words.replace("LOG", &log);
        let output = weir(&words, &[more, &[&url]].concat());
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        assert!(output.stderr.contains(part), "{words}: {output:?}");
    };
    let other = "line 1: it is neither in the format common nor in combined: name the format of \
                 its lines with --replay-format";
    check("--replay LOG", &[], other);
    check("--replay LOG --replay-format", &["$msec"], "--replay-format: it has neither $request");
    check("--replay LOG --speed 0", &[], "is no speed");
    check("--replay /missing", &[], "--replay /missing cannot be read");
    check("--replay LOG -R5", &[], "--rate cannot be used with --replay, as the log has");
    check("--replay LOG --stages 1s@5", &[], "cannot be used with");
    check("--replay LOG --from LOG", &[], "cannot be used with");
    check("--replay LOG -b x", &[], "--body cannot be used with --replay");
    check("--replay LOG --prove-client --replay-format", &[FORMAT], "leave out --prove-client");
    check("--speed 2x", &[], "--speed has no effect without --replay FILE");
    let other = write(&directory, "other.log", "{\"when\": 1, \"url\": \"/\"}\n");
    check(&format!("--replay {other}"), &[], "line 1: it has no time in `time`, `timestamp` or");
    let unsafe_log = "::1 [1.0] \"POST / HTTP/1.1\" 200\n";
    let unsafe_log = write(&directory, "unsafe.log", unsafe_log);
    let words = format!("--replay {unsafe_log} --replay-format");
    check(&words, &[FORMAT], "but POST: --replay-unsafe sends them");
    let output = weir(&format!("--replay {log}"), &[]);
    assert!(output.code() == 2 && output.stderr.contains("name the URL"), "{output:?}");
    let output = weir("repeat --replay -", &[&server.url()]);
    assert!(output.code() == 2 && output.stderr.contains("name a file"), "{output:?}");
    let words = format!("search --replay {log}");
    let output = weir(&words, &["p99 < 5ms", &server.url()]);
    assert!(output.code() == 2 && output.stderr.contains("in a search"), "{output:?}");
    assert_eq!(server.stop().requests.received, 0);
}
