//! A load by the flags of wrk or wrk2, reported as they report it. What they would not say, weir
//! says on standard error.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use weir_engine::Extras;
use weir_io::{Endpoint, system};
use weir_report::dialect::{self, Head, Lines};
use weir_run::document::ConnectionFailure;
use weir_run::{FailurePhase, Histogram, Load, Note, Rate};

use super::args::CompatArgs;
use super::{Dialect, reach};
use crate::args::{RunArgs, Warmup};
use crate::exit;
use crate::figures::figures;
use crate::interrupts::Interrupts;
use crate::live::Intervals;
use crate::load::{Epoch, carry_out, document};
use crate::plan::{Planned, plan_at};
use crate::preflight::Found;
use crate::script;
use crate::target::Url;

const SECOND_NS: u64 = 1_000_000_000;

/// When wrk2 prints its lines on calibration.
const CALIBRATION_S: u64 = 10;

/// How often the rate of a thread is sampled.
const SAMPLING_MS: u64 = 100;

/// Runs the load.
///
/// # Errors
/// What keeps it from being run, or its results from being printed.
pub(super) fn run(dialect: Dialect, args: &CompatArgs, is_judged: bool) -> Result<ExitCode> {
    let url = url(&args.url)?;
    let wish = wish(args)?;
    let Planned { mut job, mut scripts, notes } = plan_at(&wish, &url, reach::reach)?;
    if let (true, Endpoint::Tcp(address)) = (scripts.is_some(), &job.endpoint) {
        reach::first_of(&url, [*address])?;
    }
    job.late_answers = true;
    job.extras = Extras { thread_rates: true, batch_times: args.batch };
    if job.tls.is_some() {
        warn("the server's certificate is not verified, as in wrk; weir's own form verifies it");
    }
    for note in &notes {
        warn(&note.text);
    }
    let _as_it_was = system::raise_descriptor_limit();
    let interrupts = Interrupts::await_signals()?;
    let epoch = Epoch::start();
    let job = Arc::new(job);
    print(|out| dialect::write_head(&head(args), out))?;
    let calibrates = dialect == Dialect::Wrk2 && args.duration_s > CALIBRATION_S;
    let watch = calibrates.then_some(calibrate);
    let outcome = carry_out(&job, &epoch, &interrupts, scripts.as_mut(), watch)?;
    let document = document(&job, epoch, &outcome, Found::default(), None, Vec::new())?;
    let figures = figures(&document, &outcome.measurements, args.batch);
    let lines = Lines { latency: args.latency, uncorrected: args.uncorrected };
    print(|out| dialect::write_results(printed(dialect), &figures, &lines, out))?;
    let has_failed = !outcome.failures.is_empty();
    for note in doubts(&job.plan, &outcome.measurements, has_failed) {
        warn(&note.text);
    }
    if is_judged {}
    for failure in &outcome.failures {
        script::tell(failure);
    }
    if let Some(scripts) = &mut scripts {
        scripts.finish(outcome.states, &figures)?;
        print(|_| Ok(()))?;
    }
    Ok(exit::of_compat_run(!outcome.failures.is_empty()))
}

/// The URL, without the user's name, which wrk does not send either.
pub(super) fn url(text: &str) -> Result<Url> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    Url::parse(&format!("{scheme}://{host}{path}"))
}

/// The same load in weir's own words.
pub(super) fn wish(args: &CompatArgs) -> Result<RunArgs> {
    let narrow = |number: u64, flag| {
        u32::try_from(number).map_err(|_| anyhow!("invalid {flag}: {number} is too many"))
    };
    // wrk's scripts set the length by the body, and none is sent here without a script.
    let headers = args.headers.iter().filter(|(name, _)| name != "Content-Length");
    let rate = args.rate.map(|rate| Rate { numerator: rate, denominator: 1 });
    let mut words = vec![args.url.clone()];
    words.extend_from_slice(&args.script_args);
    Ok(RunArgs {
        words,
        threads: Some(narrow(args.threads, "--threads")?),
        connections: narrow(args.connections, "--connections")?,
        duration: Some(args.duration_s * SECOND_NS),
        rate,
        warmup: Some(Warmup { span_ns: 0, is_auto: false }),
        headers: headers.map(|(name, value)| format!("{name}: {value}")).collect(),
        timeout: args.timeout_ms * 1_000_000,
        no_preflight: true,
        script: args.script.clone(),
        insecure: true,
        ..RunArgs::defaults()
    })
}

