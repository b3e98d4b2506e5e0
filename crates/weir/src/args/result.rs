//! The flags of a run's result: its verdict, its files and its print. `weir URL`, `weir --spec` and
//! `weir rerun` share them; no load depends on one.

use std::path::{Path, PathBuf};

use clap::Args;
use weir_history::{Name, Tag};
use weir_report::{Exporter, TextOptions, exporters};
use weir_result::document::Grade;
use weir_verdict::Assertion;

use super::choices::{STRICT, one_of};
use super::live::LiveArgs;
use super::values::{confidence, output};
use super::wrong::wrong;
use crate::output::{Export, Output, Outputs, all_exports, is_stdout};

/// The flags of the result.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// The verdict.
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    /// Files and print.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The figures while the load runs.
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

/// The flags of the verdict.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub(crate) struct VerdictArgs {
    /// Exit with 3 unless this holds: 'p99 < 5ms', 'errors == 0', 'rate > 20k', or of one name of a
    /// list 'checkout: p99 < 50ms'; repeatable
    #[arg(long = "assert", value_name = "ASSERTION")]
    pub(crate) assertions: Vec<Assertion>,
    /// Fail every --assert that is less certain than this: 95 (percent)
    #[arg(long, value_name = "PERCENT", value_parser = confidence, requires = "assertions")]
    pub(crate) assert_confidence: Option<f64>,
    /// Write the results of --assert to this file, as JUnit XML
    #[arg(long, value_name = "FILE", requires = "assertions")]
    pub(crate) junit: Option<PathBuf>,
    /// In GitHub Actions: append the report to the step's summary ($GITHUB_STEP_SUMMARY), and print
    /// failed assertions and findings as annotations
    #[arg(long)]
    pub(crate) github: bool,
    /// The grade.
    #[command(flatten)]
    pub(crate) grade: GradeArgs,
}

/// The flags of the grade, and of what is printed with it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct GradeArgs {
    /// Print every rule of the verdict with its value and limit
    #[arg(long)]
    rules: bool,
    /// Hide the grade and the findings; bounds stay
    #[arg(long, conflicts_with = "rules")]
    no_verdict: bool,
    /// Exit with 3 unless the grade is clean; =bounded: unless it is clean or bounded
    #[arg(long, value_parser = one_of(STRICT), num_args = 0..=1, require_equals = true,
          default_missing_value = "clean", value_name = "clean|bounded")]
    pub(crate) strict: Option<Grade>,
    /// Print all findings, connect, TLS and first-byte times, the machine and the threads
    #[arg(long)]
    verbose: bool,
}

/// The flags of files and print.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the full latency distribution
    #[arg(short = 'L', long)]
    latency: bool,
    #[arg(long, value_parser = Exporter::named, default_value = exporters::TEXT.name,
          value_name = "FORMAT", help = exporters::HELP)]
    pub(crate) format: Exporter,
    /// Write the result to this file: the JSON document, or by its extension .html (the report
    /// with plots), .txt, .md, .csv, .xml (JUnit), .jsonl, .hlog, .hgrm, .prom or .parquet (every
    /// request); -: the document to standard output, without the report; repeatable
    #[arg(id = "output", short, long = "output", value_name = "FILE",
          value_parser = output(Output::of_run))]
    pub(crate) files: Vec<Output>,
    /// Write the result to a file in a format of --format: html=report.html; repeatable
    #[arg(long = "export", value_name = "FORMAT=FILE", value_parser = Export::parse)]
    exports: Vec<Export>,
    /// The history.
    #[command(flatten)]
    pub(crate) saved: SaveArgs,
    /// Write every request with its timestamps to this file, as Parquet; as -o FILE.parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
    /// Print no progress line and no report
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The flags of the history. A study saves each of its trials.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SaveArgs {
    /// Save the result in the history under this name; weir history lists saved runs
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) save: Option<Name>,
    /// Tag of the saved run, such as a version; repeatable
    #[arg(long = "tag", value_name = "TAG", requires = "save", help_heading = "Output")]
    pub(crate) tags: Vec<Tag>,
    /// History file [default: $WEIR_HISTORY, else weir/history.db in $XDG_DATA_HOME, which is
    /// ~/.local/share if not set]
    #[arg(long, value_name = "FILE", requires = "save", help_heading = "Output")]
    pub(crate) history: Option<PathBuf>,
}

