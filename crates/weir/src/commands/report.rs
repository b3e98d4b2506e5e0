//! `weir report`: prints the report of a document again, or of the parts of a run merged.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_result::Document;

use crate::args::{ReportArgs, is_page};
use crate::commands::run::{judged, options, print, publish};
use crate::exit;
use crate::github::StepSummary;
use crate::interrupts::Interrupts;
use crate::output::{Export, ExportFiles};
use crate::terminal::shown;

/// Prints the report.
///
/// # Errors
/// When a document cannot be read, or several do not belong together.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode> {
    if let Some(path) = args.output.as_deref().filter(|path| !is_page(path)) {
        bail!("-o {} is no page: name it .html, or use --export FORMAT=FILE", shown(path));
    }
    let summary = StepSummary::of(args.github)?;
    let interrupts = Interrupts::await_signals()?;
    let mut documents = args
        .files
        .iter()
        .map(|path| {
            Document::load(path).with_context(|| format!("{} cannot be reported", shown(path)))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut document = match &documents[..] {
        [whole] if whole.plan.part.is_none() => documents.swap_remove(0),
        // A single part is reported as a run that lacks the others.
        _ => Document::merge(&documents).context("the documents cannot be merged")?,
    };
    if !args.assertions.is_empty() {
        document.assertions = judged(&args.assertions, args.assert_confidence, &document);
    }
    if args.format.needs_assertions && document.assertions.is_empty() {
        bail!("--format {} needs an assertion; add --assert", args.format.name);
    }
    let exports = args.exports();
    let needs = |export: &&Export| export.format.needs_assertions;
    if let Some(export) = exports.iter().find(needs).filter(|_| document.assertions.is_empty()) {
        bail!("{} needs an assertion; add --assert", export.flag);
    }
    let read = args.files.iter().map(|file| ("the document", Some(file.as_path())));
    let exports = ExportFiles::at(exports, &read.collect::<Vec<_>>(), interrupts.temporaries())?;
    exports.write(&document, &options(&args.form()))?;
    print(&document, &args.form())?;
    let is_refused = exit::is_refused(&document, args.strict);
    publish(summary.as_ref(), &document, &args.form(), is_refused)?;
    Ok(exit::of_document(&document, args.strict))
}
