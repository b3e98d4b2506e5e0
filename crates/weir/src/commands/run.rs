//! `weir URL`: plan, preflight, load, report.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use weir_engine::Job;
use weir_io::system;
use weir_result::document::{Probed, ProveClientSection, Trials};
use weir_result::{Assertion, AssertionResult, Document, Note, Plan, units};

use crate::args::{Form, Format, RunArgs, WitnessChoice};
use crate::connections;
use crate::errors::NotWritten;
use crate::figures::figures;
use crate::interrupts::Interrupts;
use crate::load::{Epoch, Outcome, carry_out, document};
use crate::output::{ResultFile, Temporaries, check_distinct};
use crate::parts;
use crate::plan::{Planned, plan, usable_cpus};
use crate::preflight::{self, Found};
use crate::probe;
use crate::raw::{self, RawFile, RawRun};
use crate::redaction::Redaction;
use crate::screen::Screen;
use crate::script::{self, Scripts};
use crate::server_wait::ServerWait;
use crate::trials::{prove_client, selfcheck};
use crate::witness::{self, Witness};
use crate::{exit, live, terminal};

/// Body size, in bytes, from which the kernel discards bodies unread.
const DISCARD_FROM_BYTES: u64 = 32 * 1024;

/// Runs the load.
///
/// # Errors
/// When the command line is wrong, or the machine fails before anything was measured.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    if args.words.is_empty() {
        return selfcheck::run_alone(args);
    }
    let Planned { mut job, mut scripts, mut notes, redaction } = plan(args)?;
    if args.prove_client {
        prove_client::is_provable(args, &job.plan)?;
    }
    if args.print_plan {
        return print_plan(&job.plan);
    }
    parts::check_start(args.start_at)?;
    check_machine(&job, scripts.is_some())?;
    let interrupts = Interrupts::await_signals()?;
    let temporaries = interrupts.temporaries();
    let files = Files::at(args, temporaries)?;
    let raw = args.raw.as_deref().map(|path| RawFile::at(path, temporaries)).transpose()?;
    let found = look(args, &mut job, scripts.as_ref(), &redaction, &mut notes)?;
    let floor = args.selfcheck.then(|| selfcheck::measure(&job, &interrupts)).transpose()?;
    if let Some(signal) = interrupts.received() {
        terminal::say("interrupted before the load: nothing was measured");
        return Ok(exit::of_signalled(signal));
    }
    let probed = probed(&job, &found, scripts.as_ref(), &interrupts);
    let epoch = Epoch::start();
    let raw = raw.map(|file| file.start(job.plan.own_threads())).transpose()?;
    job.raw = raw.as_ref().map(RawRun::log);
    job.extras.round_trips = !args.no_preflight;
    job.not_before = epoch.at_unix(args.start_at.unwrap_or(0));
    let job = Arc::new(job);
    let plan = &job.plan;
    let watch = live::is_wanted(args.quiet)
        .then_some(|intervals: &live::Intervals| live::follow(plan, intervals));
    let witness = has_witness(args, &job, scripts.as_ref())
        .then(|| Witness::start(&job, epoch.clock))
        .flatten();
    let mut outcome = carry_out(&job, &epoch, &interrupts, scripts.as_mut(), watch)?;
    outcome.probe = probed;
    outcome.witness = witness.and_then(Witness::finish);
    let proof = args.prove_client.then(|| proven(&job, &outcome, &interrupts, &mut notes));
    outcome.trials = Trials { selfcheck: floor.flatten(), prove_client: proof.flatten() };
    notes.extend(remarks(&job, &outcome, found.answer.is_some()));
    let no_server = connections::no_server(args, &job, &outcome, &mut notes);
    let raw = raw.map(|raw| raw.finish(plan, &epoch, &outcome.measurements)).transpose();
    notes.extend(raw.as_ref().ok().and_then(|raw| raw::note(raw.as_ref()?)));
    let script_file = scripts.as_ref().map(Scripts::file);
    let mut document = document(&job, epoch, &outcome, found, script_file, notes, &redaction)?;
    let raw_written = raw.map(|raw| document.raw.extend(raw));
    document.assertions = judged(&args.assertions, args.assert_confidence, &document);
    // Files first, because standard output may be closed.
    let written = files.write(&document);
    let shown = match args.is_silent() {
        true => Ok(()),
        false => print(&document, &args.form()),
    };
    raw_written.map_err(|error| NotWritten { place: "--raw", error }).and(written).and(shown)?;
    tell(no_server.as_ref(), &outcome);
    if let Some(scripts) = &mut scripts {
        let figures = figures(&document, &outcome.measurements, false);
        interrupts.reported();
        scripts.finish(outcome.states, &figures)?;
        terminal::print(|_| Ok(()))?;
    }
    let signal = interrupts.received().filter(|_| !outcome.is_drain_cut);
    Ok(match outcome.failures.is_empty() {
        true => exit::of_run(&document, signal, args.strict),
        false => exit::of_script(),
    })
}

