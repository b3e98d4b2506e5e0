//! Loads of server-sent events, and the counts of both sides.

use std::ops::Range;

use anyhow::{Context, Result};
use serde_json::Value;
use weir_result::Document;

use super::counts::Counts;
use super::draw::Draw;
use super::drawn_run::{DrawnBody, DrawnRun};
use super::server::{ForeignServer, ServerKind, ServerLog, number, text};

/// Draws a server with cuts, silences and statuses, and an open or closed load on it.
pub(super) fn run(draw: &mut Draw, seed: u64) -> DrawnRun {
    let events = draw.choice(&[0, 3, 10, 30]);
    let size = draw.choice(&[1, 20, 200, 5_000]);
    let share = |draw: &mut Draw| if draw.one_in(3) { 0 } else { draw.number(1, 15) };
    let [bad, cut, reset] = [share(draw), share(draw), share(draw)];
    let [error, unmarked] = [share(draw), share(draw)];
    let marks = match draw.one_in(4) {
        true => "--no-done".to_owned(),
        false => format!("--unmarked 0.{unmarked:02}"),
    };
    let usage = draw.number(0, 9);
    // A silence takes a connection for the whole timeout.
    let silent = if draw.one_in(2) { 0 } else { 2 };
    let flags = format!(
        "--events {} {events} --size 1 {size} --bad 0.{bad:02} --cut 0.{cut:02} \
         --reset 0.{reset:02} --silent 0.{silent:02} --error 0.{error:02} {marks} \
         --usage 0.{usage}",
        draw.number(0, events.min(2)),
    );
    let mut load = vec![draw.choice(&["-t1", "-t2"]).to_owned()];
    let connections = draw.number(2, 40);
    if draw.one_in(2) {
        load.push(format!("-c{connections} -n{}", draw.number(20, 400)));
    } else {
        let arrivals = draw.choice(&["uniform", "poisson"]);
        let warmup_ms = draw.number(0, 3) * 100;
        let window_ms = draw.number(3, 7) * 100;
        load.push(format!(
            "-c{} -R{} --arrivals {arrivals} --warmup {warmup_ms}ms -d{window_ms}ms --drain 5s",
            connections + 20,
            draw.number(50, 300),
        ));
    }
    load.push(format!("--sse -T{}ms --seed {seed}", draw.number(6, 10) * 100));
    load.push(draw.choice(&["--io epoll", "--io auto"]).to_owned());
    if draw.one_in(2) {
        load.push("--tokens json:/choices/0/delta/content".to_owned());
    }
    let server = ForeignServer { kind: ServerKind::Sse, flags, seed };
    let load = load.join(" ");
    let body = DrawnBody::None;
    DrawnRun { server, load, scheme: "http", path: "/v1?id={{seq}}", body, sends: 0 }
}

/// Returns the indices of the measured requests. A closed load without a warm-up has no others, and
/// its threads leave out indices.
fn measured(document: &Document) -> Range<u64> {
    let results = &document.results;
    let accounting = &document.accounting;
    let first = accounting.sent.warmup;
    match document.plan.load.is_open_loop() {
        false => 0..u64::MAX,
        _ => first..first + results.planned,
    }
}

/// Counts the lines of the log.
pub(super) fn logged(log: &ServerLog, document: &Document) -> Result<Counts> {
    let mut counts = Counts::default();
    let measured = measured(document);
    let are_tokens = document.plan.messages.as_ref().is_some_and(|plan| !plan.tokens.is_empty());
    let is_marked = log.lines.iter().any(|line| line["done"] == 1);
    for line in &log.lines {
        counts.add("requests", 1);
        if !measured.contains(&number(line, "id")?) {
            continue;
        }
        counts.add("measured", 1);
        add(&mut counts, line, are_tokens, is_marked)?;
    }
    Ok(counts)
}

/// Adds a measured stream.
fn add(counts: &mut Counts, line: &Value, are_tokens: bool, is_marked: bool) -> Result<()> {
    let status = number(line, "status")?;
    let tokens = line["tokens"].as_array().context("a line of the log has no tokens")?.len() as u64;
    let others = number(line, "others")?;
    let messages = if are_tokens { tokens } else { tokens + others };
    counts.add("messages", messages);
    counts.add("streams", u64::from(messages > 0));
    counts.add("other messages", if are_tokens { others } else { 0 });
    counts.add("end marks", number(line, "done")?);
    counts.add("errors in streams", number(line, "error")?);
    match text(line, "end")? {
        "complete" => {
            counts.add(&format!("status {status}"), 1);
            let is_unmarked = is_marked && number(line, "done")? == 0 && tokens + others > 0;
            let fault = match () {
                () if status != 200 => Some("status"),
                () if number(line, "error")? > 0 => Some("stream_error"),
                () if are_tokens && tokens == 0 => Some("stream_without_token"),
                () if is_unmarked => Some("stream_without_end"),
                () => None,
            };
            counts.add(if fault.is_none() { "ok" } else { "bad" }, 1);
            if let Some(kind) = fault.filter(|kind| *kind != "status") {
                counts.add(kind, 1);
            }
            if fault.is_none() {
                let bytes = number(line, "token_bytes")?;
                let other_bytes = if are_tokens { 0 } else { number(line, "other_bytes")? };
                counts.add("messages of ok", messages);
                counts.add("bytes of ok", bytes + other_bytes);
                let counted = line["counted"].as_u64().filter(|_| are_tokens);
                counts.add("ok with a count", u64::from(counted.is_some()));
                counts.add("tokens of ok", counted.unwrap_or(0));
                let reasoning = if are_tokens { number(line, "reasoning")? } else { 0 };
                counts.add("reasoning of ok", reasoning);
            }
        }
        "silent" => counts.add("silent", 1),
        end => {
            counts.add(end, 1);
            counts.add("failed", 1);
        }
    }
    Ok(())
}

/// Returns weir's counts.
pub(super) fn reported(document: &Document, _: &DrawnRun) -> Counts {
    let results = &document.results;
    let accounting = &document.accounting;
    let mut counts = Counts::default();
    counts.add("requests", accounting.sent.total - accounting.sent.returned);
    counts.add("measured", accounting.sent.measured);
    counts.add("ok", results.outcomes.ok);
    counts.add("bad", results.outcomes.bad_response);
    counts.add("failed", results.outcomes.transport_error);
    counts.add("silent", results.outcomes.timed_out + results.outcomes.in_flight_at_end);
    for (status, responses) in &results.status {
        counts.add(&format!("status {status}"), *responses);
    }
    for (error, requests) in &results.errors {
        let end = match error.as_str() {
            "closed_in_answer" => "cut",
            "ECONNRESET" => "reset",
            other => other,
        };
        counts.add(end, *requests);
    }
    if let Some(messages) = &document.messages {
        counts.add_messages(messages);
        counts.add("other messages", messages.others);
        counts.add("end marks", document.results.messages.as_ref().map_or(0, |of| of.end_marks));
        counts.add("errors in streams", messages.errors);
        if let Some(tokens) = &messages.tokens {
            counts.add("ok with a count", tokens.per_response.count);
            counts.add("tokens of ok", Counts::total(&tokens.per_response));
        }
        let totals = results.messages.as_ref().and_then(|of| of.totals);
        counts.add("reasoning of ok", totals.map_or(0, |totals| totals.reasoning));
    }
    for (kind, responses) in &results.missed {
        counts.add(kind, *responses);
    }
    counts
}
