//! The way of every study: its trials are made, then its result is printed, written and published.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use weir_report::view::Report;
use weir_report::{Annotation, Exporter, Findings, Source, TextOptions, exporters, markdown};
use weir_result::document::Tool;
use weir_result::study::{Cell, Comparison, Design, Gate, Hooks, StudyResult, StudyState};
use weir_result::{Plan, STUDY_VERSION, Study};
use weir_runner::{RawOutput, Runner};
use weir_study::{Conductor, Variant, redacted};

use super::keeper::StudyFiles;
use super::settings::StudySettings;
use super::{consent, unfinished};
use crate::args::metrics::MetricList;
use crate::args::study::{FailOn, StudyFlags};
use crate::errors::NotWritten;
use crate::github::StepSummary;
use crate::history::Saving;
use crate::interrupts::SignalState;
use crate::live::Progress;
use crate::observers::Observers;
use crate::output::{Export, ExportFiles, ResultFile, check_distinct};
use crate::screen::on_stdout;
use crate::{exit, runner, terminal, tui};

/// Makes a new study as the flags say. `words` are those of the command line, without secrets.
///
/// # Errors
/// As [`conduct`].
pub(crate) fn make(
    flags: &StudyFlags,
    design: Design,
    variants: Vec<Variant>,
    mut words: Vec<String>,
    fail_on: Option<FailOn>,
) -> Result<ExitCode> {
    let before = flags.before.clone();
    let after = flags.after.clone();
    let hooks = Hooks { before, after, timeout_ns: flags.hook_timeout };
    // After the name of the command: the run's words may end with those of a script.
    let at = words.len().min(1);
    words.splice(at..at, flags.others.trials.fleet.words());
    let redacted = |command: &Option<String>| Some(redacted(&variants, command.as_deref()?));
    let study = Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        started: weir_runner::now(),
        command: words,
        design,
        seed: flags.study_seed.unwrap_or_else(crate::args::load::draw_seed),
        hooks: Hooks { before: redacted(&hooks.before), after: redacted(&hooks.after), ..hooks },
        cells: variants.iter().map(|variant| variant.cell.clone()).collect(),
        trials: Vec::new(),
        state: StudyState::Running,
        result: None,
        notes: Vec::new(),
    };
    let settings = flags.others.settings(&flags.output, !flags.no_settle, fail_on);
    conduct(study, hooks, variants, settings)
}

/// Makes the trials of a study, prints its report, and returns the exit code.
///
/// # Errors
/// When the study cannot be kept, or standard output cannot be written.
pub(crate) fn conduct(
    mut study: Study,
    hooks: Hooks,
    variants: Vec<Variant>,
    settings: StudySettings<'_>,
) -> Result<ExitCode> {
    check_formats(&Findings::of(Source::Study(&study)), settings.format, &settings.exports)?;
    unfinished::check(&settings)?;
    check_names(&study.design, &variants)?;
    let summary = StepSummary::of(settings.github)?;
    let saving = Saving::of(&settings.trials.saved, settings.quiet)?;
    // All variants push to one collector.
    let tls = variants.first().map(|variant| variant.spec.tls.clone()).unwrap_or_default();
    let mut observers = Observers::of_study(&settings.trials.live, settings.quiet, &tls)?;
    let interrupts = SignalState::await_signals()?;
    let file = |(flag, path)| ResultFile::at(flag, path, &interrupts.temporaries);
    // Checked before the first trial, and made anew for each.
    let output = settings.output.map(|path| ("--output", path));
    output.map(file).transpose()?;
    let resumed = settings.resumed.map(|path| ("the study", path));
    let mut kept: Vec<_> = output.into_iter().chain(resumed).collect();
    if let Some(rows) = settings.rows {
        // Not yet both: -o of a resumed study may be its file.
        kept.iter().try_for_each(|other| check_distinct(&[*other, rows]))?;
        kept.push(rows);
    }
    let exports = ExportFiles::at(settings.exports.clone(), &kept, &interrupts.temporaries)?;
    let rows = settings.rows.map(file).transpose()?;
    if !settings.quiet {
        terminal::eprint_line(weir_study::estimate(&study, &variants));
        if let Some(text) = weir_study::undecidable(&study) {
            terminal::eprint_line(format_args!("note: {text}"));
        }
    }
    observers.start()?;
    let runner = runner::chosen(runner::here(false), &settings.trials.fleet, None)?;
    let mut files = StudyFiles {
        output: settings.output,
        temporaries: &interrupts.temporaries,
        saving,
        rows: rows.as_ref().map(|rows| rows.begin_rows(RawOutput::of_study)).transpose()?,
    };
    let all = &mut observers.all;
    let settles = settings.settles;
    let mut conductor =
        Conductor::new(&*runner, variants, hooks, settles, &interrupts.runs, all, &mut files);
    let kept = weir_study::conduct(&mut study, &mut conductor);
    // The screen stays open between the trials.
    tui::restore();
    interrupts.runs.begin_wait();
    let written = files.rows.take().map_or(Ok(()), RawOutput::finish);
    let written = rows.map_or(Ok(()), |rows| rows.finish(written));
    let shown = show(&study, &settings, exports, &summary);
    report_end(&study, &settings);
    if let (Err(_), StudyState::Complete, Some(path)) = (&kept, &study.state, settings.output) {
        let path = terminal::shown(path);
        let text = "note: the file has trials and no result: once it can be written";
        terminal::eprint_line(format_args!("{text}, weir resume {path} adds the result"));
    }
    observers.await_scrapers(&interrupts);
    written.and(shown)?;
    kept?;
    if let (StudyState::Interrupted, Some(signal)) = (&study.state, interrupts.runs.received()) {
        return Ok(exit::of_signalled(signal));
    }
    Ok(exit_code(&study, &settings))
}

