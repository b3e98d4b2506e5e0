//! `weir URL`: plan, look, load, report.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use weir_engine::{Control, Job};
use weir_io::{Clock, Signal, Signals, Waker, system};
use weir_run::document::{BrokenInvariant, ClientUsage, DocumentParts, RunParts};
use weir_run::{Document, Measurements, Note, units};

use crate::args::{Format, RunArgs};
use crate::output::ResultFile;
use crate::plan::{Planned, plan};
use crate::preflight::{self, Found};
use crate::{environment, exit, live};

/// Bodies from here on are thrown away by the machine, unread.
const DISCARD_FROM_BYTES: u64 = 32 * 1024;

/// Runs the load.
///
/// # Errors
/// What is wrong with the command line, or with the machine before anything was measured.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let Planned { mut job, mut notes } = plan(args)?;
    if args.print_plan {
        let text = serde_json::to_string_pretty(&job.plan)?;
        printed(writeln!(io::stdout(), "{text}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.output.as_deref().map(ResultFile::at).transpose()?;
    let _as_it_was = system::raise_descriptor_limit();
    let found = look(args, &mut job, &mut notes);
    let signals = Signals::block().context("signals cannot be waited for")?;
    let epoch = Epoch::start();
    let outcome = carry_out(&job, &epoch, signals, args.quiet)?;
    notes.extend(gave_up(&job, &outcome));
    let document = document(&job, epoch, outcome.measurements, found, notes)?;
    // The file first: it is whole, and standard output may be gone.
    let written = file.map_or(Ok(()), |file| {
        let written = file.write(|mut out| weir_report::json::write(&document, &mut out));
        written.map_err(|error| NotWritten { place: "--output", error })
    });
    let printed = match args.quiet {
        true => Ok(()),
        false => print(&document, args.format, args.latency),
    };
    written.and(printed)?;
    Ok(exit::of_run(&document, outcome.signal))
}

/// The document was made, and could not be written to a place of the user's.
#[derive(Debug)]
pub(crate) struct NotWritten {
    place: &'static str,
    error: io::Error,
}

impl std::fmt::Display for NotWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be written: {}", self.place, self.error)
    }
}

impl std::error::Error for NotWritten {}

/// Prints a document on standard output.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(document: &Document, format: Format, spectrum: bool) -> Result<(), NotWritten> {
    let mut stdout = io::stdout().lock();
    let written = match format {
        Format::Json => weir_report::json::write(document, &mut stdout),
        Format::Text => {
            let options = weir_report::text::TextOptions {
                colour: stdout.is_terminal()
                    && std::env::var_os("NO_COLOR").is_none()
                    && !live::is_dumb(),
                spectrum,
                ..Default::default()
            };
            weir_report::text::write(document, &options, &mut stdout)
        }
    };
    printed(written.and_then(|()| stdout.flush()))
}

/// What came of writing to standard output.
fn printed(written: io::Result<()>) -> Result<(), NotWritten> {
    match written {
        // `weir … | head` has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| NotWritten { place: "standard output", error }),
    }
}

/// The preflight, unless it is not wanted or the method must not be sent once more.
fn look(args: &RunArgs, job: &mut Job, notes: &mut Vec<Note>) -> Found {
    if args.no_preflight || !preflight::is_safe(&job.plan.request.method) {
        return Found::default();
    }
    let found = preflight::look(job);
    if let Some(warning) = &found.warning {
        eprintln!("warning: {}", warning.text);
        notes.push(warning.clone());
    }
    let body_bytes = found.answer.as_ref().and_then(|answer| answer.body_bytes);
    job.discard = body_bytes.is_some_and(|bytes| bytes >= DISCARD_FROM_BYTES);
    found
}

/// The run's epoch on both clocks.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    clock: Clock,
    unix_ns: u64,
}

impl Epoch {
    fn start() -> Epoch {
        let clock = Clock::start();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Epoch { clock, unix_ns: u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// RFC 3339, in UTC.
    fn text(self) -> String {
        jiff::Timestamp::from_nanosecond(self.unix_ns.into())
            .map_or_else(|_| "unknown".to_owned(), |time| time.to_string())
    }
}

/// What came of a run.
struct Outcome {
    measurements: Measurements,
    signal: Option<Signal>,
}

/// What is to be said of a run that was to end with a number of requests and could not.
fn gave_up(job: &Job, outcome: &Outcome) -> Option<Note> {
    let plan = &job.plan;
    let never_sent = outcome.measurements.outcomes.never_sent;
    if plan.duration_ns.is_some() || outcome.signal.is_some() || never_sent == 0 {
        return None;
    }
    let patience = units::exact_duration(plan.timeout_ns + plan.connect_timeout_ns);
    Some(Note::new(
        "gave_up",
        format!("no answer came for {patience} (both timeouts together), so the run gave up"),
    ))
}

/// Runs the job, with a thread that waits for signals and one that draws progress.
fn carry_out(job: &Job, epoch: &Epoch, signals: Signals, quiet: bool) -> Result<Outcome> {
    let clock = epoch.clock;
    let waker = Waker::new().context("no descriptor is left: raise the limit (ulimit -n)")?;
    // The thread that waits for signals outlives the run: nothing ends its wait.
    let control = Arc::new(Control::new(job.plan.threads, Some(waker)));
    let received = Arc::new(OnceLock::new());
    let (to_stop, first) = (Arc::clone(&control), Arc::clone(&received));
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if first.set(signal).is_err() {
                eprintln!("\nabandoned without a report");
                std::process::exit(exit::of_signal(signal).into());
            }
            to_stop.stop(clock.now());
        }
    });
    let measurements = thread::scope(|scope| {
        if !live::is_wanted(quiet) {
            return weir_engine::run(job, clock, &control, None);
        }
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || live::follow(&job.plan, &receiver));
        weir_engine::run(job, clock, &control, Some(&sender))
    })?;
    Ok(Outcome { measurements, signal: received.get().copied() })
}

/// The document of a finished run.
fn document(
    job: &Job,
    epoch: Epoch,
    measurements: Measurements,
    found: Found,
    notes: Vec<Note>,
) -> Result<Document, BrokenInvariant> {
    let cpu = system::process_cpu_time().unwrap_or_default();
    let ns = |span: std::time::Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Document::assemble(DocumentParts {
        environment: environment::describe(job.plan.io, &job.endpoint, epoch.clock),
        plan: job.plan.clone(),
        measurements,
        run: RunParts {
            id: format!("{:016x}-{}", epoch.unix_ns, std::process::id()),
            epoch: epoch.text(),
            epoch_unix_ns: epoch.unix_ns,
            part: 1,
            parts: 1,
            command: Some(std::env::args().collect()),
        },
        preflight: found.answer,
        preflight_sent: found.sent,
        script_file: None,
        client: ClientUsage {
            cpu_user_ns: ns(cpu.user),
            cpu_system_ns: ns(cpu.system),
            max_resident_bytes: system::memory().map_or(0, |memory| memory.peak_bytes),
        },
        notes,
    })
}
