//! `weir URL` and `weir --spec FILE`: flags or a file to a specification, the run, the report.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use weir_report::{Annotation, TextOptions, exporters, json, markdown};
use weir_result::document::Grade;
use weir_result::study::Hooks;
use weir_result::{AssertionResult, Document, Plan};
use weir_runner::{
    BodySpec, DATA_MAX_BYTES, Finished, InterruptStage, PreparedRun, RawOutput, RunSpec, read_input,
};
use weir_verdict::Assertion;

use super::study::consent;
use super::{debug, secrets, selfcheck};
use crate::args::{PrintForm, ResultArgs, RunArgs};
use crate::errors::NotWritten;
use crate::github::StepSummary;
use crate::history::Saving;
use crate::interrupts::SignalState;
use crate::live::Lines;
use crate::observers::Observers;
use crate::output::{ExportFiles, Outputs, ResultFile, Temporaries, check_distinct, is_stdout};
use crate::screen::on_stdout;
use crate::terminal::{self, shown};
use crate::{exit, runner};

/// Runs the load.
///
/// # Errors
/// When the command line is wrong, or the machine fails before anything was measured.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let spec = match &args.spec_file {
        Some(file) => of_file(file, args)?,
        None => args.spec(std::env::args_os()),
    };
    if args.print_spec {
        return terminal::print_json(serde_json::to_string_pretty(&spec.redacted()))
            .map(|()| ExitCode::SUCCESS);
    }
    let has_target = args.spec.target.url().is_some() || args.spec.list.from.is_some();
    if args.spec_file.is_none() && !has_target {
        return selfcheck::run(args, &spec);
    }
    if let Some(row) = args.debug {
        print_unwritten("--debug runs no load", &args.result);
        return debug::run(&spec, row);
    }
    let mut observers = Observers::of(&args.result, &spec.tls)?;
    let summary = StepSummary::of(args.result.verdict.github)?;
    let rows = args.result.rows().map(|(_, path)| path);
    // A fleet has a thread of its own, which a signal must not reach.
    let interrupts = SignalState::await_signals()?;
    let runner = runner::chosen(runner::of(&spec), &args.fleet, rows)?;
    let prepared = runner.prepare(&spec, &mut observers.all)?;
    if args.print_plan {
        print_unwritten("--print-plan sends nothing", &args.result);
        return print_plan(&*prepared);
    }
    let place = match args.fleet.agents {
        Some(_) => RowsPlace::Agents,
        None => RowsPlace::Here,
    };
    carry_out(&args.result, prepared, place, &interrupts, &summary, &mut observers)
}

/// Says which flags of the result have no effect, and `why`, so that a whole command line can be
/// tried without a load.
fn print_unwritten(why: &str, result: &ResultArgs) {
    let has_files = result.document_places().next().is_some()
        || result.rows().is_some()
        || !result.exports().is_empty();
    let unwritten = [
        ("no file is written", has_files),
        ("nothing is saved", result.output.saved.save.is_some()),
        ("--quiet has no effect", result.output.quiet),
    ];
    let unwritten: Vec<&str> =
        unwritten.into_iter().filter_map(|(text, is_given)| is_given.then_some(text)).collect();
    if !unwritten.is_empty() {
        let text = unwritten.join(", ");
        terminal::eprint_line(format_args!("note: {why}: {text}"));
    }
}