/// Checks that this machine has the addresses and descriptors for the load.
fn check_machine(job: &Job, has_scripts: bool) -> Result<()> {
    connections::check_sources(job)?;
    match system::raise_descriptor_limit() {
        Ok(limit) => connections::check_descriptors(&job.plan, has_scripts, limit),
        Err(_unknown) => Ok(()),
    }
}

/// Evaluates the assertions on a document.
pub(crate) fn judged(
    assertions: &[Assertion],
    confidence: Option<f64>,
    document: &Document,
) -> Vec<AssertionResult> {
    let claims = assertions.iter().cloned().map(|claim| claim.with_confidence(confidence));
    claims.map(|claim| claim.judge(document)).collect()
}

fn print_plan(plan: &Plan) -> Result<ExitCode> {
    let text = serde_json::to_string_pretty(plan)?;
    let text = weir_report::json::escaped(text);
    terminal::print(|out| writeln!(out, "{text}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the one-connection probe, if the target may be probed: the preflight received a response,
/// so the request may be repeated, and all threads connect to the same address.
fn probed(job: &Job, found: &Found, scripts: Option<&Scripts>, interrupts: &Interrupts) -> Probed {
    let goes_there = scripts.is_none_or(|scripts| scripts.goes_to(&job.endpoint));
    match found.answer.is_some() && goes_there {
        true => probe::run(job, interrupts),
        false => Probed::default(),
    }
}

/// Prints the errors of a run that was reported.
fn tell(no_server: Option<&Note>, outcome: &Outcome) {
    if let Some(note) = no_server {
        terminal::say(format_args!("error: {}", note.text));
    }
    for failure in &outcome.failures {
        script::tell(failure);
    }
}

/// True if a witness runs. It sends the plan's request, which a script may never send.
fn has_witness(args: &RunArgs, job: &Job, scripts: Option<&Scripts>) -> bool {
    let is_wanted = match args.witness {
        WitnessChoice::Auto => witness::is_useful(job),
        WitnessChoice::On => true,
        WitnessChoice::Off => false,
    };
    is_wanted && scripts.is_none()
}

/// The files that are written after the run.
struct Files {
    output: Option<ResultFile>,
    junit: Option<ResultFile>,
}

impl Files {
    /// Prepares the files that the flags name, which must be distinct.
    fn at(args: &RunArgs, temporaries: &Temporaries) -> Result<Files> {
        check_distinct(&[
            ("--output", args.output_place()),
            ("--raw", args.raw.as_deref()),
            ("--junit", args.junit.as_deref()),
        ])?;
        let at = |flag, path: Option<&Path>| {
            path.map(|path| ResultFile::at(flag, path, temporaries)).transpose()
        };
        let output = at("--output", args.output_file())?;
        Ok(Files { output, junit: at("--junit", args.junit.as_deref())? })
    }

    /// Writes all files, even if one fails.
    fn write(self, document: &Document) -> Result<(), NotWritten> {
        let output = self.output.map_or(Ok(()), |file| {
            let written = file.write(|mut out| weir_report::json::write(document, &mut out));
            written.map_err(|error| NotWritten { place: "--output", error })
        });
        output.and(self.junit.map_or(Ok(()), |file| write_junit(document, file)))
    }
}

/// Writes the results of the document's assertions as JUnit XML.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_junit(document: &Document, file: ResultFile) -> Result<(), NotWritten> {
    let written = file.write(|mut out| weir_report::junit::write(document, &mut out));
    written.map_err(|error| NotWritten { place: "--junit", error })
}

/// Prints a document on standard output, after any output of scripts.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(document: &Document, form: &Form) -> Result<(), NotWritten> {
    terminal::print(|out| match form.format {
        Format::Json => weir_report::json::write(document, out),
        Format::Text => {
            let screen = Screen::of_stdout();
            let options = weir_report::text::TextOptions {
                colour: screen.colour,
                width: screen.width,
                histogram: screen.histogram,
                spectrum: form.spectrum,
                verdict: form.verdict,
                rules: form.rules,
                verbose: form.verbose,
            };
            weir_report::text::write(document, &options, out)
        }
    })
}

/// Runs the preflight, unless it is disabled. It sends no request if the method is not safe or only
/// the script creates requests. The TLS handshake is checked in any case.
///
/// # Errors
/// When no load is possible: the certificate is refused, the server does not support TLS, or it is
/// unreachable.
fn look(
    args: &RunArgs,
    job: &mut Job,
    scripts: Option<&Scripts>,
    redaction: &Redaction,
    notes: &mut Vec<Note>,
) -> Result<Found> {
    let wait = ServerWait::new(args);
    if args.no_preflight && !wait.is_wanted() {
        return Ok(Found::default());
    }
    let is_known = scripts.is_none_or(|scripts| !scripts.makes_requests());
    let is_safe = preflight::is_safe(&job.plan.request.method);
    let mut found = preflight::look(job, is_known && is_safe && !args.no_preflight, &wait)?;
    redaction.found(&mut found);
    if let Some(warning) = &found.warning {
        terminal::say(format_args!("warning: {}", warning.text));
        notes.push(warning.clone());
    }
    let body_bytes = found.answer.as_ref().and_then(|answer| answer.body_bytes);
    job.discard = body_bytes.is_some_and(|bytes| bytes >= DISCARD_FROM_BYTES);
    Ok(found)
}

/// Runs `--prove-client` after the load. Its failure becomes a note and does not affect the load's
/// result.
fn proven(
    job: &Job,
    outcome: &Outcome,
    interrupts: &Interrupts,
    notes: &mut Vec<Note>,
) -> Option<ProveClientSection> {
    if interrupts.received().is_some() || outcome.is_unconnected {
        return None;
    }
    prove_client::prove(job, interrupts).unwrap_or_else(|error| {
        notes.push(Note::new("prove_client_failed", format!("--prove-client failed: {error:#}")));
        None
    })
}

/// Notes attached to the finished run.
pub(crate) fn remarks(job: &Job, outcome: &Outcome, has_looked: bool) -> Vec<Note> {
    let has_failed = !outcome.failures.is_empty();
    let mut notes: Vec<Note> = gave_up(job, outcome).into_iter().collect();
    notes.extend(script::notes(&job.plan, &outcome.measurements, has_failed));
    notes.extend(mostly_errors(outcome, has_looked));
    notes.extend(connections::out_of_ports(&job.plan, &outcome.measurements));
    notes.extend(connections::short_lifetime(&job.plan, &outcome.measurements));
    notes.extend(connections::crowding(&job.plan, usable_cpus().len(), &outcome.measurements));
    notes.extend(of_trials(outcome.trials));
    notes.extend(parts::started_late(job, &outcome.measurements));
    for failure in &outcome.failures {
        notes.push(Note::new("script_failed", script::describe(failure)));
    }
    notes
}

/// Notes on the short runs beside the load.
fn of_trials(trials: Trials) -> impl Iterator<Item = Note> {
    let floor = trials.selfcheck.map(|floor| selfcheck::describe(&floor));
    let proof = trials.prove_client.map(|proof| prove_client::describe(&proof));
    let floor = floor.map(|text| Note::new("noise_floor", text));
    floor.into_iter().chain(proof.map(|text| Note::new("prove_client", text)))
}

/// The note on a run whose responses are mostly errors, unless the preflight received a response.
fn mostly_errors(outcome: &Outcome, has_looked: bool) -> Option<Note> {
    let outcomes = &outcome.measurements.outcomes;
    if has_looked || outcomes.bad_response <= outcomes.ok {
        return None;
    }
    let answered = outcomes.ok + outcomes.bad_response;
    let text = format!(
        "{} of {} responses have a status of 400 or above: the latencies are those of errors",
        units::count(outcomes.bad_response),
        units::count(answered),
    );
    Some(Note::new("mostly_errors", text))
}

/// The note on a run that gave up before its number of requests.
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
