//! The flags of `weir report`.

use std::path::PathBuf;

use clap::Args;
use weir_report::{Exporter, exporters};
use weir_verdict::Assertion;

use super::PrintForm;
use super::result::GradeArgs;
use super::values::{confidence, output};
use crate::output::{Export, Output, Outputs, all_exports};

/// `weir report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Documents, of which those of parts (weir --part) are merged; or a study
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the full latency distribution
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,
    /// The grade.
    #[command(flatten)]
    pub(crate) grade: GradeArgs,
    #[arg(long, value_parser = Exporter::named, default_value = exporters::TEXT.name,
          value_name = "FORMAT", help = exporters::HELP)]
    pub(crate) format: Exporter,
    /// Exit with 3 unless this holds: 'p99 < 5ms', 'errors == 0', or of one name of a list
    /// 'checkout: p99 < 50ms'; repeatable
    #[arg(long = "assert", value_name = "ASSERTION")]
    pub(crate) assertions: Vec<Assertion>,
    /// Fail every --assert that is less certain than this: 95 (percent)
    #[arg(long, value_name = "PERCENT", value_parser = confidence, requires = "assertions")]
    pub(crate) assert_confidence: Option<f64>,
    /// Write the results of --assert to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the result to a file in a format of --format: html=report.html; repeatable
    #[arg(long = "export", value_name = "FORMAT=FILE", value_parser = Export::parse)]
    pub(crate) exports: Vec<Export>,
    /// Write the result to this file: the JSON document, which is merged of parts, or by its
    /// extension .html, .md, .csv, .xml, .hlog or .hgrm; -: the document to standard output,
    /// without the report; repeatable
    #[arg(short, long, value_name = "FILE", value_parser = output(Output::of_document))]
    pub(crate) output: Vec<Output>,
    /// In GitHub Actions: append the report to the step's summary, and print annotations
    #[arg(long)]
    pub(crate) github: bool,
}

impl ReportArgs {
    /// Files with the result, including the files of `--junit` and of `-o`.
    pub(crate) fn exports(&self) -> Vec<Export> {
        all_exports(&self.exports, self.output.all_exports(), self.junit.as_deref())
    }

    /// The form in which the document is printed.
    pub(crate) fn form(&self) -> PrintForm {
        let options = self.grade.options(self.latency);
        PrintForm { format: self.output.format(self.format), options }
    }
}
