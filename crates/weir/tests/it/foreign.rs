//! Streamed responses of servers that are not ours, counted by the servers' own logs: aiohttp,
//! grpcio and `websockets`, by the programs of `cargo xtask interop`, which makes many such runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::weir::{self, Ran};

/// Seeds of the servers' draws.
const SEEDS: [u64; 2] = [1, 2];

/// Directory of the programs.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/src/accuracy/interop");

/// A server in Python under load, and the log that it writes at its end.
struct Foreign {
    process: Process,
    directory: Directory,
    url: String,
}

impl Foreign {
    /// Starts a server with these flags, and waits until it listens.
    fn start(program: &str, seed: u64, flags: &str) -> Foreign {
        let directory = Directory::new();
        let mut command = Command::new(python());
        command.arg(Path::new(PROGRAMS).join(program)).args(flags.split_whitespace());
        command.args(["--log", &directory.file("log"), "--seed", &seed.to_string()]);
        let mut process = Process::start(&mut command);
        let line = process.next_line();
        let url = line.strip_prefix("listening on ").expect("a URL").trim_end().to_owned();
        Foreign { process, directory, url }
    }

    /// Ends the server and reads its log, a JSON object on each line.
    fn finish(self) -> Vec<Value> {
        self.process.signal(&["TERM"]);
        let output = self.process.wait();
        let log = fs::read_to_string(self.directory.file("log"));
        let log = log.unwrap_or_else(|error| panic!("{error}: {}", output.stderr));
        log.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    }
}

/// Returns the Python for which `cargo xtask setup test` installs the servers' packages.
fn python() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("a build directory");
    target.join("tools/interop/python/bin/python")
}

