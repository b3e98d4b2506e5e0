//! Cost of calls of gRPC beside ghz, and of WebSocket messages beside k6; punctuality with a
//! thousand event streams.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use weir_result::document::Summary;
use weir_stats::median;
use xtask::guard::Guarded;
use xtask::shell::{root, tools_dir};

use super::paired::{self, Paired};
use crate::rig::{
    ClientRun, Fixture, Peer, Section, Server, Table, clients, pinned, table, versions,
};

/// Files of the repository: the schema of the server in Go, and the script of k6.
const SCHEMA: &str = "lab/src/accuracy/interop/service.json";
const SCRIPT: &str = "lab/src/bench/messages/echo.js";

/// Connections of messages, and of calls.
const CONNECTIONS: u32 = 50;
const CALL_CONNECTIONS: u32 = 5;

const CALL: &str = "interop.Interop/Unary";
const CALL_BODY: &str = r#"{"replies":1}"#;
const BODY: &str = r#"{"id":1,"text":"hello"}"#;

/// Least ratios of calls and messages per CPU-second; of the second, with several in flight.
const CALLS_MIN: f64 = 3.0;
const ECHOES_MIN: f64 = 5.0;

/// Least share of the limit with one message in flight, where the kernel is most of the cost.
const LIMIT_SHARE_MIN: f64 = 0.9;

/// Streams of 500 events, one each 20 ms: a thousand at once.
const STREAMS: &str = "--threads 1 --events 500 --first 20ms --gap 20ms";
const STREAMS_LOAD: &str = "-t1 -c1200 -R100 -d8s --warmup 11s --drain 12s --sse --no-preflight";

/// Largest send lag and largest client's share of a gap, at p99, in milliseconds.
const LATE_MAX_MS: f64 = 1.0;

pub(super) fn messages(fixture: &Fixture) -> Result<Section> {
    let method = format!(
        "Closed loops of one client thread on one CPU. {} Calls: {CALL_CONNECTIONS} connections \
         with 10 calls in flight on each, on a server in Go (google.golang.org/grpc). Messages: \
         {CONNECTIONS} connections of WebSocket, on `weir serve`. The limit is the ratio if weir's \
         own code took no time, only the kernel's. Wanted per CPU-second: {CALLS_MIN} times ghz's \
         calls, and {ECHOES_MIN} times k6's messages with 10 in flight on each connection. With \
         one in flight it is {LIMIT_SHARE_MIN} of the limit. {}",
        paired::method(fixture),
        versions(&[Peer::Ghz, Peer::K6])?,
    );
    let question =
        "What does a call of gRPC cost beside ghz, and a message of WebSocket beside k6?";
    let mut section = Section::new("gRPC, WebSocket and event streams", question, method);
    streams(fixture, &mut section)?;
    let mut table = Table::default();
    let grpc_go = tools_dir()?.join("interop/grpc-go");
    if let Some(ghz) = Peer::Ghz.find().filter(|_| grpc_go.is_file()) {
        let what = format!("calls, {CALL_CONNECTIONS} conn. × 10");
        let paired = calls(fixture, &ghz, &grpc_go)?;
        add(&mut table, &what, Peer::Ghz, &paired);
        let ratio = paired.efficiency(1).median;
        section.must(ratio >= CALLS_MIN, || format!("{what}: {ratio:.2}, {CALLS_MIN} wanted"));
    }
    for in_flight in [1, 10] {
        let Some(k6) = Peer::K6.find() else { break };
        let what = format!("messages, {CONNECTIONS} conn. × {in_flight}");
        let paired = echoes(fixture, &k6, in_flight)?;
        add(&mut table, &what, Peer::K6, &paired);
        let ratio = paired.efficiency(1).median;
        let limit = paired.efficiency_limit(1);
        let wanted = if in_flight == 1 { LIMIT_SHARE_MIN * limit } else { ECHOES_MIN };
        section.must(ratio >= wanted, || format!("{what}: {ratio:.2}, {wanted:.2} wanted"));
    }
    section.verdict("Calls and messages per CPU-second of the client:");
    section.show(table.select(&["load", "client", "per CPU-second, ratio", "limit"]));
    section.table("", table);
    Ok(section)
}

/// Adds the rows of a program and weir.
fn add(table: &mut Table, what: &str, peer: Peer, paired: &Paired) {
    let limits = ["–".to_owned(), format!("{:.2}", paired.efficiency_limit(1))];
    for (at, name) in [peer.name(), "weir"].into_iter().enumerate() {
        table.add(&[
            ("load", &what),
            ("client", &name),
            ("per CPU-second, ratio", &paired.efficiency_cell(at)),
            ("limit", &limits[at]),
            ("µs CPU of each", &format!("{:.2}", paired.cost_us(at))),
            ("per second", &table::rate(paired.requests_per_second(at))),
        ]);
    }
}

