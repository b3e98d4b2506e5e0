//! The flags of `weir history`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use weir_history::{Name, Selector, Tag};
use weir_report::{Exporter, exporters};

use super::choices::{Choices, one_of};
use super::metrics::MetricList;
use super::study::ResultFiles;
use super::values::{output, positive};
use crate::output::Output;

/// `weir history`.
#[derive(Debug, Args)]
#[command(
    override_usage = "weir history <list|show|trend|tag|add|remove> --help",
    after_help = HELP
)]
pub(crate) struct HistoryArgs {
    /// Action.
    #[command(subcommand)]
    pub(crate) action: HistoryCommand,
    /// History file [default: $WEIR_HISTORY, else weir/history.db in $XDG_DATA_HOME, which is
    /// ~/.local/share if not set]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) history: Option<PathBuf>,
}

/// Text of `weir history --help` after the flags.
const HELP: &str = "\
weir --save NAME URL saves a run under a name. RUN is the ID of a saved run, as list prints it; \
or NAME, its newest run; or NAME@2, the run before that.

Examples:
  weir --save nginx-default --tag v1.2 http://localhost:8080/
  weir history list nginx-default
  weir history trend nginx-default --metric p99.9";

/// Actions of `weir history`.
#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// List saved runs, newest first
    List(ListArgs),
    /// Print the report of a saved run
    Show(ShowArgs),
    /// Print metrics over time, and where they changed
    Trend(TrendArgs),
    /// Tag a saved run, such as with a version
    Tag {
        /// Saved run: ID, NAME or NAME@N
        run: Selector,
        /// Tags to add
        #[arg(required = true, value_name = "TAG")]
        tags: Vec<Tag>,
        /// Remove these tags instead
        #[arg(long)]
        remove: bool,
    },
    /// Save documents that --output or weir report has written
    Add {
        /// Name under which the documents are saved
        name: Name,
        /// Documents, one for each run
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Tag of the runs; repeatable
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<Tag>,
    },
    /// Remove saved runs
    Remove {
        /// IDs of saved runs
        #[arg(required = true, value_name = "ID", value_parser = id)]
        ids: Vec<i64>,
    },
}

/// `weir history list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs of this name
    pub(crate) name: Option<Name>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<Tag>,
    /// Number of runs
    #[arg(short = 'n', long, value_name = "N", value_parser = positive, default_value = "50")]
    pub(crate) count: u32,
    /// Format of standard output
    #[arg(id = "format", long = "format", value_parser = one_of(FORMATS), default_value = "text",
          value_name = "text|json", action = ArgAction::Set)]
    pub(crate) is_json: bool,
}

/// `weir history show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Saved run: ID, NAME or NAME@N
    pub(crate) run: Selector,
    /// Print the full latency distribution
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,
    /// Print every rule of the verdict with its value and limit
    #[arg(long)]
    pub(crate) rules: bool,
    /// Print all findings, connect, TLS and first-byte times, the machine and the threads
    #[arg(long)]
    pub(crate) verbose: bool,
    #[arg(long, value_parser = Exporter::named, default_value = exporters::TEXT.name,
          value_name = "FORMAT", help = exporters::HELP)]
    pub(crate) format: Exporter,
    /// Write the result to this file: the JSON document, or by its extension .html, .md, .csv,
    /// .xml, .hlog or .hgrm; -: the document to standard output, without the report; repeatable
    #[arg(short, long, value_name = "FILE", value_parser = output(Output::of_document))]
    pub(crate) output: Vec<Output>,
}

/// `weir history trend`.
#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// Name of the runs
    pub(crate) name: Name,
    /// Metric, as --assert names it; repeatable, or with commas [default: p50, p99 and rate]
    #[arg(long = "metric", value_name = "METRIC")]
    pub(crate) metrics: Vec<MetricList>,
    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<Tag>,
    /// Number of runs in the table; changes are found over all of them
    #[arg(short = 'n', long, value_name = "N", value_parser = positive, default_value = "20")]
    pub(crate) count: u32,
    /// Format of standard output
    #[arg(long, value_parser = Exporter::named_of_findings, default_value = exporters::TEXT.name,
          value_name = "text|json|markdown|html|csv")]
    pub(crate) format: Exporter,
    /// Files with the result.
    #[command(flatten)]
    pub(crate) result_files: ResultFiles,
    /// In GitHub Actions: append the trend to the step's summary ($GITHUB_STEP_SUMMARY), and print
    /// each metric's newest change, if it began within the runs of the table, as an annotation
    #[arg(long)]
    pub(crate) github: bool,
}

/// `--format` of a list: true for JSON.
const FORMATS: Choices<bool> = &[("text", "A table", false), ("json", "JSON", true)];

/// Parses the ID of a saved run.
fn id(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(Selector::Id(id)) => Ok(id),
        _ => Err("is no ID: weir history list prints the IDs of saved runs".to_owned()),
    }
}
