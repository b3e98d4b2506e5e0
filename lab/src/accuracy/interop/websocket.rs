//! Loads of WebSocket messages, and the counts of both sides.

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use weir_result::Document;

use super::counts::Counts;
use super::draw::Draw;
use super::drawn_run::{DrawnBody, DrawnRun};
use super::server::{ForeignServer, ServerKind, ServerLog};

/// Draws a run against the server of Python.
pub(super) fn python(draw: &mut Draw, seed: u64) -> DrawnRun {
    run(draw, seed, ServerKind::Websockets)
}

/// Draws a run against the server of Node.
pub(super) fn node(draw: &mut Draw, seed: u64) -> DrawnRun {
    run(draw, seed, ServerKind::Ws)
}

/// Draws one of four kinds of run. Ends of connections have one message in flight on each, since
/// those that the server has not read are lost with it.
fn run(draw: &mut Draw, seed: u64, kind: ServerKind) -> DrawnRun {
    let mut flags = vec![format!("--fragment 0.{}", draw.number(0, 5))];
    let threads = draw.number(1, 2);
    let connections = draw.number(2, 20);
    let mut load = vec![format!("-t{threads} -c{connections} -n{}", draw.number(50, 500))];
    if draw.one_in(3) {
        flags.push(format!("--ping-ms {}", draw.number(10, 50)));
    }
    if draw.one_in(3) {
        load.push(format!("-R{}", draw.number(200, 2_000)));
    }
    match draw.number(1, 4) {
        // Matched by a field, beside pushes and messages without an echo.
        1 => {
            let delay_ms = draw.number(0, 4);
            let push = draw.number(0, 4);
            flags.push(format!("--delay-ms {delay_ms} --push 0.{push}"));
            flags.push(format!("--silent 0.0{}", draw.number(0, 1)));
            load.push(format!("--match json:/id --streams {}", draw.number(1, 16)));
        }
        // In order beside pushes, each of which leaves an echo over.
        2 => {
            let delay_ms = draw.number(0, 4);
            let push = draw.number(1, 4);
            flags.push(format!("--delay-ms {delay_ms} --push 0.{push}"));
            load.push(format!("--streams {}", draw.number(1, 4)));
        }
        // Several in flight, in order.
        3 => load.push(format!("--streams {}", draw.number(1, 16))),
        // Closed and aborted connections, and refused upgrades.
        _ => {
            let close = draw.number(0, 10);
            let abort = draw.number(0, 10);
            flags.push(format!("--close 0.{close:02} --abort 0.{abort:02}"));
            flags.push(format!(
                "--silent 0.0{} --refuse 0.{}",
                draw.number(0, 1),
                draw.number(0, 3)
            ));
            flags.push(format!("--delay-ms {}", draw.number(0, 4)));
        }
    }
    let timeout_ms = draw.number(6, 10) * 100;
    let io = draw.choice(&["epoll", "auto"]);
    load.push(format!("-T{timeout_ms}ms --seed {seed} --io {io}"));
    if draw.one_in(2) {
        load.push("--ws-binary".to_owned());
    }
    if draw.one_in(2) {
        load.push("--ws-deflate".to_owned());
    }
    let padding = "ü".repeat(draw.choice(&[0, 10, 60, 200, 40_000]));
    let body = DrawnBody::Text(format!("{{\"id\":{{{{seq}}}},\"padding\":\"{padding}\"}}"));
    let server = ForeignServer { kind, flags: flags.join(" "), seed };
    DrawnRun { server, load: load.join(" "), scheme: "ws", path: "/", body, sends: 1 }
}

/// Returns the server's counters.
pub(super) fn logged(log: &ServerLog, document: &Document) -> Result<Counts> {
    let counters: &Map<String, Value> = log.counters.as_object().context("no counters")?;
    let mut counts = Counts::default();
    for (name, count) in counters {
        let Some(count) = count.as_u64() else { continue };
        match name.as_str() {
            "messages" => ["requests", "messages"].iter().for_each(|name| counts.add(name, count)),
            "echoes" => counts.add("ok", count),
            // Any message of the server may be the one that is left over.
            "push bytes" if document.plan.echoes_in_order() => {}
            "aborted" => ["failed", "aborted"].iter().for_each(|name| counts.add(name, count)),
            // Sizes of messages are the same in each run; the client's own Close frames may come
            // after the server's end.
            "bytes" | "errors" | "close 1000 received" => {}
            name if name.starts_with("close ") => {
                let names = ["failed", "closed with a reason", name];
                names.iter().for_each(|name| counts.add(name, count));
            }
            name => counts.add(name, count),
        }
    }
    counts.add("upgrades", counts.of("upgraded") + counts.of("refused"));
    Ok(counts)
}

/// Returns weir's counts.
pub(super) fn reported(document: &Document, _: &DrawnRun) -> Counts {
    let results = &document.results;
    let accounting = &document.accounting;
    let mut counts = Counts::default();
    counts.add("requests", accounting.sent.total);
    counts.add("messages", accounting.sent.total);
    counts.add("ok", results.outcomes.ok);
    counts.add("silent", results.outcomes.timed_out + results.outcomes.in_flight_at_end);
    counts.add("failed", results.outcomes.transport_error);
    counts.add("bad", results.outcomes.bad_response);
    for (error, requests) in &results.errors {
        let name = match error.as_str() {
            "closed_before_answer" | "ECONNRESET" => "aborted".to_owned(),
            other => other.replace("protocol_closed_", "close "),
        };
        counts.add(&name, *requests);
    }
    let connections = serde_json::to_value(&document.connections).unwrap_or_default();
    let number = |name: &str| connections[name].as_u64().unwrap_or(0);
    counts.add("upgraded", number("connects"));
    counts.add("deflated", number("deflated"));
    counts.add("pushes", number("pushed"));
    if !document.plan.echoes_in_order() {
        counts.add("push bytes", number("pushed_bytes"));
    }
    let reasons = document.connections.goaways.iter().filter(|(name, _)| name.ends_with("ordered"));
    counts.add("closed with a reason", reasons.map(|(_, count)| count).sum());
    let refused = document.connections.failures.iter().filter(|failure| {
        let cause = serde_json::to_value(failure).unwrap_or_default();
        cause["cause"] == "protocol_upgrade_refused_503"
    });
    counts.add("refused", refused.map(|failure| failure.count).sum());
    counts.add("upgrades", counts.of("upgraded") + counts.of("refused"));
    // The end of the run cut these; the server may have answered their upgrades before.
    for name in ["upgraded", "deflated", "refused", "upgrades"] {
        counts.allow(name, number("opening_at_end"));
    }
    counts
}