impl GradeArgs {
    /// Options of a report that is not for a terminal, with the full latency distribution or
    /// without.
    pub(crate) fn options(self, spectrum: bool) -> TextOptions {
        let GradeArgs { rules, no_verdict, verbose, .. } = self;
        let verdict = !no_verdict;
        TextOptions { spectrum, verdict, rules, verbose, ..TextOptions::default() }
    }
}

impl ResultArgs {
    /// The files of `--output` for the document, and standard output if that is one of them.
    pub(crate) fn document_places(&self) -> impl Iterator<Item = &Path> {
        let stdout = self.output.files.has_stdout().then_some(Path::new("/dev/stdout"));
        self.output.files.documents().chain(stdout)
    }

    /// The file for every request, of `--raw` or `--output`, and its flag.
    pub(crate) fn rows(&self) -> Option<(&'static str, &Path)> {
        rows(self.output.raw.as_deref(), &self.output.files)
    }

    /// Files in other formats, including the files of `--junit` and of `--output`.
    pub(crate) fn exports(&self) -> Vec<Export> {
        let of_output = self.output.files.exports();
        all_exports(&self.output.exports, of_output, self.verdict.junit.as_deref())
    }

    /// True if nothing is printed on standard output.
    pub(crate) fn is_silent(&self) -> bool {
        self.output.quiet && !self.output.files.has_stdout()
    }

    /// The form in which the document is printed.
    pub(crate) fn form(&self) -> PrintForm {
        let options = self.verdict.grade.options(self.output.latency);
        PrintForm { format: self.output.files.format(self.output.format), options }
    }

    /// Checks the places of the result, and that each format has what it shows.
    ///
    /// # Errors
    /// When a flag is wrong.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        check_rows(self.output.raw.as_deref(), &self.output.files)?;
        check_file("--junit", self.verdict.junit.as_deref())?;
        let are_given = !self.verdict.assertions.is_empty();
        check_assertions(are_given, self.output.format, &self.exports()).map_err(wrong)
    }
}

/// Checks that there are assertions if a format holds them alone.
///
/// # Errors
/// When there are none.
pub(crate) fn check_assertions(
    are_given: bool,
    format: Exporter,
    exports: &[Export],
) -> Result<(), String> {
    let flags = exports.iter().map(|export| (export.flag, export.format));
    let mut needing = flags.chain([("--format", format)]).filter(|(_, it)| it.needs_assertions);
    match needing.next() {
        Some((flag, format)) if !are_given => {
            Err(format!("{flag} {} needs an assertion; add --assert", format.name))
        }
        _ => Ok(()),
    }
}

/// The file for every request: of `--raw`, or one of `--output`; and its flag.
pub(crate) fn rows<'a>(
    raw: Option<&'a Path>,
    output: &'a [Output],
) -> Option<(&'static str, &'a Path)> {
    let raw = raw.map(|path| ("--raw", path));
    raw.or_else(|| output.rows().next().map(|path| ("--output", path)))
}

/// Checks that there is at most one file for every request.
///
/// # Errors
/// When there are two, or it is standard output.
pub(super) fn check_rows(raw: Option<&Path>, output: &[Output]) -> Result<(), clap::Error> {
    check_file("--raw", raw)?;
    let of_output = output.rows().map(|_| "-o FILE.parquet");
    let rows: Vec<&str> = raw.iter().map(|_| "--raw").chain(of_output).collect();
    let [one, other, ..] = rows[..] else { return Ok(()) };
    let text = "the rows of all requests go to one file";
    Err(wrong(format!("{one} and {other}: {text}; leave one out")))
}

fn check_file(flag: &str, path: Option<&Path>) -> Result<(), clap::Error> {
    if !path.is_some_and(is_stdout) {
        return Ok(());
    }
    let text = "only --output can; give a file name";
    Err(wrong(format!("{flag} cannot write to standard output: {text}")))
}

/// The form in which a document is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintForm {
    /// `--format`.
    pub(crate) format: Exporter,
    /// Options of a report that is not for a terminal.
    pub(crate) options: TextOptions,
}