/// Counts by name, without those of zero.
fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<&str, u64> {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Counts the lines of a log in which a field has this value.
fn having(log: &[Value], name: &str, value: impl Into<Value>) -> u64 {
    let value = value.into();
    log.iter().filter(|line| line[name] == value).count() as u64
}

fn error(ran: &Ran, name: &str) -> u64 {
    ran.document.results.errors.get(name).copied().unwrap_or(0)
}

fn status(ran: &Ran, code: u16) -> u64 {
    ran.document.results.status.get(&code).copied().unwrap_or(0)
}

#[test]
fn event_streams_of_aiohttp_are_counted_as_its_log_has_them() {
    on_an_engine(|engine| {
        for seed in SEEDS {
            let flags = "--events 0 12 --bad 0.1 --cut 0.1 --reset 0.1 --silent 0.02 --error 0.1 \
                         --unmarked 0.1";
            let server = Foreign::start("sse.py", seed, flags);
            let url = format!("{}/?id={{{{seq}}}}", server.url);
            let words = "-t 2 -c 8 -n 200 --sse --timeout 600ms --no-preflight";
            let ran = weir::load(engine, words, &[&url]);
            let [_, log @ ..] = &server.finish()[..] else { panic!("an empty log") };
            let length = |name: &str| -> u64 {
                log.iter().map(|line| line[name].as_array().map_or(0, Vec::len) as u64).sum()
            };
            let number = |name: &str| -> u64 {
                log.iter().map(|line| line[name].as_u64().expect("a number")).sum()
            };
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            let messages = ran.document.messages.as_ref().expect("messages");
            let reported = counts([
                ("requests", accounting.sent.total - accounting.sent.returned),
                ("messages", messages.measured),
                ("end marks", results.messages.as_ref().map_or(0, |of| of.end_marks)),
                ("ok", results.outcomes.ok),
                ("errors", results.missed.get("stream_error").copied().unwrap_or(0)),
                ("busy", status(&ran, 503) + status(&ran, 429)),
                ("cut", error(&ran, "closed_in_answer")),
                ("reset", error(&ran, "ECONNRESET")),
                ("silent", results.outcomes.timed_out),
            ]);
            let bad = having(log, "status", 503) + having(log, "status", 429);
            let is_failed = |line: &&Value| {
                let is_empty = line["tokens"] == json!([]) && line["others"] == 0;
                let is_unmarked = line["done"] == 0 && !is_empty;
                line["end"] == "complete"
                    && line["status"] == 200
                    && (line["error"] == 1 || is_unmarked)
            };
            let failed: Vec<&Value> = log.iter().filter(is_failed).collect();
            let logged = counts([
                ("requests", log.len() as u64),
                ("messages", length("tokens") + number("others")),
                ("end marks", number("done")),
                ("ok", having(log, "end", "complete") - bad - failed.len() as u64),
                ("errors", having(log, "error", 1)),
                ("busy", bad),
                ("cut", having(log, "end", "cut")),
                ("reset", having(log, "end", "reset")),
                ("silent", having(log, "end", "silent")),
            ]);
            assert_eq!(reported, logged, "seed {seed}: {ran}");
            assert!(reported["cut"] > 0 && reported["busy"] > 0, "seed {seed}: {reported:?}");
        }
    });
}

#[test]
fn calls_of_grpcio_are_counted_as_its_log_has_them() {
    on_an_engine(|engine| {
        for (seed, method) in [(1, "Unary"), (2, "Down"), (3, "Both")] {
            let server = Foreign::start("grpc_server.py", seed, "");
            let call = |number: u64| {
                let status = if number.is_multiple_of(7) { 14 } else { 0 };
                let is_cut = number.is_multiple_of(11);
                let call = json!({"replies": number % 5, "status": status, "cut": is_cut});
                if method == "Both" { json!([call, call]) } else { call }
            };
            let directory = Directory::new();
            let lines: Vec<String> = (0..40).map(|number| call(number).to_string()).collect();
            fs::write(directory.file("bodies"), lines.join("\n")).expect("a file");
            let words = format!("-t 1 -c 4 --streams 3 -n 120 --grpc interop.Interop/{method}");
            let bodies = directory.file("bodies");
            let ran = weir::load(engine, &words, &["--body-lines", &bodies, &server.url]);
            let [_, log @ ..] = &server.finish()[..] else { panic!("an empty log") };
            let received = ran.document.messages.as_ref().map(|messages| messages.measured);
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            let missed = |name: &str| results.missed.get(name).copied().unwrap_or(0);
            let reported = counts([
                ("calls", accounting.sent.total),
                ("messages", received.unwrap_or(0)),
                ("ok", results.outcomes.ok),
                ("unavailable", missed("grpc_UNAVAILABLE")),
                ("cancelled", missed("grpc_CANCELLED")),
            ]);
            let out: u64 = log.iter().map(|line| line["out"].as_u64().expect("a number")).sum();
            let logged = counts([
                ("calls", log.len() as u64),
                ("messages", if received.is_some() { out } else { 0 }),
                ("ok", having(log, "status", 0)),
                ("unavailable", having(log, "status", 14)),
                ("cancelled", having(log, "status", 1)),
            ]);
            assert_eq!(reported, logged, "{method}: {ran}");
            assert_eq!((reported["calls"], reported["cancelled"]), (120, 12), "{method}: {ran}");
        }
    });
}

#[test]
fn messages_of_websockets_are_counted_as_its_log_has_them() {
    on_an_engine(|engine| {
        for seed in SEEDS {
            let flags = "--push 0.2 --silent 0.01 --fragment 0.3 --ping-ms 20 --delay-ms 2";
            let server = Foreign::start("websockets_server.py", seed, flags);
            let url = server.url.replace("http", "ws");
            let words = "-t 2 -c 6 -n 300 --streams 4 --match json:/id --timeout 700ms";
            let body = r#"{"id":{{seq}}}"#;
            let ran = weir::load(engine, words, &["--body", body, "--no-preflight", &url]);
            let [log] = &server.finish()[..] else { panic!("a log of one line") };
            let number = |name: &str| log[name].as_u64().unwrap_or(0);
            let results = &ran.document.results;
            let accounting = &ran.document.accounting;
            let connections = &ran.document.connections;
            let reported = counts([
                ("messages", accounting.sent.total),
                ("echoes", results.outcomes.ok),
                ("silent", results.outcomes.timed_out),
                ("upgraded", connections.connects),
                ("pushes", connections.pushed),
                ("push bytes", connections.pushed_bytes),
            ]);
            let logged = counts([
                ("messages", number("messages")),
                ("echoes", number("echoes")),
                ("silent", number("silent")),
                ("upgraded", number("upgraded")),
                ("pushes", number("pushes")),
                ("push bytes", number("push bytes")),
            ]);
            assert_eq!(reported, logged, "seed {seed}: {ran}");
            assert!(reported["pushes"] > 30, "seed {seed}: {reported:?}");
        }
    });
}