/// Checks that the runs have requests with the names of the metrics, before the first of them.
fn check_names(design: &Design, variants: &[Variant]) -> Result<()> {
    for Variant { cell, spec } in variants {
        let mut checked = weir_study::check_names(design, &Plan::default());
        if checked.is_err() && (spec.list.is_some() || spec.replay.is_some()) {
            let prepared = runner::of(spec).prepare(spec, &mut Progress::new(true, false))?;
            checked = weir_study::check_names(design, prepared.plan());
        }
        let flag = if matches!(design, Design::Search { .. }) { "" } else { "--metric " };
        let of = match cell.name.as_str() {
            "" => String::new(),
            name => format!(" (variant {name})"),
        };
        checked.map_err(|why| anyhow!("{flag}{why}{of}"))?;
    }
    Ok(())
}

/// Prints the report of a study that has ended, and returns the exit code.
///
/// # Errors
/// When standard output, a file or the step's summary cannot be written.
pub(crate) fn report(study: &Study, settings: StudySettings<'_>) -> Result<ExitCode> {
    check_formats(&Findings::of(Source::Study(study)), settings.format, &settings.exports)?;
    let summary = StepSummary::of(settings.github)?;
    let interrupts = SignalState::await_signals()?;
    let kept = settings.resumed.map(|path| ("the study", path));
    let exports =
        ExportFiles::at(settings.exports.clone(), kept.as_slice(), &interrupts.temporaries)?;
    show(study, &settings, exports, &summary)?;
    Ok(exit_code(study, &settings))
}

/// Writes the files of a study, prints it, and publishes it in the step's summary.
fn show(
    study: &Study,
    settings: &StudySettings<'_>,
    exports: ExportFiles,
    summary: &StepSummary,
) -> Result<(), NotWritten> {
    let undecided = settings.fail_on == Some(FailOn::Undecided);
    let findings = Findings::of(Source::Study(study)).failing_undecided(undecided);
    // Files first, because standard output may be closed.
    let written = exports.write_findings(&findings, &TextOptions::default());
    if !settings.quiet || settings.format == exporters::JSON {
        print(&findings, settings.format)?;
    }
    let published = publish(summary, study, settings.format, settings.fail_on);
    written.and(published)
}

/// Checks that a result can be written in these formats.
///
/// # Errors
/// When a format is for single runs, or holds a verdict, of which the result has none.
pub(crate) fn check_formats(
    findings: &Findings<'_>,
    format: Exporter,
    exports: &[Export],
) -> Result<()> {
    let flags = exports.iter().map(|export| (export.flag, export.format));
    for (flag, format) in flags.chain([("--format", format)]) {
        format.check(findings).map_err(|lack| anyhow!("{flag} {lack}"))?;
    }
    Ok(())
}

