//! Flags of the commands that make several runs, and of those that compare their results.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use weir_report::{Exporter, exporters};
use weir_result::Rate;
use weir_result::study::Factor;
use weir_study::search::Objective;
use weir_text::units::parse_share;

use super::ResultArgs;
use super::choices::ArrivalsChoice;
use super::fleet::FleetArgs;
use super::live::LiveArgs;
use super::metrics::MetricList;
use super::result::SaveArgs;
use super::values::{output, positive, positive_duration};
use super::watch::fact;
use crate::output::{Export, Output, Outputs, all_exports};

/// Commands whose words are those of a study and of its runs, in any order.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Repeat a run and print the spread of its metrics
    Repeat(Box<RepeatArgs>),
    /// Compare two variants by interleaved pairs of runs
    Ab(Box<AbArgs>),
    /// Run all combinations of some options
    Sweep(Box<SweepArgs>),
    /// Find the highest rate that meets an objective
    Search(Box<SearchArgs>),
}

impl StudyCommand {
    /// The flags of every study.
    pub(super) fn flags(&self) -> &StudyFlags {
        match self {
            StudyCommand::Repeat(args) => &args.study,
            StudyCommand::Ab(args) => &args.study,
            StudyCommand::Sweep(args) => &args.study,
            StudyCommand::Search(args) => &args.study,
        }
    }
}

/// Flags of every study.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Study")]
pub(crate) struct StudyFlags {
    /// Command before each trial, such as a restart of the server. It gets WEIR_VARIANT and
    /// WEIR_TRIAL; a failure ends the study
    #[arg(long, value_name = "CMD")]
    pub(crate) before: Option<String>,
    /// Command after each trial, likewise
    #[arg(long, value_name = "CMD")]
    pub(crate) after: Option<String>,
    /// Longest time of a command of --before or --after
    #[arg(long, value_name = "T", value_parser = positive_duration, default_value = "60s")]
    pub(crate) hook_timeout: u64,
    /// Metric of the result: rate, p99, errors, service.p50, or of one name of a list: 'checkout:
    /// p99'; repeatable, or with commas. The first is the primary one [default: depends on the
    /// load]
    #[arg(long = "metric", value_name = "METRIC")]
    pub(crate) metrics: Vec<MetricList>,
    /// Begin each trial at once, without waiting until the machine and the target have recovered
    #[arg(long)]
    pub(crate) no_settle: bool,
    /// Seed of the order of trials and of random arrivals [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) study_seed: Option<u64>,
    /// Write the study, a JSON document with all runs, to this file after each trial; weir resume
    /// continues it. FILE.html, .md, .csv or .xml: the result in that format, at the end; .parquet:
    /// every request; repeatable
    #[arg(short, long, value_name = "FILE", value_parser = output(Output::of_study))]
    pub(crate) output: Vec<Output>,
    /// Further outputs, and each trial by itself.
    #[command(flatten)]
    pub(crate) others: StudyOutputArgs,
}

/// Outputs of a study beside its document, and its trials by themselves.
#[derive(Clone, Debug, Args)]
pub(crate) struct StudyOutputArgs {
    /// Replace an unfinished study in the file of -o
    #[arg(long)]
    pub(crate) force: bool,
    /// Write the result to a file in another format at the end: html=study.html, csv=trials.csv;
    /// repeatable
    #[arg(long = "export", value_name = "FORMAT=FILE", value_parser = Export::parse_of_findings)]
    pub(crate) exports: Vec<Export>,
    /// Format of standard output
    #[arg(long, value_parser = Exporter::named_of_findings, default_value = exporters::TEXT.name,
          value_name = FORMATS)]
    pub(crate) format: Exporter,
    /// In GitHub Actions: append the report to the step's summary ($GITHUB_STEP_SUMMARY), and print
    /// the result as an annotation
    #[arg(long)]
    pub(crate) github: bool,
    /// Each trial by itself.
    #[command(flatten)]
    pub(crate) trials: TrialArgs,
    /// Print no progress and no report
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The machines of each trial, and its own outputs.
#[derive(Clone, Debug, Args)]
pub(crate) struct TrialArgs {
    /// The machines that carry it out.
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// The history.
    #[command(flatten)]
    pub(crate) saved: SaveArgs,
    /// Write every request of all trials with its trial and its timestamps to this file, as
    /// Parquet; as -o FILE.parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) raw: Option<PathBuf>,
    /// The trial that runs.
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

/// Files with a result that is kept in no document.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultFiles {
    /// Write the result to a file in another format: html=result.html; repeatable
    #[arg(long = "export", value_name = "FORMAT=FILE", value_parser = Export::parse_of_findings)]
    exports: Vec<Export>,
    /// Write the result to this file: JSON, or by its extension .html, .md, .csv or .xml; -: JSON
    /// to standard output, without the report; repeatable
    #[arg(short, long, value_name = "FILE", value_parser = output(Output::of_findings))]
    output: Vec<Output>,
}

