//! V42, its second table: a mock language model, and a client that is stopped at random. No bound
//! that weir states may be false, by the server's log.

use std::ffi::OsString;
use std::fs::File;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xtask::shell::{need_program, output, root};

use super::draw::Draw;
use super::server::{ForeignServer, ServerKind};
use crate::rig::{Fixture, Section, freeze, seconds};

const SCRIPT: &str = "lab/src/accuracy/interop/stopped.py";

/// Seed of the first run; each further run has the next one.
const FIRST_SEED: u64 = 42_000;

/// Warm-up and window, in which the client is stopped.
const LOADED: Duration = Duration::from_millis(3500);
const LOAD: &str = "--sse --witness off -t1 --warmup 500ms -d3s --drain 9s";

/// A run as it is drawn.
struct StoppedRun {
    model: String,
    load: String,
    first_limit_ms: u64,
    gap_limit_ms: u64,
    /// Longest stop, and longest time from one to the next.
    stop_max_ms: u64,
    apart_max_ms: u64,
}

impl StoppedRun {
    fn of(draw: &mut Draw) -> StoppedRun {
        let gap_ms = draw.number(3, 25);
        let slow_gap = draw.choice(&["0", "0.1", "0.5", "1"]);
        let model = format!(
            "--plain --events 10 40 --first-ms 20 --first-jitter-ms {} --gap-ms {gap_ms} \
             --gap-jitter-ms {} --slow-first 0.05 --slow-gap {slow_gap} --cut 0",
            draw.number(1, 30),
            draw.number(0, 4),
        );
        StoppedRun {
            model,
            load: format!("-c200 -R{}", draw.number(5, 40)),
            // Half of the conditions rest on gaps alone.
            first_limit_ms: draw.choice(&[60, 100, 10_000, 10_000]),
            gap_limit_ms: gap_ms * draw.number(1, 5) + draw.number(1, 5),
            stop_max_ms: draw.choice(&[5, 20, 50, 150, 500]),
            apart_max_ms: draw.choice(&[60, 120, 400, 1500]),
        }
    }
}

/// RandomStops of a run.
#[derive(Default)]
struct RandomStops {
    count: u64,
    total_s: f64,
}

/// Adds the runs with stops to the case.
pub(super) fn compare(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let runs = fixture.runs(40, 4);
    section.begin_table(
        "A client that is stopped at random (SIGSTOP): percentiles up to p99 of the first token \
         and of gaps, and the goodput. A figure without a bound is exact to 5%, or 100 µs.",
    );
    let mut stated = 0;
    let mut wrong = 0;
    let mut noticed = 0;
    for seed in (FIRST_SEED..).take(runs) {
        let mut draw = Draw::of(seed);
        let run = StoppedRun::of(&mut draw);
        let server = ForeignServer { kind: ServerKind::Sse, flags: run.model.clone(), seed };
        let running = server.start(fixture)?;
        let log = running.log.clone();
        let stops = load(fixture, &run, &running.url, &mut draw)?;
        running.finish().with_context(|| format!("seed {seed}"))?;
        let judge = |planted: Option<&str>| rows(fixture, &run, &log, planted);
        let figures = judge(None).with_context(|| format!("seed {seed}"))?;
        let bounds = |names: &[&str]| {
            let is_one = |row: &&Value| names.iter().any(|name| row["bound"] == *name);
            figures.iter().filter(is_one).count()
        };
        let falsehoods: Vec<&Value> = figures.iter().filter(|row| !is_true(row)).collect();
        stated += figures.len();
        wrong += falsehoods.len();
        noticed += usize::from(judge(Some("longer"))?.iter().any(|row| !is_true(row)));
        section.row(&[
            ("seed", &seed),
            ("stops", &stops.count),
            ("stopped for", &seconds(stops.total_s)),
            ("exact", &bounds(&["exact"])),
            ("≤ or ≥", &bounds(&["upper", "lower"])),
            ("unknown", &bounds(&["unknown"])),
            ("false", &falsehoods.len()),
        ]);
        section.fail(falsehoods.iter().map(|row| format!("seed {seed}: {row}")));
    }
    section.must(noticed * 2 >= runs, || format!("longer gaps are noticed in {noticed} of {runs}"));
    section.note(format!("Planted: gaps 30% longer. {noticed} of the {runs} runs disagree."));
    section.verdict(format!("{wrong} of {stated} figures are false."));
    Ok(())
}

fn is_true(row: &Value) -> bool {
    row["is_true"].as_bool().unwrap_or(false)
}

/// Makes a run with its stops, which leaves its document in the fixture's directory.
fn load(fixture: &Fixture, run: &StoppedRun, url: &str, draw: &mut Draw) -> Result<RandomStops> {
    let goodput = format!("first < {}ms and gap p99 < {}ms", run.first_limit_ms, run.gap_limit_ms);
    let flags = format!("{LOAD} {} --tokens json:/choices/0/delta/content", run.load);
    let url = format!("{url}/v1/chat/completions?id={{{{seq}}}}");
    // Flags are split at blanks, which a goodput has.
    let words = ["sh", "-c", "exec \"$@\" --goodput \"$0\"", &goodput];
    let client = fixture.start_weir_by(words.map(OsString::from).into(), &flags, &url)?;
    let begin = Instant::now();
    let mut stops = RandomStops::default();
    loop {
        thread::sleep(Duration::from_millis(draw.number(10, run.apart_max_ms)));
        if begin.elapsed() >= LOADED {
            break;
        }
        let length = Duration::from_millis(draw.number(1, run.stop_max_ms));
        stops.total_s += freeze(client.pid(), length)?.0;
        stops.count += 1;
    }
    let document = client.finish()?;
    let file = File::create(fixture.directory.join("stopped.json"))?;
    serde_json::to_writer(file, &document).context("failed to write a document")?;
    Ok(stops)
}

/// Returns the figures of the run as the script compares them.
fn rows(
    fixture: &Fixture,
    run: &StoppedRun,
    log: &std::path::Path,
    planted: Option<&str>,
) -> Result<Vec<Value>> {
    let mut script = Command::new(need_program("python3", "accuracy")?);
    script.arg(root()?.join(SCRIPT)).arg(log).arg(fixture.directory.join("stopped.json"));
    script.args([run.first_limit_ms, run.gap_limit_ms].map(|ms| (ms * 1_000_000).to_string()));
    script.args(planted);
    let Value::Array(rows) = serde_json::from_str(&output(&mut script)?)? else {
        bail!("{SCRIPT} printed no rows");
    };
    Ok(rows)
}
