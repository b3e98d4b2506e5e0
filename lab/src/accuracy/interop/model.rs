//! V42: a mock language model. A script computes the figures from the server's log alone, and
//! compares them with those that weir writes as JSON, text and HTML.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xtask::shell::{need_program, output, root};

use super::server::{ForeignServer, ServerKind};
use crate::rig::{Fixture, Section, seconds};

/// The script, from the root of the repository.
const SCRIPT: &str = "lab/src/accuracy/interop/model.py";

/// The first token after 200 ms and some, for one in twenty after four times that; gaps of 20 ms,
/// in one of ten streams of four times that.
const MODEL: &str = "--plain --events 30 60 --first-ms 200 --first-jitter-ms 30 --gap-ms 20 \
                     --gap-jitter-ms 4 --slow-first 0.05 --slow-gap 0.1 --cut 0.03";

/// The load, beside its window.
const LOAD: &str = "--sse --witness off -t1 -c200 -R25 --warmup 1s --drain 9s";

/// Limits of a good response, which the script knows too.
const GOODPUT: &str = "first < 500ms and gap p99 < 50ms";

const SEED: u64 = 42;

/// Errors planted into the log, each of which some row must notice.
const PLANTS: [&str; 4] =
    ["a lost token", "first tokens 3 ms later", "gaps 1% longer", "cut streams complete"];

/// A run in which the client could not run for longer is repeated: its goodput would not be judged.
/// Messages of so long before the window may be counted in it.
const STOP_MAX_NS: u64 = 10_000_000;
const TRIES_MAX: u32 = 6;

/// Files of a run.
const EXPORTS: [&str; 3] = ["json", "text", "html"];

/// Runs case V42 of METHOD 2.1.
pub(in crate::accuracy) fn model(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "a mock language model",
        "Do the time to the first token, gaps, tokens/s and goodput equal those computed from the \
         server's log, in JSON, text and HTML?",
        format!(
            "`{LOAD}` on a server that responds as `{MODEL}`. The server stamps each token before \
             and after its write; a percentile lies between those of both stamps, give or take \
             0.1% for the width of a bucket, plus the client's overhead that the document states \
             at that percentile. Printed figures may also be rounded. Counts are equal; within the \
             window, and of the goodput, they differ by no more than the messages as close to a \
             limit as the client's greatest share of a gap or longest stop, or by those in the \
             10 ms before the window. A run with a stop above 10 ms is repeated. Each error \
             planted into the log is noticed. If the client is stopped at random, no stated bound \
             is false."
        ),
    );
    let paths = EXPORTS.map(|format| fixture.directory.join(format!("model.{format}")));
    let mut tries = 1;
    let mut run = run(fixture, &paths)?;
    while run.stop_ns > STOP_MAX_NS && tries < TRIES_MAX {
        run = self::run(fixture, &paths)?;
        tries += 1;
    }
    let ModelRun { log, versions, stop_ns } = run;
    section.note(format!(
        "Run {tries} of at most {TRIES_MAX}, in which the client could not run for {} at most.",
        seconds(stop_ns as f64 / 1e9)
    ));
    let compare = |planted: Option<&str>| -> Result<Vec<Value>> {
        let mut script = Command::new(need_program("python3", "accuracy")?);
        script.arg(root()?.join(SCRIPT)).arg(STOP_MAX_NS.to_string());
        script.arg(&log).args(&paths).args(planted);
        let Value::Array(rows) = serde_json::from_str(&output(&mut script)?)? else {
            bail!("{SCRIPT} printed no rows");
        };
        Ok(rows)
    };
    for row in compare(None)? {
        add(&mut section, &row)?;
    }
    for planted in PLANTS {
        let noticed = compare(Some(planted))?.iter().filter(|row| !is_within(row)).count();
        let message = || format!("planted, and not noticed: {planted}");
        // With a client that could not run the limits are too wide.
        if stop_ns > STOP_MAX_NS {
            section.must_if_quiet(noticed > 0, message);
        } else {
            section.must(noticed > 0, message);
        }
        section.note(format!("Planted: {planted}. {noticed} figures disagree."));
    }
    super::stopped::compare(fixture, &mut section)?;
    section.note(format!("Server: {versions}."));
    Ok(section)
}

/// A run that has ended.
struct ModelRun {
    /// The server's log.
    log: PathBuf,
    versions: String,
    /// Longest time in which the client could not run.
    stop_ns: u64,
}

/// Makes a run, which leaves its result in these files.
fn run(fixture: &Fixture, paths: &[PathBuf; 3]) -> Result<ModelRun> {
    let server = ForeignServer { kind: ServerKind::Sse, flags: MODEL.to_owned(), seed: SEED };
    let running = server.start(fixture)?;
    let exports = EXPORTS.iter().zip(paths);
    let exports = exports.map(|(format, path)| format!("--export {format}={}", path.display()));
    let flags = format!(
        "{LOAD} -d{}s --tokens json:/choices/0/delta/content {}",
        fixture.span(20, 6),
        exports.collect::<Vec<_>>().join(" ")
    );
    let url = format!("{}/v1/chat/completions?id={{{{seq}}}}", running.url);
    // Flags are split at blanks, which a goodput has.
    let words = ["sh", "-c", "exec \"$@\" --goodput \"$0\"", GOODPUT];
    let client = fixture.start_weir_by(words.map(OsString::from).into(), &flags, &url)?;
    let usages = client.finish()?.phases.into_iter().map(|worker| worker.usage.gap_max_ns);
    let log = running.log.clone();
    let stop_ns = usages.max().unwrap_or(0);
    Ok(ModelRun { log, versions: running.finish()?.versions, stop_ns })
}

fn is_within(row: &Value) -> bool {
    row["is_within"].as_bool().unwrap_or(false)
}

/// Adds a compared figure.
fn add(section: &mut Section, row: &Value) -> Result<()> {
    let text = |name: &str| row[name].as_str().context("a row has no text");
    let figure = text("figure")?;
    let source = text("source")?;
    let unit = text("unit")?;
    let show = |name: &str| {
        let value = row[name].as_f64().unwrap_or(f64::NAN);
        match unit {
            "ns" => seconds(value / 1e9),
            "count" => format!("{value}"),
            _ => format!("{value:.4}"),
        }
    };
    let [value, low, high] = ["value", "low", "high"].map(show);
    section.row(&[
        ("figure", &figure),
        ("in", &source),
        ("weir", &value),
        ("log, least", &low),
        ("log, greatest", &high),
    ]);
    section.must(is_within(row), || format!("{figure} in {source}: {value}, {low} to {high}"));
    Ok(())
}
