//! `weir report`: prints the report of a document again, of the parts of a run merged, or of a
//! study.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use weir_report::{Findings, Source};
use weir_result::{Document, Study};

use crate::args::ReportArgs;
use crate::args::result::check_assertions;
use crate::commands::run::{check_names, judged, print, print_failure, publish};
use crate::commands::study;
use crate::exit;
use crate::github::StepSummary;
use crate::interrupts::SignalState;
use crate::output::ExportFiles;
use crate::terminal::shown;

/// Prints the report.
///
/// # Errors
/// When a document cannot be read, or several do not belong together.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode> {
    let interrupts = SignalState::await_signals()?;
    let read: Vec<_> = args.files.iter().map(|file| ("the document", file.as_path())).collect();
    let exports = ExportFiles::at(args.exports(), &read, &interrupts.temporaries)?;
    if let [file] = &args.files[..]
        && let Some(study) = study_in(file)
    {
        return report_study(args, &study, exports);
    }
    let summary = StepSummary::of(args.github)?;
    let load = |path: &PathBuf| {
        Document::load(path).with_context(|| format!("{} cannot be reported", shown(path)))
    };
    let mut documents = args.files.iter().map(load).collect::<Result<Vec<_>>>()?;
    let mut document = match &documents[..] {
        [whole] if whole.plan.part.is_none() => documents.swap_remove(0),
        // A single part is reported as a run that lacks the others.
        _ => weir_verdict::merge(&documents).context("the documents cannot be merged")?,
    };
    check_names(&args.assertions, &document.plan)?;
    if !args.assertions.is_empty() {
        document.assertions = judged(&args.assertions, args.assert_confidence, &document);
    }
    check_assertions(!document.assertions.is_empty(), args.format, &args.exports())
        .map_err(Error::msg)?;
    exports.write(&document, &args.form().options)?;
    print(&document, &args.form())?;
    publish(&summary, &document, &args.form(), args.grade.strict)?;
    print_failure(&document, args.grade.strict);
    Ok(exit::of_document(&document, args.grade.strict))
}

/// Returns the study in a file, if it is no document of a run.
fn study_in(file: &Path) -> Option<Study> {
    if Document::load(file).is_ok() { None } else { Study::load(file).ok() }
}

/// Prints the report of a study.
fn report_study(args: &ReportArgs, study: &Study, files: ExportFiles) -> Result<ExitCode> {
    if !args.assertions.is_empty() || args.grade.strict.is_some() {
        bail!("--assert and --strict judge a run, and the file is a study");
    }
    let summary = StepSummary::of(args.github)?;
    let findings = Findings::of(Source::Study(study));
    let format = args.form().format;
    study::check_formats(&findings, format, &args.exports())?;
    files.write_findings(&findings, &args.form().options)?;
    study::print(&findings, format)?;
    study::publish(&summary, study, format, None)?;
    Ok(ExitCode::SUCCESS)
}
