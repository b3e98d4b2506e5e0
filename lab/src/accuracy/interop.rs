//! V41: responses in several messages, and calls, against servers of others. Each run has a load
//! and a server that are drawn from its seed. The server's own log has every request, message,
//! status and cut, and weir's counts must equal it.

mod broken;
mod grpc;
mod http;
pub(super) mod model;
mod websocket;

pub(super) mod counts;
mod draw;
mod drawn_run;
pub(super) mod server;
mod stopped;

use std::fmt::Display;

use anyhow::{Context, Result};
use weir_result::Document;

use crate::rig::{Fixture, Section, thousands};

use counts::Counts;
use draw::Draw;
use drawn_run::DrawnRun;
use server::ServerLog;

/// Seed of the first run; each further run has the next one.
const FIRST_SEED: u64 = 41_000;

/// A kind of server under random loads.
struct ServerCase {
    title: &'static str,
    /// Draws a run: the server's command and the load.
    run: fn(&mut Draw, u64) -> DrawnRun,
    /// Counts that the server logged.
    logged: fn(&ServerLog, &Document) -> Result<Counts>,
    /// The same counts as weir has them.
    reported: fn(&Document, &DrawnRun) -> Counts,
}

/// Runs case V41 of METHOD 2.1: server-sent events of aiohttp.
pub(super) fn sse(fixture: &Fixture) -> Result<Section> {
    let case = ServerCase {
        title: "messages and failures, counted by servers of others",
        run: http::run,
        logged: http::logged,
        reported: http::reported,
    };
    compare(fixture, &case)
}

/// Runs the variants of the case: gRPC and WebSocket.
pub(super) fn grpcio(fixture: &Fixture) -> Result<Section> {
    let mut section = compare(fixture, &of_grpc("calls of grpcio", grpc::python))?;
    broken::compare(fixture, &mut section)?;
    Ok(section)
}

pub(super) fn grpc_go(fixture: &Fixture) -> Result<Section> {
    compare(fixture, &of_grpc("calls of google.golang.org/grpc", grpc::go))
}

pub(super) fn websockets(fixture: &Fixture) -> Result<Section> {
    compare(fixture, &of_websocket("messages of websockets", websocket::python))
}

pub(super) fn ws(fixture: &Fixture) -> Result<Section> {
    compare(fixture, &of_websocket("messages of ws", websocket::node))
}

const fn of_grpc(title: &'static str, run: fn(&mut Draw, u64) -> DrawnRun) -> ServerCase {
    ServerCase { title, run, logged: grpc::logged, reported: grpc::reported }
}

const fn of_websocket(title: &'static str, run: fn(&mut Draw, u64) -> DrawnRun) -> ServerCase {
    ServerCase { title, run, logged: websocket::logged, reported: websocket::reported }
}

/// Makes the runs against one kind of server.
fn compare(fixture: &Fixture, case: &ServerCase) -> Result<Section> {
    let runs = fixture.runs(50, 5);
    let mut section = Section::new(
        case.title,
        "Do counts of messages, statuses and failed streams agree with the logs of other servers, \
         under random loads?",
        format!("In {runs} short runs drawn from their seeds every count equals the server's log."),
    );
    let mut versions = None;
    let mut disagreements = 0;
    for seed in (FIRST_SEED..).take(runs) {
        let mut draw = Draw::of(seed);
        let run = (case.run)(&mut draw, seed);
        let running = run.server.start(fixture)?;
        let document = run.run(fixture, &running.url);
        let log = running.finish().with_context(|| format!("seed {seed}"))?;
        let document = document.with_context(|| format!("seed {seed}"))?;
        let reported = (case.reported)(&document, &run);
        let logged = (case.logged)(&log, &document)?;
        let differences = reported.differences(&logged);
        disagreements += differences.len();
        let of = |name: &str| thousands(logged.of(name));
        let differs =
            if differences.is_empty() { "–".to_owned() } else { differences.join("; ") };
        section.row(&[
            ("server", &run.server.flags),
            ("load", &run.load),
            ("seed", &seed),
            ("requests", &of("requests")),
            ("messages", &of("messages")),
            ("ok", &of("ok")),
            ("other status", &of("bad")),
            ("failed", &of("failed")),
            ("counts", &reported.len()),
            ("disagreements", &differs),
        ]);
        section.fail(differences.iter().map(|difference| format!("seed {seed}: {difference}")));
        versions.get_or_insert(log.versions);
    }
    section.note(format!("Server: {}.", versions.unwrap_or_default()));
    section.verdict(format!(
        "{} runs, {} requests, {} messages received, {} other statuses, {} streams that failed: \
         {disagreements} disagreements.",
        section.rows(),
        sum(&section, "requests"),
        sum(&section, "messages"),
        sum(&section, "other status"),
        sum(&section, "failed"),
    ));
    Ok(section)
}

fn sum(section: &Section, head: &str) -> impl Display {
    thousands(section.sum(head))
}