impl ResultFiles {
    /// Files with the result, including the files of `-o`.
    pub(crate) fn exports(&self) -> Vec<Export> {
        all_exports(&self.exports, self.output.all_exports(), None)
    }

    /// The format of standard output.
    pub(crate) fn format(&self, format: Exporter) -> Exporter {
        self.output.format(format)
    }
}

/// Names of the formats, for the result of several runs.
const FORMATS: &str = "text|json|markdown|html|csv|junit";

/// `weir repeat`.
#[derive(Clone, Debug, Args)]
#[command(override_usage = "weir repeat [-n RUNS] [study options] [options of a run] URL")]
#[command(next_help_heading = "Study")]
pub(crate) struct RepeatArgs {
    /// Number of runs
    #[arg(short = 'n', long, value_name = "RUNS", value_parser = positive, default_value = "10")]
    pub(crate) runs: u32,
    /// Flags of every study.
    #[command(flatten)]
    pub(crate) study: StudyFlags,
    /// Command line of the run.
    #[arg(last = true, hide = true)]
    pub(crate) run: Vec<OsString>,
}

/// `weir ab`.
#[derive(Clone, Debug, Args)]
#[command(
    override_usage = "weir ab -a 'OPTIONS URL' -b 'OPTIONS URL' [study options] [options of both]
       weir ab --before CMD [study options] [options of a run] URL"
)]
#[command(next_help_heading = "Study")]
pub(crate) struct AbArgs {
    /// Options of a run of A, in quotes, added to the common ones
    #[arg(short = 'a', long = "a", value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) a: Option<String>,
    /// Options of a run of B, likewise
    #[arg(short = 'b', long = "b", value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) b: Option<String>,
    /// Names of both variants in the report and in WEIR_VARIANT: old,new
    #[arg(long, value_name = "A,B", value_parser = names, default_value = "A,B")]
    pub(crate) names: [String; 2],
    /// Least change of a metric that matters
    #[arg(long, value_name = "PERCENT", value_parser = threshold, default_value = "2%")]
    pub(crate) threshold: f64,
    /// Make exactly this many pairs, at least 6 [default: look after 8, 12, 16 and 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1000))]
    pub(crate) pairs: Option<u32>,
    /// Exit with 3 if B is slower, and with 5 if that is undecided; =undecided: with 3 in both
    /// cases
    #[arg(long, value_enum, value_name = "slower|undecided")]
    pub(crate) fail_on: Option<FailOn>,
    /// Flags of every study.
    #[command(flatten)]
    pub(crate) study: StudyFlags,
    /// Common part of both command lines.
    #[arg(last = true, hide = true)]
    pub(crate) run: Vec<OsString>,
}

/// Verdict that makes the program end with 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// B is slower; 5 if that is undecided.
    Slower,
    /// B is slower, or that is undecided.
    Undecided,
}

/// `weir sweep`.
#[derive(Clone, Debug, Args)]
#[command(
    override_usage = "weir sweep --vary NAME=V1,V2,… [--vary …] [study options] [options of \
                            a run] URL
       weir sweep --plan FILE [study options] [options of a run] [URL]"
)]
#[command(next_help_heading = "Study")]
pub(crate) struct SweepArgs {
    /// Values of one option of the run: c=1,10,100, rate=1k,2k, close=none,server,client,
    /// path=/a,/b, url=http://a/,http://b/; repeatable: all combinations are made
    #[arg(long, value_name = "NAME=V1,V2,…", value_parser = factor,
          required_unless_present = "plan")]
    pub(crate) vary: Vec<Factor>,
    /// TOML file with url, args, a table vary, repetitions, metrics, before and after; flags have
    /// precedence over it
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Print the ratio of the primary metric between both values of this factor, for each
    /// combination of the others
    #[arg(long, value_name = "NAME")]
    pub(crate) ratio: Option<String>,
    /// Runs of each combination [default: 3]
    #[arg(short = 'n', long, value_name = "N", value_parser = positive)]
    pub(crate) repetitions: Option<u32>,
    /// Flags of every study.
    #[command(flatten)]
    pub(crate) study: StudyFlags,
    /// Common part of all command lines.
    #[arg(last = true, hide = true)]
    pub(crate) run: Vec<OsString>,
}