/// Prints the reason of an early end.
fn report_end(study: &Study, settings: &StudySettings<'_>) {
    let how = match settings.output {
        Some(path) if path.is_file() => {
            let flag = if consent::is_needed(study) { " --run-commands" } else { "" };
            format!("weir resume {}{flag} continues it", terminal::shown(path))
        }
        Some(path) => format!("{} has no trial", terminal::shown(path)),
        None => "its trials were not kept: use -o FILE.json to be able to resume".to_owned(),
    };
    match &study.state {
        StudyState::Stopped { reason } => {
            terminal::eprint_line(format_args!("error: the study stopped at {reason}; {how}"));
        }
        StudyState::Interrupted => {
            terminal::eprint_line(format_args!("note: the study was interrupted; {how}"));
        }
        StudyState::Running | StudyState::Complete => {}
    }
}

/// Prints the result of several runs.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn print(findings: &Findings<'_>, format: Exporter) -> Result<(), NotWritten> {
    terminal::print(|out| format.write_findings(findings, &text_options(), out))
}

/// Publishes a study in the step's summary. `format` is that of standard output.
///
/// # Errors
/// When the summary or an annotation cannot be written.
pub(crate) fn publish(
    summary: &StepSummary,
    study: &Study,
    format: Exporter,
    fail_on: Option<FailOn>,
) -> Result<(), NotWritten> {
    let gate = match &study.result {
        Some(StudyResult::Comparison(comparison)) => gate(comparison, fail_on),
        _ => Gate::Passed,
    };
    let annotations = Annotation::of_study(study, gate);
    let markdown = |out: &mut Vec<u8>| markdown::write_report(&Report::of_study(study), out);
    summary.publish(markdown, annotations, format == exporters::TEXT)
}

/// Options of a text report on standard output.
pub(crate) fn text_options() -> TextOptions {
    TextOptions { histogram: None, ..on_stdout(TextOptions::default()) }
}

fn exit_code(study: &Study, settings: &StudySettings<'_>) -> ExitCode {
    if matches!(study.state, StudyState::Stopped { .. }) {
        return ExitCode::from(exit::NO_SUCCESS);
    }
    match &study.result {
        Some(StudyResult::Comparison(comparison)) => {
            let gate = gate(comparison, settings.fail_on);
            report_gate(comparison, gate);
            exit::of_comparison(gate)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Returns what `--fail-on` makes of a comparison.
pub(crate) fn gate(comparison: &Comparison, fail_on: Option<FailOn>) -> Gate {
    fail_on.map_or(Gate::Passed, |fail_on| comparison.gate(fail_on == FailOn::Undecided))
}

/// Prints the cause of an exit status that `--fail-on` makes.
pub(crate) fn report_gate(comparison: &Comparison, gate: Gate) {
    let sentence = comparison.sentence();
    let text = match gate {
        Gate::Passed => return,
        Gate::Failed => format!("--fail-on: {sentence}"),
        Gate::Open => {
            format!("it is open whether {} is slower: {sentence}", comparison.new.name)
        }
    };
    terminal::eprint_line(format_args!("error: {text}"));
}

/// The metric by which runs are compared first: in a closed loop the rate is what the system
/// decides, at planned times it is the latency.
pub(crate) fn primary_metric(are_planned: bool) -> &'static str {
    if are_planned { "p99" } else { "rate" }
}

/// Metrics of a study: those of the flags, or the usual ones, behind the primary one of a
/// comparison.
pub(crate) fn metrics(flags: &[MetricList], primary: Option<&str>, usual: &[&str]) -> Vec<String> {
    if !flags.is_empty() {
        return MetricList::names(flags);
    }
    let others = usual.iter().copied().filter(|name| Some(*name) != primary);
    primary.into_iter().chain(others).map(str::to_owned).collect()
}

/// Returns the command line of a study: its own words, then those of the run without secrets.
pub(crate) fn command(own: &[String], cell: &Cell) -> Vec<String> {
    own.iter().chain(&cell.words).cloned().collect()
}
