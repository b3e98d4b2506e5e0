//! How a study is made and shown, as the flags say.

use std::path::Path;

use weir_report::Exporter;

use crate::args::result::rows;
use crate::args::study::{FailOn, StudyOutputArgs, TrialArgs};
use crate::output::{Export, Output, Outputs, all_exports};

/// How a study is made and shown.
#[derive(Clone, Debug)]
pub(crate) struct StudySettings<'a> {
    /// File that the study is kept in.
    pub(crate) output: Option<&'a Path>,
    /// File of the study that continues.
    pub(crate) resumed: Option<&'a Path>,
    /// True if an unfinished study may be replaced.
    pub(crate) force: bool,
    /// Files in other formats.
    pub(crate) exports: Vec<Export>,
    /// Format of standard output.
    pub(crate) format: Exporter,
    /// True if the report goes to the summary of a GitHub Actions step.
    pub(crate) github: bool,
    /// True if neither progress nor report is printed.
    pub(crate) quiet: bool,
    /// True if trials wait until machine and target have recovered.
    pub(crate) settles: bool,
    /// Outputs of each trial by itself.
    pub(crate) trials: &'a TrialArgs,
    /// File for every request, and its flag.
    pub(crate) rows: Option<(&'static str, &'a Path)>,
    /// Verdict that makes the program end with 3 or 5.
    pub(crate) fail_on: Option<FailOn>,
}

impl StudyOutputArgs {
    /// How a study is made and shown whose own files are those of `output`.
    pub(crate) fn settings<'a>(
        &'a self,
        output: &'a [Output],
        settles: bool,
        fail_on: Option<FailOn>,
    ) -> StudySettings<'a> {
        // The first document is kept after each trial; the others are written at the end.
        StudySettings {
            output: output.documents().next(),
            resumed: None,
            force: self.force,
            exports: all_exports(&self.exports, output.at_end(), None),
            format: output.format(self.format),
            quiet: self.quiet,
            github: self.github,
            settles,
            trials: &self.trials,
            rows: rows(self.trials.raw.as_deref(), output),
            fail_on,
        }
    }
}