fn head(args: &CompatArgs) -> Head {
    Head {
        duration_s: args.duration_s,
        url: args.url.clone(),
        threads: args.threads,
        connections: args.connections,
    }
}

fn printed(dialect: Dialect) -> dialect::Dialect {
    match dialect {
        Dialect::Wrk => dialect::Dialect::Wrk,
        Dialect::Wrk2 => dialect::Dialect::Wrk2,
    }
}

/// Prints wrk2's line for each thread at the time when wrk2 prints it. weir has nothing to
/// calibrate and throws nothing away; the figures are those of the time so far.
fn calibrate(intervals: &Intervals) {
    let mut so_far: BTreeMap<u32, Histogram> = BTreeMap::new();
    while let Ok(Some((worker, interval))) = intervals.recv() {
        let times = so_far.entry(worker).or_default();
        times.add_sparse(&interval.latency);
        let end_ns = interval.start_ns.saturating_add_unsigned(interval.length_ns);
        if end_ns == (CALIBRATION_S * SECOND_NS) as i64 {
            let mean_ns = times.mean_ns().unwrap_or(0.0) as u64;
            // Whether anybody reads it will show when the results are printed.
            let _gone = print(|out| dialect::write_calibration(mean_ns, SAMPLING_MS, out));
        }
    }
}

/// What makes the figures doubtful, or easy to misread.
fn doubts(
    plan: &weir_run::Plan,
    measurements: &weir_run::Measurements,
    has_failed: bool,
) -> Vec<Note> {
    let mut notes = script::notes(plan, measurements, has_failed);
    let outcomes = &measurements.outcomes;
    let unanswered = outcomes.in_flight_at_end + outcomes.timed_out;
    if unanswered > 0 {
        let text = format!(
            "not answered by the end: {unanswered} requests, which are in the latencies with the \
             time they had waited"
        );
        notes.push(Note::new("unanswered", text));
    }
    if outcomes.never_sent > 0 {
        let text = format!(
            "never sent, as no connection was free: {} planned requests, which are in the \
             latencies with the time they had waited",
            outcomes.never_sent
        );
        notes.push(Note::new("never_sent", text));
    }
    let connections = &measurements.connections;
    for (kind, count) in &connections.failures {
        if kind.phase == FailurePhase::Connect {
            let why = ConnectionFailure::of(*kind, *count).text;
            let text = format!("{count} attempts to connect failed: {why}");
            notes.push(Note::new("connect_failed", text));
        }
    }
    if connections.open_at_t0 < connections.asked {
        let (open, asked) = (connections.open_at_t0, connections.asked);
        let text = format!("only {open} of {asked} connections were open when the run began");
        notes.push(Note::new("fewer_connections", text));
    }
    if let (Load::OpenLoop { rate, .. }, Some(duration_ns)) = (plan.load, plan.duration_ns) {
        let planned = rate.rps() * duration_ns as f64 / 1e9;
        let sent = measurements.window.sent as f64;
        if sent < 0.99 * planned && !measurements.interrupted {
            let share = 100.0 * sent / planned;
            let text = format!("only {share:.1}% of the planned rate was sent within the run");
            notes.push(Note::new("rate_missed", text));
        }
    }
    notes
}

fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// Writes to standard output, behind what scripts have printed; a reader who has gone has what it
/// wanted.
fn print(write: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>) -> Result<()> {
    let before = system::flush_c_stdout();
    let mut out = io::stdout().lock();
    match before.and_then(|()| write(&mut out)).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written")
        }
        _ => Ok(()),
    }
}
