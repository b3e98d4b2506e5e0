//! The record of a random run: its document, the first of its slots one by one, and the requests
//! as the simulated server saw them. Nothing in it depends on the machine or on the time of day.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};
use weir_engine::{Control, Job, run_on};
use weir_io::Nanos;
use weir_result::{DocumentParts, Measurements, RawLog, RawRow, align_slices};
use weir_script::{Main, Mode, Options, WorkerState};
use weir_sim::{Sim, TrueRequest, Truth};

use crate::case::Case;

/// Greatest number of slots, and of requests at the server, that a record lists for each worker.
const ROWS_MAX: usize = 500;

/// Memory of the log of slots, enough for `ROWS_MAX` of them however late the log is read.
const LOG_BYTES: usize = 1 << 20;

/// Runs the random run of `seed` and returns its record.
pub(crate) fn record(seed: u64) -> Value {
    let Case { mut job, worlds, stop_at, script } = Case::new(seed);
    let mut parts = Vec::new();
    let mut workers = Vec::new();
    for (worker, world) in (0..).zip(worlds) {
        let (log, source) = RawLog::new(LOG_BYTES, 1);
        job.raw = Some(log.clone());
        let sim = Sim::new(world);
        let truth = sim.truth_handle();
        let control = Control::new(1, None);
        if stop_at < Nanos::MAX {
            control.stop_exactly_at(stop_at);
        }
        let mut script = script.as_deref().map(script_state);
        let rows = thread::spawn(move || {
            let mut rows = Vec::new();
            let received = source.receive(|chunk: &[RawRow]| {
                rows.extend(chunk.iter().take(ROWS_MAX - rows.len()).map(row));
                Ok::<(), ()>(())
            });
            received.map(|()| rows)
        });
        let measured = run_on(&job, worker, &control, sim, None, script.as_mut());
        parts.push(measured.expect("a simulated machine does not fail"));
        log.end();
        let rows = rows.join().expect("the reader does not panic").expect("it takes every row");
        let failure = control.script_failure().map(|failure| failure.error.to_string());
        let server = server(&truth.snapshot());
        workers.push(json!({ "rows": rows, "script_failure": failure, "server": server }));
    }
    json!({ "seed": seed, "document": document(seed, &job, parts), "workers": workers })
}

/// Assembles the document of all workers; returns the reason if their numbers do not add up.
fn document(seed: u64, job: &Job, mut parts: Vec<Measurements>) -> Value {
    align_slices(&mut parts);
    let mut measurements = Measurements::default();
    for part in &parts {
        measurements.merge(part);
    }
    if let Some(usage) = &mut measurements.script {
        // The garbage in a state depends on where the allocator puts its objects.
        usage.memory_max_bytes = 0;
    }
    let mut parts = DocumentParts::bare(job.plan.clone(), measurements);
    parts.given.run.id = seed.to_string();
    parts.beside.script_file = Some("random.lua".to_owned());
    let document = weir_verdict::assemble(parts);
    match document {
        Ok(document) => serde_json::to_value(document).expect("a document is JSON"),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Loads a script for one worker.
fn script_state(text: &str) -> WorkerState {
    let options = Options {
        file: PathBuf::from("random.lua"),
        source: Some(Arc::from(text.as_bytes())),
        url: "http://sim/".to_owned(),
        scheme: "http".to_owned(),
        host: "sim".to_owned(),
        port: None,
        path: "/".to_owned(),
        headers: Vec::new(),
        args: Vec::new(),
        sends_both_lengths: false,
        mode: Mode::ClosedLoop,
        memory_limit_bytes: 0,
        is_ipv4: None,
        calling: Arc::default(),
    };
    let mut main = Main::load(options).expect("the script is Lua");
    main.add_worker().expect("the script sets up");
    main.take_workers().pop().expect("one was added")
}

/// Returns a slot as it was logged; null for instants that did not occur.
fn row(row: &RawRow) -> Value {
    let instants = [
        row.intended_at,
        row.freed_at,
        row.sent_at,
        row.tx_at,
        row.first_byte_at,
        row.rx_at,
        row.ended_at,
    ];
    json!({
        "connection": (row.connection != RawRow::NO_CONNECTION).then_some(row.connection),
        "end": [row.phase.name(), row.outcome.name(), row.error_name(), row.status],
        "at": instants.map(|at| (at != RawRow::NEVER).then_some(at)),
    })
}

/// Returns what the simulated world recorded: its counts, and the first requests.
fn server(truth: &Truth) -> Value {
    let counts = &truth.counts;
    let requests: Vec<Value> = truth.requests.iter().take(ROWS_MAX).map(request).collect();
    json!({
        "connects": counts.connects.called,
        "connects_done": counts.connects.done,
        "sends_failed": counts.sends_failed,
        "closes_by_client": counts.closes.by_client,
        "sends_too_late": counts.sends_too_late,
        "bytes_to_server": counts.bytes_to_server,
        "bytes_to_client": counts.bytes_to_client,
        "open_max": counts.open_max,
        "waits": counts.waits,
        "events": counts.events,
        "received": truth.requests.len(),
        "requests": requests,
    })
}

fn request(request: &TrueRequest) -> Value {
    let TrueRequest { sent_at, received_at, delivered_at, .. } = request;
    json!({
        "connection": [request.conn.0, u32::from(request.generation)],
        "number": request.number,
        "at": [Some(sent_at.0), Some(received_at.0), delivered_at.map(|at| at.0)],
        "fate": format!("{:?}", request.fate),
    })
}