/// Prints the plan as JSON, with the first requests of a list.
fn print_plan(prepared: &dyn PreparedRun) -> Result<ExitCode> {
    let mut plan = serde_json::to_value(prepared.plan())?;
    let first = prepared.first_requests();
    if !first.is_empty() {
        plan["first_requests"] = first.into();
    }
    terminal::print_json(serde_json::to_string_pretty(&plan))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the specification of `--spec`, and adds the values that the flags give.
///
/// # Errors
/// When it cannot be read, lacks a value, or names a command that the user has not allowed.
fn of_file(file: &Path, args: &RunArgs) -> Result<RunSpec> {
    let place = || format!("--spec {}", shown(file));
    let read = || {
        let path = if is_stdout(file) { Path::new("/dev/stdin") } else { file };
        let text = read_input("--spec", path, DATA_MAX_BYTES)?;
        RunSpec::from_json(&text).map_err(anyhow::Error::from).with_context(place)
    };
    let mut spec = read()?;
    let named = consent::of_run(&spec);
    let is_quiet = args.result.output.quiet;
    consent::check(file, &named, &args.consent(), &Hooks::default(), is_quiet)?;
    check_body(&spec, args.run_commands).with_context(place)?;
    secrets::restore(&mut spec, &args.secrets()).with_context(place)?;
    if spec.command.is_none() {
        spec.set_command(std::env::args_os());
    }
    Ok(spec)
}

/// Checks that a stranger's file sends no file of this machine: only one whose digest it has, or
/// that the user allows.
///
/// # Errors
/// When the body is another file.
fn check_body(spec: &RunSpec, is_allowed: bool) -> Result<()> {
    match &spec.request.body {
        Some(BodySpec::File(file)) if file.sha256.is_none() && !is_allowed => {
            let name = shown(&file.path);
            bail!("it sends the content of {name} to the server; to allow it, add --run-commands")
        }
        _ => Ok(()),
    }
}

/// The machines on which the rows of requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsPlace {
    Here,
    Agents,
}

/// Carries out a planned run, with the place of its rows, and reports it, as the flags say.
///
/// # Errors
/// When the machine fails before anything was measured, or a result cannot be written.
pub(crate) fn carry_out(
    args: &ResultArgs,
    prepared: Box<dyn PreparedRun>,
    rows_place: RowsPlace,
    interrupts: &SignalState,
    summary: &StepSummary,
    observers: &mut Observers,
) -> Result<ExitCode> {
    check_names(&args.verdict.assertions, prepared.plan())?;
    let files = Files::at(args, rows_place, &interrupts.temporaries)?;
    let saving = Saving::of(&args.output.saved, args.output.quiet)?;
    observers.start()?;
    let mut raw = files.rows.as_ref().map(|rows| rows.begin_rows(RawOutput::of_run)).transpose()?;
    let finished = prepared.run(&interrupts.runs, raw.as_mut(), &mut observers.all)?;
    let rows = raw.map_or(Ok(()), RawOutput::finish);
    let lines = observers.lines.as_ref();
    let code = report(args, finished, rows, files, summary, saving.as_ref(), lines);
    if code.is_ok() {
        observers.await_scrapers(interrupts);
    }
    code
}

/// Reports a run: writes its files, prints it, saves it, and calls the `done()` of its script.
fn report(
    args: &ResultArgs,
    mut finished: Finished,
    rows: io::Result<()>,
    files: Files,
    summary: &StepSummary,
    saving: Option<&Saving>,
    lines: Option<&Lines>,
) -> Result<ExitCode> {
    let verdict = &args.verdict;
    let strict = args.verdict.grade.strict;
    finished.document.assertions =
        judged(&verdict.assertions, verdict.assert_confidence, &finished.document);
    // Files first, because standard output may be closed, or nothing may read it.
    finished.interrupts.begin_wait();
    let written = files.write(&mut finished.document, rows, &args.form().options);
    finished.interrupts.enter(InterruptStage::Printing);
    let shown = match lines {
        Some(lines) => lines.finish(&finished.document),
        None if args.is_silent() => Ok(()),
        None => print(&finished.document, &args.form()),
    };
    let published = publish(summary, &finished.document, &args.form(), strict);
    // Last, so that a history that cannot be written costs neither file nor report.
    let saved = saving.map_or(Ok(()), |saving| saving.save(&finished.document, None));
    written.and(shown).and(published).and(saved)?;
    print_errors(&finished, strict);
    if finished.finish_script()? {
        terminal::print(|_| Ok(()))?;
    }
    Ok(exit::of_run(&finished, strict))
}