/// `weir search`.
#[derive(Clone, Debug, Args)]
#[command(override_usage = "weir search OBJECTIVE [study options] [options of a run] URL")]
#[command(next_help_heading = "Study")]
pub(crate) struct SearchArgs {
    /// Limits of a percentile of a time, of errors, or of requests within a time or the goodput:
    /// 'p99 < 10ms', 'checkout: p99 < 50ms and errors < 0.1%', 'ttft.p99 < 500ms and tpot.p99 <
    /// 50ms', 'goodput > 95%'; a name of a list applies to the limit that it precedes
    pub(crate) objective: Objective,
    /// Use trials of 30 s, 90 s at each bound, and an interval of 2% [default: 5 s, 15 s, 10%];
    /// -d sets the length of trials, -c the connections at the start
    #[arg(long)]
    pub(crate) precise: bool,
    /// Width of the interval at which the search ends
    #[arg(long, value_name = "PERCENT", value_parser = width)]
    pub(crate) width: Option<f64>,
    /// Arrival process: uniform, or poisson (random)
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Uniform,
          value_name = "uniform|poisson")]
    pub(crate) arrivals: ArrivalsChoice,
    /// Highest rate to try
    #[arg(long, value_name = "R")]
    pub(crate) max_rate: Option<Rate>,
    /// Flags of every study.
    #[command(flatten)]
    pub(crate) study: StudyFlags,
    /// Command line of the runs.
    #[arg(last = true, hide = true)]
    pub(crate) run: Vec<OsString>,
}

/// `weir compare`.
#[derive(Clone, Debug, Args)]
#[command(override_usage = "weir compare [options] A.json B.json
       weir compare [options] --base 'main-*.json' --new 'pr-*.json'")]
pub(crate) struct CompareArgs {
    /// Documents of weir --output, studies of weir repeat, or names of weir --save: first the base,
    /// then the new one
    #[arg(value_name = "FILE", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// Runs of the base: files or patterns; repeatable
    #[arg(long, value_name = "PATTERN", requires = "new", conflicts_with = "files")]
    pub(crate) base: Vec<String>,
    /// Runs of the new system: files or patterns; repeatable
    #[arg(long, value_name = "PATTERN", requires = "base")]
    pub(crate) new: Vec<String>,
    /// Metric to compare: p99, rate, service.p50, or of one name of a list: 'checkout: p99';
    /// repeatable, or with commas. The first is the primary one [default: depends on the load]
    #[arg(long = "metric", value_name = "METRIC")]
    pub(crate) metrics: Vec<MetricList>,
    /// Least change of a metric that matters
    #[arg(long, value_name = "PERCENT", value_parser = threshold, default_value = "2%")]
    pub(crate) threshold: f64,
    /// Exit with 3 if B is slower, and with 5 if that is undecided; =undecided: with 3 in both
    /// cases
    #[arg(long, value_enum, value_name = "slower|undecided")]
    pub(crate) fail_on: Option<FailOn>,
    /// Format of standard output
    #[arg(long, value_parser = Exporter::named_of_findings, default_value = exporters::TEXT.name,
          value_name = FORMATS)]
    pub(crate) format: Exporter,
    /// Files with the result.
    #[command(flatten)]
    pub(crate) result_files: ResultFiles,
    /// In GitHub Actions: append the report to the step's summary ($GITHUB_STEP_SUMMARY), and print
    /// the verdict as an annotation
    #[arg(long)]
    pub(crate) github: bool,
}

/// Values that a document does not hold because they are secret.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Secrets {
    /// URL with its secrets, in the place of the recorded one
    #[arg(long, value_name = "URL", help_heading = "Redacted values")]
    pub(crate) url: Option<String>,
    /// Header whose value was redacted, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Redacted values")]
    pub(crate) headers: Vec<String>,
    /// User name and password that were redacted
    #[arg(short, long, value_name = "USER:PASS", help_heading = "Redacted values")]
    pub(crate) user: Option<String>,
    /// Body that was redacted
    #[arg(short = 'b', long, value_name = "TEXT", help_heading = "Redacted values")]
    pub(crate) body: Option<String>,
    /// URL of --watch-nginx with its user name and password
    #[arg(long, value_name = "URL", help_heading = "Redacted values")]
    pub(crate) watch_nginx: Option<String>,
    /// URL of --watch-prometheus, likewise
    #[arg(long, value_name = "URL", help_heading = "Redacted values")]
    pub(crate) watch_prometheus: Option<String>,
}

/// The commands of a recorded run that the user wants.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Consent {
    /// Run the commands and the script that the file names, which may be a stranger's; or give each
    /// again with its flag
    #[arg(long, help_heading = "Commands of the file")]
    pub(crate) run_commands: bool,
    /// Script that the file names
    #[arg(short, long, value_name = "FILE", help_heading = "Commands of the file")]
    pub(crate) script: Vec<PathBuf>,
    /// Command of --capture that the file names; repeatable
    #[arg(long, value_name = "COMMAND", help_heading = "Commands of the file")]
    pub(crate) capture: Vec<String>,
    /// Command of --watch-command that the file names; repeatable
    #[arg(long, value_name = "COMMAND", help_heading = "Commands of the file")]
    pub(crate) watch_command: Vec<String>,
}