/// Runs ghz and weir on the server in Go at `grpc_go`.
fn calls(fixture: &Fixture, ghz: &Path, grpc_go: &Path) -> Result<Paired> {
    let mut words = pinned(fixture.placement.server, grpc_go);
    words.extend(["--schema".into(), root()?.join(SCHEMA).into_os_string()]);
    words.extend(["--log".into(), fixture.directory.join("calls.jsonl").into_os_string()]);
    let mut server = Guarded::start(&words)?;
    let url = server.listening_url().context("failed to start grpc-go")?;
    let authority = url.trim_start_matches("http://");
    let seconds = fixture.options.seconds;
    let of_ghz = [
        format!(
            "--insecure --call {CALL} -d {CALL_BODY} -c {} --format json",
            CALL_CONNECTIONS * 10
        ),
        format!("--connections {CALL_CONNECTIONS} -z {seconds}s --duration-stop wait {authority}"),
    ];
    let of_weir = format!(
        "-t1 -c{CALL_CONNECTIONS} --streams 10 --grpc {CALL} -b {CALL_BODY} -d{seconds}s --warmup 0"
    );
    pair(fixture, Peer::Ghz, ghz, &of_ghz.join(" "), &of_weir, &url)
}

fn echoes(fixture: &Fixture, k6: &Path, in_flight: u32) -> Result<Paired> {
    let server = fixture.weir_serve()?;
    let url = server.url.replace("http://", "ws://");
    let seconds = fixture.options.seconds;
    let script = root()?.join(SCRIPT);
    let of_k6 = format!(
        "run --quiet --no-usage-report -e URL={url} -e BODY={BODY} -e CONNECTIONS={CONNECTIONS} \
         -e SECONDS={seconds} -e IN_FLIGHT={in_flight} {}",
        script.display()
    );
    let of_weir = format!(
        "-t1 -c{CONNECTIONS} --streams {in_flight} -b {BODY} -d{seconds}s --warmup 0 --no-preflight"
    );
    pair(fixture, Peer::K6, k6, &of_k6, &of_weir, &url)
}

/// Runs a program and weir in turn.
fn pair(
    fixture: &Fixture,
    peer: Peer,
    program: &Path,
    flags: &str,
    of_weir: &str,
    url: &str,
) -> Result<Paired> {
    let names = [peer.name().to_owned(), "weir".to_owned()];
    let run = |at: usize| match at {
        0 => {
            let mut words = pinned(fixture.placement.client, program);
            words.extend(flags.split_whitespace().map(OsString::from));
            let timed = clients::timed(&words, &[0])?;
            let printed = peer.read(&timed.stdout);
            ensure!(printed.errors.unwrap_or(0) == 0, "{}: {}", peer.name(), timed.stdout);
            let requests = printed.requests.filter(|requests| *requests > 0);
            let requests = requests.with_context(|| format!("no count in {}", timed.stdout))?;
            Ok(ClientRun::of(requests, &timed))
        }
        _ => {
            let (run, document) = fixture.timed_weir(of_weir, url)?;
            let failures = clients::failures(&document);
            ensure!(failures == 0, "{failures} requests of weir failed");
            Ok(run)
        }
    };
    Paired::run("messages", fixture.options.rounds, &names, run)
}

/// A thousand streams at once, a hundred new ones each second, in several runs: a stop of the
/// machine spoils one.
fn streams(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = Server::weir(&fixture.weir, fixture.placement.server, STREAMS)?;
    let mut table = Table::default();
    let mut lags = Vec::new();
    let mut shares = Vec::new();
    for run in 1..=fixture.span(5, 1) {
        let (cost, document) = fixture.timed_weir(STREAMS_LOAD, &server.url)?;
        let messages = document.messages.as_ref().context("no messages")?;
        let stamps = messages.stamps.as_ref().context("no time stamps")?;
        let p99_ms = |summary: &Summary| {
            let value = summary.percentile(99.0).context("too few requests for p99")?;
            anyhow::Ok(value.ns as f64 / 1e6)
        };
        let lag_ms = p99_ms(&document.latency.send_lag.ok)?;
        let share_ms = p99_ms(&stamps.gap_share.ok)?;
        table.add(&[
            ("run", &run),
            ("send lag, p99", &format!("{lag_ms:.3} ms")),
            ("client's share of a gap, p99", &format!("{share_ms:.3} ms")),
            (
                "events/s",
                &table::rate(document.results.messages.as_ref().map_or(0.0, |of| of.per_second)),
            ),
            ("client CPU", &cost.cpu()),
        ]);
        let failures = clients::failures(&document);
        section.must(failures == 0, || format!("run {run}: {failures} streams failed"));
        lags.push(lag_ms);
        shares.push(share_ms);
    }
    let lag_ms = median(&mut lags);
    let share_ms = median(&mut shares);
    section.must_if_quiet(lag_ms.max(share_ms) <= LATE_MAX_MS, || {
        format!("send lag {lag_ms:.3} ms, share of a gap {share_ms:.3} ms at p99")
    });
    section.verdict(format!(
        "With a thousand event streams at once, 100 new ones and 50,000 events each second, the \
         send lag is {lag_ms:.3} ms at p99, and the client's share of a gap {share_ms:.3} ms. \
         These are medians of {} runs; {LATE_MAX_MS} ms are allowed.",
        shares.len()
    ));
    section.table("A thousand event streams at once, 100 new ones each second:", table);
    Ok(())
}
