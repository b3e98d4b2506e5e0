//! `--github`: the report appended to the summary of a GitHub Actions step, and the annotations of
//! its checks.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use weir_report::Annotation;
use weir_report::annotation::AnnotationLevel;

use crate::errors::NotWritten;
use crate::terminal;

/// Variable that names the file of the step's summary.
const VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// Greatest size of a step's summary in bytes; GitHub shows nothing of a longer one.
const SUMMARY_BYTES_MAX: u64 = 1 << 20;

/// The summary of the step that runs weir; without a path none is wanted.
#[derive(Debug)]
pub(crate) struct StepSummary(Option<PathBuf>);

impl StepSummary {
    /// Checks that the step's summary can be written, if there is `--github`.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be written.
    pub(crate) fn of(is_wanted: bool) -> Result<StepSummary> {
        if !is_wanted {
            return Ok(StepSummary(None));
        }
        let path = env::var_os(VARIABLE).filter(|path| !path.is_empty()).with_context(|| {
            format!(
                "--github needs {VARIABLE}, which GitHub Actions sets: elsewhere set it to a file \
                 for the summary"
            )
        })?;
        let path = PathBuf::from(path);
        open(&path).with_context(|| {
            let path = terminal::shown(&path);
            format!("--github: {VARIABLE} names {path}, which cannot be written")
        })?;
        Ok(StepSummary(Some(path)))
    }

    /// If a summary is wanted, appends Markdown to it, and prints the annotations: on standard
    /// output if the report is there as text, otherwise on standard error, since standard output is
    /// for a program. GitHub reads them from both.
    ///
    /// # Errors
    /// When either cannot be written.
    pub(crate) fn publish(
        &self,
        markdown: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
        mut annotations: Vec<Annotation>,
        is_text: bool,
    ) -> Result<(), NotWritten> {
        let Some(path) = &self.0 else { return Ok(()) };
        let mut text = Vec::new();
        let appended = markdown(&mut text).and_then(|()| {
            text.push(b'\n');
            append(path, &text)
        });
        if matches!(appended, Ok(false)) {
            let message = "the report is left out: GitHub shows at most 1 MiB for each step";
            annotations.push(Annotation::new(
                AnnotationLevel::Warning,
                "weir: summary is full",
                message,
            ));
        }
        let printed = print(&annotations, is_text);
        appended.map_err(|error| NotWritten { place: VARIABLE, error }).and(printed)
    }
}

/// Appends text in one call, so that the reports of several programs do not mix. Returns false if
/// there is no room for it.
fn append(path: &Path, text: &[u8]) -> io::Result<bool> {
    let length = fs::metadata(path).map_or(0, |found| found.len());
    if length + text.len() as u64 > SUMMARY_BYTES_MAX {
        return Ok(false);
    }
    open(path)?.write_all(text)?;
    Ok(true)
}

fn open(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn print(annotations: &[Annotation], is_text: bool) -> Result<(), NotWritten> {
    if is_text {
        let line = |annotation: &Annotation| format!("{annotation}\n");
        let lines: String = annotations.iter().map(line).collect();
        return terminal::print(|out| out.write_all(lines.as_bytes()));
    }
    annotations.iter().for_each(terminal::eprint_line);
    Ok(())
}
