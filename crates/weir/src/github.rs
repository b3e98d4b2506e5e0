//! `--github`: the report appended to the summary of a GitHub Actions step, and the annotations of
//! its checks.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
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

/// The summary of the step that runs weir.
#[derive(Debug)]
pub(crate) struct StepSummary {
    path: PathBuf,
}

impl StepSummary {
    /// Checks that the step's summary can be written; `None` without `--github`.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be written.
    pub(crate) fn of(is_wanted: bool) -> Result<Option<StepSummary>> {
        if !is_wanted {
            return Ok(None);
        }
        let path = env::var_os(VARIABLE).filter(|path| !path.is_empty()).with_context(|| {
            format!(
                "--github needs {VARIABLE}, which GitHub Actions sets: elsewhere set it to a file \
                 for the summary"
            )
        })?;
        let summary = StepSummary { path: path.into() };
        summary.open().with_context(|| {
            let path = terminal::shown(&summary.path);
            format!("--github: {VARIABLE} names {path}, which cannot be written")
        })?;
        Ok(Some(summary))
    }

    /// Appends Markdown to the summary, and prints the annotations: on standard output if the
    /// report is there as text, otherwise on standard error, since standard output is for a
    /// program. GitHub reads them from both.
    ///
    /// # Errors
    /// When either cannot be written.
    pub(crate) fn publish(
        &self,
        markdown: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
        mut annotations: Vec<Annotation>,
        is_text: bool,
    ) -> Result<(), NotWritten> {
        let mut text = Vec::new();
        let appended = markdown(&mut text).and_then(|()| {
            text.push(b'\n');
            self.append(&text)
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

    /// Appends text in one call, so that the reports of several programs do not mix. Returns false
    /// if there is no room for it.
    fn append(&self, text: &[u8]) -> io::Result<bool> {
        let length = fs::metadata(&self.path).map_or(0, |found| found.len());
        if length + text.len() as u64 > SUMMARY_BYTES_MAX {
            return Ok(false);
        }
        self.open()?.write_all(text)?;
        Ok(true)
    }

    fn open(&self) -> io::Result<fs::File> {
        OpenOptions::new().append(true).create(true).open(&self.path)
    }
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
