//! Loads of gRPC calls, and the counts of both sides.

use anyhow::Result;
use serde_json::{Value, json};
use weir_result::Document;

use super::counts::Counts;
use super::draw::Draw;
use super::drawn_run::{DrawnBody, DrawnRun};
use super::server::{ForeignServer, ServerKind, ServerLog, number, text};

/// Statuses that calls order, by the names of weir's counts.
const STATUSES: [(u64, &str); 6] = [
    (1, "grpc_CANCELLED"),
    (3, "grpc_INVALID_ARGUMENT"),
    (5, "grpc_NOT_FOUND"),
    (8, "grpc_RESOURCE_EXHAUSTED"),
    (14, "grpc_UNAVAILABLE"),
    (16, "grpc_UNAUTHENTICATED"),
];

/// Draws a run against the server of Python.
pub(super) fn python(draw: &mut Draw, seed: u64) -> DrawnRun {
    run(draw, seed, ServerKind::Grpcio)
}

/// Draws a run against the server of Go.
pub(super) fn go(draw: &mut Draw, seed: u64) -> DrawnRun {
    run(draw, seed, ServerKind::GrpcGo)
}

fn run(draw: &mut Draw, seed: u64, kind: ServerKind) -> DrawnRun {
    let method = draw.choice(&["Unary", "Down", "Up", "Both"]);
    let are_cut = draw.one_in(2);
    // A cut of the server in Go closes the connection, and calls beside it with it.
    let streams = if are_cut { 1 } else { draw.number(1, 12) };
    let mut load = vec![format!(
        "-t{} -c{} --streams {streams} -n{} --seed {seed}",
        draw.number(1, 2),
        draw.number(2, 20),
        draw.number(50, 400)
    )];
    if draw.one_in(3) {
        load.push(format!("-R{}", draw.number(200, 1_000)));
    }
    load.push(format!("--grpc interop.Interop/{method} --io {}", draw.choice(&["epoll", "auto"])));
    let is_streamed = matches!(method, "Up" | "Both");
    // The same number in each call, so that the sum does not depend on their order.
    let sends = if is_streamed { draw.number(0, 6) } else { 1 };
    let line = |draw: &mut Draw| {
        let messages: Vec<Value> = (0..sends).map(|_| message(draw, are_cut)).collect();
        if is_streamed { Value::from(messages).to_string() } else { messages[0].to_string() }
    };
    let lines: Vec<String> = (0..draw.number(1, 40)).map(|_| line(draw)).collect();
    let body = DrawnBody::Lines(lines.join("\n") + "\n");
    let server = ForeignServer { kind, flags: String::new(), seed };
    DrawnRun { server, load: load.join(" "), scheme: "http", path: "/", body, sends }
}

/// Draws a message, which orders replies and the call's end.
fn message(draw: &mut Draw, are_cut: bool) -> Value {
    let (status, _) = draw.choice(&STATUSES);
    json!({
        "replies": draw.number(0, 12),
        "replyBytes": draw.choice(&[0, 1, 100, 20_000]),
        "status": if draw.one_in(6) { status } else { 0 },
        "cut": are_cut && draw.one_in(8),
        "padding": "x".repeat(draw.choice(&[0, 5, 300, 30_000])),
    })
}

/// Counts the calls of the log.
pub(super) fn logged(log: &ServerLog, document: &Document) -> Result<Counts> {
    let mut counts = Counts::default();
    let are_streamed = document.messages.is_some();
    for line in &log.lines {
        let status = number(line, "status")?;
        let out = if are_streamed { number(line, "out")? } else { 0 };
        counts.add("requests", 1);
        counts.add("messages sent", number(line, "in")?);
        counts.add("messages", out);
        counts.add("streams", u64::from(out > 0));
        match (text(line, "end")?, status) {
            ("complete", 0) => {
                counts.add("ok", 1);
                counts.add("messages of ok", out);
                counts.add("bytes of ok", if are_streamed { number(line, "bytes")? } else { 0 });
            }
            ("complete", status) => {
                let name = STATUSES.iter().find(|(code, _)| *code == status);
                counts.add(name.map_or("an unknown status", |(_, name)| name), 1);
                counts.add("bad", 1);
            }
            ("cut", _) => counts.add("failed", 1),
            (end, _) => counts.add(end, 1),
        }
    }
    Ok(counts)
}

/// Returns weir's counts.
pub(super) fn reported(document: &Document, run: &DrawnRun) -> Counts {
    let results = &document.results;
    let accounting = &document.accounting;
    let mut counts = Counts::default();
    counts.add("requests", accounting.sent.total - accounting.sent.returned);
    counts.add("messages sent", accounting.sent.total * run.sends);
    counts.add("ok", results.outcomes.ok);
    counts.add("bad", results.outcomes.bad_response);
    counts.add("failed", results.outcomes.transport_error);
    counts.add("unresolved", results.outcomes.timed_out + results.outcomes.in_flight_at_end);
    results.missed.iter().for_each(|(kind, calls)| counts.add(kind, *calls));
    if let Some(messages) = &document.messages {
        counts.add_messages(messages);
    }
    counts
}