/// Checks that a plan has requests with the names of the assertions.
///
/// # Errors
/// When it lacks one.
pub(crate) fn check_names(assertions: &[Assertion], plan: &Plan) -> Result<()> {
    let checked = assertions.iter().try_for_each(|claim| claim.check(plan));
    checked.map_err(|why| anyhow!("--assert {why}"))
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

/// Prints the reason of an exit code other than 0, of a run that was reported: with `--quiet`
/// nothing else tells it.
fn print_errors(finished: &Finished, strict: Option<Grade>) {
    print_source_failures(finished);
    match &finished.no_server {
        Some(note) => terminal::eprint_line(format_args!("error: {}", note.text)),
        None if finished.has_source_failed() || finished.signal().is_some() => {}
        None => print_failure(&finished.document, strict),
    }
}

/// Prints the failure of a document, if there is one.
pub(crate) fn print_failure(document: &Document, strict: Option<Grade>) {
    if let Some((_, text)) = exit::failure(document, strict) {
        terminal::eprint_line(format_args!("error: {text}"));
    }
}

/// Prints the failures of the script or the list during the load, with the calls that led to them.
pub(crate) fn print_source_failures(finished: &Finished) {
    for (failure, calls) in &finished.source_failures {
        // In one text: each line of the calls is checked to be one.
        let line_end = if calls.is_empty() { "" } else { "\n" };
        terminal::eprint_lines(format_args!("error: {failure}{line_end}{calls}"));
    }
}

/// The files that are written during and after the run.
struct Files {
    documents: Vec<ResultFile>,
    rows: Option<ResultFile>,
    exports: ExportFiles,
}

impl Files {
    /// Prepares the files that the flags name, which must be distinct.
    fn at(args: &ResultArgs, place: RowsPlace, temporaries: &Temporaries) -> Result<Files> {
        let documents = args.document_places().map(|path| ("--output", path));
        let others: Vec<_> = documents.chain(args.rows()).collect();
        check_distinct(&others)?;
        let exports = ExportFiles::at(args.exports(), &others, temporaries)?;
        let at = |path: &Path| ResultFile::at("--output", path, temporaries);
        let documents = args.output.files.documents().map(at).collect::<Result<_>>()?;
        let rows = args.rows().filter(|_| place == RowsPlace::Here);
        let rows = rows.map(|(flag, path)| ResultFile::at(flag, path, temporaries));
        Ok(Files { documents, rows: rows.transpose()?, exports })
    }

    /// Writes all files, even if one fails. `rows` is the outcome of those that the run wrote.
    fn write(
        self,
        document: &mut Document,
        rows: io::Result<()>,
        options: &TextOptions,
    ) -> Result<(), NotWritten> {
        let rows = self.rows.map_or(Ok(()), |file| file.finish(rows));
        if rows.is_err() {
            // The document names no file that is not there.
            document.raw.clear();
        }
        let write = |file: ResultFile| file.write(|mut out| json::write(document, &mut out));
        let written = self.documents.into_iter().map(write).fold(Ok(()), Result::and);
        rows.and(written).and(self.exports.write(document, options))
    }
}

/// Prints a document on standard output, after any output of scripts.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(document: &Document, form: &PrintForm) -> Result<(), NotWritten> {
    let options = on_stdout(form.options);
    terminal::print(|out| form.format.write(document, &options, out))
}

/// Publishes a document in the step's summary, if that is wanted.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn publish(
    summary: &StepSummary,
    document: &Document,
    form: &PrintForm,
    strict: Option<Grade>,
) -> Result<(), NotWritten> {
    let is_refused = exit::is_refused(document, strict);
    let annotations = Annotation::of_run(document, form.options.verdict, is_refused);
    summary.publish(
        |out| markdown::write(document, &form.options, out),
        annotations,
        form.format == exporters::TEXT,
    )
}