/// `weir rerun`.
#[derive(Debug, Args)]
pub(crate) struct RerunArgs {
    /// Document of the run to repeat
    pub(crate) file: PathBuf,
    /// Redacted values.
    #[command(flatten)]
    pub(crate) secrets: Secrets,
    /// Commands of the file.
    #[command(flatten)]
    pub(crate) consent: Consent,
    /// Changes of the plan.
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    /// The result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    /// Print this help
    #[arg(short = 'h', long, action = ArgAction::HelpShort, help_heading = None::<&str>)]
    help: Option<bool>,
}

/// Changes of the recorded load, which the new document names.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ChangeArgs {
    /// Rate of the load in the place of the recorded one, as weir -R
    #[arg(short = 'R', long, value_name = "N", help_heading = CHANGES)]
    pub(crate) rate: Option<Rate>,
    /// Connections in the place of the recorded number
    #[arg(short, long, value_name = "N", value_parser = positive, help_heading = CHANGES)]
    pub(crate) connections: Option<u32>,
    /// Length of the measured window in the place of the recorded one
    #[arg(short, long, value_name = "T", value_parser = positive_duration, help_heading = CHANGES)]
    pub(crate) duration: Option<u64>,
    /// Keep this fact in the document; repeatable
    #[arg(long = "note", value_name = "NAME=VALUE", value_parser = fact, help_heading = CHANGES)]
    pub(crate) notes: Vec<(String, String)>,
}

/// Heading of the flags that change a recorded run.
const CHANGES: &str = "Changes";

/// `weir resume`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Study to continue; it is replaced after each trial, unless -o names another file
    pub(crate) file: PathBuf,
    /// Write the study to this file after each trial, and leave FILE as it is. NEW.html, .md, .csv
    /// or .xml: the result in that format, at the end; .parquet: every request of the further
    /// trials; repeatable
    #[arg(short, long, value_name = "NEW", value_parser = output(Output::of_study))]
    pub(crate) output: Vec<Output>,
    /// Redacted values.
    #[command(flatten)]
    pub(crate) secrets: Secrets,
    /// Commands of the file.
    #[command(flatten)]
    pub(crate) consent: Consent,
    /// Hooks of the file.
    #[command(flatten)]
    pub(crate) hooks: HookArgs,
    /// Begin each trial at once, without waiting until the machine and the target have recovered
    #[arg(long)]
    pub(crate) no_settle: bool,
    /// Exit with 3 if B of an A/B study is slower, and with 5 if that is undecided; =undecided:
    /// with 3 in both cases
    #[arg(long, value_enum, value_name = "slower|undecided")]
    pub(crate) fail_on: Option<FailOn>,
    /// Further outputs, and each trial by itself.
    #[command(flatten)]
    pub(crate) others: StudyOutputArgs,
}

/// Hooks of a recorded study, given again.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HookArgs {
    /// Command of --before that the file names, with its redacted values
    #[arg(long, value_name = "CMD", help_heading = "Commands of the file")]
    pub(crate) before: Option<String>,
    /// Command of --after, likewise
    #[arg(long, value_name = "CMD", help_heading = "Commands of the file")]
    pub(crate) after: Option<String>,
}

/// Parses `2%` or `0.02`, above 0.
fn threshold(text: &str) -> Result<f64> {
    let share = parse_share(text)?;
    ensure!(share > 0.0, "it is above 0%");
    Ok(share)
}

/// Parses the width of an interval: `5%`, at least 1%.
fn width(text: &str) -> Result<f64> {
    let share = parse_share(text)?;
    ensure!((0.01..1.0).contains(&share), "write a width from 1% to below 100%");
    Ok(share)
}

/// Parses `old,new`.
fn names(text: &str) -> Result<[String; 2], String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [a, b] if !a.is_empty() && !b.is_empty() && a != b => Ok([a.to_owned(), b.to_owned()]),
        _ => Err("write two names that differ: old,new".to_owned()),
    }
}

/// Parses `c=1,10,100`.
fn factor(text: &str) -> Result<Factor, String> {
    let (name, values) = text.split_once('=').ok_or("write it like c=1,10,100")?;
    checked_factor(name, values.split(',').map(|value| value.trim().to_owned()).collect())
}

/// Checks the option and the values of a factor.
///
/// # Errors
/// When one is empty, or a value is there twice.
pub(crate) fn checked_factor(name: &str, values: Vec<String>) -> Result<Factor, String> {
    if name.trim().is_empty() || values.is_empty() || values.iter().any(String::is_empty) {
        return Err("write it like c=1,10,100".to_owned());
    }
    if let Some(twice) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value))
    {
        return Err(format!("{} is there twice", twice.1));
    }
    let name = name.trim().trim_start_matches('-').to_owned();
    Ok(Factor { name, values })
}
