//! Calls whose responses are broken: what weir makes of each, beside a client of grpcio.

use std::fs;

use anyhow::{Context, Result, ensure};
use weir_result::Document;

use super::server::{ForeignServer, ServerKind, text};
use crate::rig::{Fixture, Section};

/// Schema of the calls.
const SCHEMA: &str = "syntax = \"proto3\"; package demo; message Item { string name = 1; } \
                      service Echo { rpc Say(Item) returns (Item); }";

/// Calls of each run.
const CALLS: u64 = 20;

/// Responses of the server, which have the addresses from 127.0.0.1 on.
const RESPONSES: usize = 20;

/// Responses that weir takes for whole and grpcio does not, with the reason.
const EXCEPTIONS: [(&str, &str); 1] =
    [("no protobuf", "a message is decoded only where an expectation reads it")];

/// Calls each broken response with weir and with grpcio, and adds the table of both. They must
/// agree on what failed, but for the exceptions.
pub(super) fn compare(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let kind = ServerKind::BrokenGrpc;
    let running = ForeignServer { kind, flags: String::new(), seed: 0 }.start(fixture)?;
    let port = running.url.rsplit(':').next().context("a URL has a port")?.to_owned();
    let schema = fixture.directory.join("broken.proto");
    fs::write(&schema, SCHEMA).context("failed to write a schema")?;
    let documents: Result<Vec<Document>> = (1..=RESPONSES)
        .map(|place| {
            let flags = format!(
                "-t1 -c2 -n{CALLS} --warmup 0 -T2s --witness off --grpc demo.Echo/Say --proto {}",
                schema.display()
            );
            fixture.start_weir(&flags, &format!("http://127.0.0.{place}:{port}/"))?.finish()
        })
        .collect();
    let log = running.finish()?;
    let documents = documents?;
    ensure!(log.lines.len() == documents.len(), "{} responses", log.lines.len());
    section.begin_table("Broken responses, and the end of their calls:");
    for (line, document) in log.lines.iter().zip(documents) {
        let response = text(line, "response")?;
        let grpcio = text(line, "grpcio")?;
        let results = &document.results;
        let kinds = results.missed.keys().chain(results.errors.keys());
        let mut kinds: Vec<&str> = kinds.map(String::as_str).collect();
        if results.outcomes.timed_out + results.outcomes.in_flight_at_end > 0 {
            kinds.push("timed out");
        }
        let ended = if kinds.is_empty() { "ok".to_owned() } else { kinds.join(", ") };
        let exception = EXCEPTIONS.iter().find(|(name, _)| *name == response);
        let reason = exception.map_or("–", |(_, reason)| reason);
        section.row(&[
            ("message", &response),
            ("grpcio", &grpcio),
            ("weir", &ended),
            ("exception", &reason),
        ]);
        let is_ok = results.outcomes.ok == CALLS;
        section.must(is_ok || results.outcomes.ok == 0, || format!("{response}: {ended}, some ok"));
        let is_expected = (is_ok == (grpcio == "OK")) != exception.is_some();
        section.must(is_expected, || format!("{response}: grpcio {grpcio}, weir {ended}"));
    }
    Ok(())
}
