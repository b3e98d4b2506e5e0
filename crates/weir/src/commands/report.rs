//! `weir report`: prints the report of a document again, or of several parts merged.

use std::process::ExitCode;

use anyhow::{Context, Result};
use weir_run::Document;

use crate::args::ReportArgs;
use crate::commands::run::print;

/// Prints the report.
///
/// # Errors
/// When a document cannot be read, or several do not belong together.
pub(crate) fn report(args: &ReportArgs) -> Result<ExitCode> {
    let mut documents = args
        .files
        .iter()
        .map(|path| {
            Document::load(path).with_context(|| format!("{} cannot be reported", path.display()))
        })
        .collect::<Result<Vec<_>>>()?;
    let document = match documents.len() {
        1 => documents.swap_remove(0),
        _ => Document::merge(&documents).context("the documents cannot be merged")?,
    };
    print(&document, args.format, args.latency)?;
    Ok(ExitCode::SUCCESS)
}
