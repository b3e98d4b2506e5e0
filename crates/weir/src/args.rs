//! The flags. Each is one field with its help beside it; values are parsed here by
//! `weir_result::units`, so that a wrong one is an error before anything runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use weir_history::{Name, Tag};
use weir_report::{Exporter, exporters};
use weir_result::{AddressRange, Assertion, Part, Rate};
use weir_runner::{Pin, Warmup};

pub(crate) mod check;
pub(crate) mod choices;
mod help;
mod hints;
pub(crate) mod history;
pub(crate) mod live;
pub(crate) mod pages;
mod peers;
mod pin;
pub(crate) mod report;
pub(crate) mod spec;
mod split;
pub(crate) mod study;
mod tls;
pub(crate) mod tree;
pub(crate) mod values;
mod watch;

pub(crate) use choices::{ArrivalsChoice, Strict};
use choices::{
    CloseChoice, HttpVersionChoice, IoChoice, PacingChoice, TimestampsChoice, WaitChoice,
    WitnessChoice,
};
use live::LiveArgs;
pub(crate) use report::ReportArgs;
use tls::TlsArgs;
use values::{
    assertion, bytes, confidence, depth, duration, part, positive, positive_duration,
    positive_long, rate, table, threads, unix_time, warmup, window,
};
use watch::WatchArgs;

use crate::output::{Export, Output, Outputs, all_exports};

/// HTTP load generator with accurate latency; drop-in replacement for wrk and wrk2
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    about,
    override_usage = "weir [options] URL\n       weir -s FILE [options] URL [words for the \
                      script]\n       weir --compat <wrk|wrk2> …\n       weir \
                      <search|repeat|ab|sweep|compare|doctor|…> --help",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_version_flag = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = help::ALL,
    after_long_help = help::COMMON
)]
pub(crate) struct Cli {
    /// Subcommand instead of a load.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The load.
    #[command(flatten)]
    pub(crate) run: RunArgs,

    // clap has two forms of help, and its short one lists flags in two columns. So --help is
    // clap's short form, and -h the long one with every flag hidden behind a text of its own.
    /// Print all options
    #[arg(long, action = ArgAction::HelpShort, help_heading = "Other")]
    help: Option<bool>,
    /// Print the most common options
    #[arg(short = 'h', action = ArgAction::HelpLong, help_heading = "Other")]
    short_help: Option<bool>,

    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version, help_heading = "Other")]
    version: Option<bool>,
}

impl Cli {
    /// A command line, the name of the program being its first word.
    ///
    /// # Errors
    /// The error in it, or the text of `-h`, `--help` and `--version`.
    pub(crate) fn of_words(
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Cli, clap::Error> {
        Cli::parsed(with_repeated_switches(Cli::command()), argv)
    }

    /// A recorded command line. Older versions of weir accepted abbreviated flags, and of a
    /// repeated one the last.
    ///
    /// # Errors
    /// As [`Cli::of_words`].
    pub(crate) fn of_recorded(
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Cli, clap::Error> {
        Cli::parsed(Cli::command().args_override_self(true).infer_long_args(true), argv)
    }

    fn parsed(
        command: clap::Command,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Cli, clap::Error> {
        let command = command.mut_args(|arg| arg.hide_long_help(true));
        let argv = arranged(hints::with_help_flag(pin::joined(argv), &command), &command);
        let matches = command.try_get_matches_from(&argv);
        let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
        let mut cli = parsed.map_err(|error| hints::explain(error, &argv))?;
        hints::check_history(&argv)?;
        if cli.command.is_none() {
            hints::check_quiet(&cli.run, &argv)?;
            check::check(&mut cli.run)?;
        }
        Ok(cli)
    }
}

/// Accepts `-q -q`: a flag without a value says the same twice. Of two values the last would win
/// without a word, so a flag with a value is a list, or an error if it is repeated.
fn with_repeated_switches(command: clap::Command) -> clap::Command {
    let repeated = |arg: Arg| match arg.get_action() {
        ArgAction::SetTrue => {
            let id = arg.get_id().clone();
            arg.overrides_with(id)
        }
        _ => arg,
    };
    command.mut_args(repeated).mut_subcommands(with_repeated_switches)
}

/// Commands whose words are those of a study and of its runs, in any order.
pub(crate) const STUDIES: [&str; 4] = ["repeat", "ab", "sweep", "search"];

/// Moves the words of a study's runs behind `--`, where its command expects them.
fn arranged(argv: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let name = argv.get(1).and_then(|word| word.to_str());
    let study = name.filter(|name| STUDIES.contains(name));
    let Some(study) = study.and_then(|name| command.find_subcommand(name)) else { return argv };
    let (of_study, of_run) = split::split(&argv[2..], study, command);
    let separator = (!of_run.is_empty()).then(|| OsString::from("--"));
    let head = argv.iter().take(2).cloned();
    head.chain(of_study).chain(separator).chain(of_run).collect()
}

/// Index of the word of a run that names its target.
pub(crate) fn target_at(words: &[OsString]) -> Option<usize> {
    split::target_at(words, &Cli::command())
}

/// Returns the words of a run without the flags that `own` gives too: those of a variant replace
/// the common ones. Lists stay.
pub(crate) fn without_those_of(words: &[OsString], own: &[OsString]) -> Vec<OsString> {
    split::without_those_of(words, own, &Cli::command())
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Hidden, as the usage and the end of --help name them.
    /// Reference server with programmable responses, delays, stalls and faults
    #[command(hide = true)]
    Serve(Box<crate::commands::serve::ServeArgs>),
    /// Print the report of documents written with --output
    #[command(hide = true)]
    Report(ReportArgs),
    /// Repeat a run and print the spread of its metrics
    #[command(hide = true)]
    Repeat(Box<study::RepeatArgs>),
    /// Compare two variants by interleaved pairs of runs
    #[command(hide = true)]
    Ab(Box<study::AbArgs>),
    /// Run all combinations of some options
    #[command(hide = true)]
    Sweep(Box<study::SweepArgs>),
    /// Find the highest rate that meets an objective
    #[command(hide = true)]
    Search(Box<study::SearchArgs>),
    /// Compare documents, or two sets of them
    #[command(hide = true)]
    Compare(Box<study::CompareArgs>),
    /// Repeat the run of a document exactly
    #[command(hide = true)]
    Rerun(Box<study::RerunArgs>),
    /// Continue a study that was interrupted
    #[command(hide = true)]
    Resume(Box<study::ResumeArgs>),
    /// Saved runs: list, show, trend, tag
    #[command(hide = true)]
    History(history::HistoryArgs),
    /// Check this machine for settings and programs that spoil a measurement
    #[command(hide = true)]
    Doctor(crate::commands::doctor::DoctorArgs),
    /// Print the completions of a shell
    #[command(hide = true)]
    Completions(pages::CompletionsArgs),
    /// Print a man page, as roff
    #[command(hide = true)]
    Man(pages::ManArgs),
}

/// The load.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// URL, and words for the script.
    #[arg(help = "Target: http[s]://[USER:PASS@]HOST[:PORT]/PATH; then words for the script",
          value_name = "URL", required_unless_present = "selfcheck", num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// More words for the script.
    #[arg(last = true, hide = true)]
    pub(crate) more_words: Vec<String>,
    /// User name and password that stood in the URL, as they stood there.
    #[arg(skip)]
    pub(crate) userinfo: Option<String>,

    /// Worker threads [default: one per usable CPU; half as many beside a server on this machine]
    #[arg(short, long, value_name = "N", value_parser = threads, help_heading = "Load")]
    pub(crate) threads: Option<u32>,
    /// Connections over all threads
    #[arg(short, long, value_name = "N", value_parser = positive, default_value = "10",
          help_heading = "Load")]
    pub(crate) connections: u32,
    /// Length of the measured window [default: 10s, or none with -n]
    #[arg(short, long, value_name = "T", value_parser = positive_duration, help_heading = "Load")]
    pub(crate) duration: Option<u64>,
    /// End after this many measured requests; with -d, whichever comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = positive_long,
          help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Constant rate over all threads, in requests per second: 20k, 0.5, 100/m [default: closed
    /// loop]
    #[arg(short = 'R', long, value_name = "N", value_parser = rate, help_heading = "Load")]
    pub(crate) rate: Option<Rate>,
    /// Arrival process with --rate: evenly spaced, or with independent exponential gaps
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Uniform, requires = "rate",
          value_name = "uniform|poisson", hide_possible_values = true, help_heading = "Load")]
    pub(crate) arrivals: ArrivalsChoice,
    /// Seed of random arrivals [default: random, printed in the report]
    #[arg(long, value_name = "N", requires = "rate", help_heading = "Load")]
    pub(crate) seed: Option<u64>,
    /// Unmeasured load before the window, on the same connections; auto: until it is steady, for at
    /// most 1m or the time after the colon [default: 10% of -d within 2s..10s; 0 with -n alone]
    #[arg(long, value_name = "T|auto[:T]", value_parser = warmup, help_heading = "Load")]
    pub(crate) warmup: Option<Warmup>,
    /// Longest drain after the window, in which the load continues unrecorded until every measured
    /// request has its response [default: 20% of -d, at least 1s, at most the timeout]
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Load")]
    pub(crate) drain: Option<u64>,
    /// Requests in flight on each connection, 1 to 128 (HTTP/1.1 pipelining)
    #[arg(long, value_name = "N", value_parser = depth, default_value = "1",
          help_heading = "Load")]
    pub(crate) pipeline: u16,
    /// Requests in flight on each HTTP/2 connection, 1 to 128, if the server permits as many;
    /// implies --http 2 [default: 1]
    #[arg(long, value_name = "N", value_parser = depth, conflicts_with = "pipeline",
          help_heading = "Load")]
    pub(crate) streams: Option<u16>,
    /// Carry out part K of N of this load, one on each of N machines, with the same flags on all;
    /// weir report merges their documents
    #[arg(long, value_name = "K/N", value_parser = part, conflicts_with = "prove_client",
          help_heading = "Load")]
    pub(crate) part: Option<Part>,
    /// Begin the load at this time, in seconds since 1970 (date +%s), so that all parts begin
    /// together [default: once all connections are open]
    #[arg(long, value_name = "TIME", value_parser = unix_time, requires = "part",
          help_heading = "Load")]
    pub(crate) start_at: Option<u64>,

    /// Add a header, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    pub(crate) headers: Vec<String>,
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "Request")]
    pub(crate) method: Option<String>,
    /// Request body: text, or @FILE (at most 1 GiB)
    #[arg(short = 'b', long, value_name = "TEXT|@FILE", help_heading = "Request")]
    pub(crate) body: Option<String>,
    /// Request body of this size: a run of the letter x
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with = "body",
          help_heading = "Request")]
    pub(crate) body_size: Option<u64>,
    /// Lua script that makes requests and reads responses, with wrk's API
    #[arg(short, long, value_name = "FILE", help_heading = "Request")]
    pub(crate) script: Option<PathBuf>,
    /// Response timeout
    #[arg(short = 'T', long, value_name = "T", value_parser = positive_duration,
          default_value = "10s", help_heading = "Request")]
    pub(crate) timeout: u64,
    /// Connect timeout [default: --timeout]
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = "Request")]
    pub(crate) connect_timeout: Option<u64>,
    /// Memory for the response bodies that a script sees, over all connections; more is cut
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "256Mi",
          help_heading = "Request")]
    pub(crate) script_memory: u64,
    /// Skip the single request that checks the URL before the load
    #[arg(long, help_heading = "Request")]
    pub(crate) no_preflight: bool,
    /// Try to resolve and reach the server for up to T before the load [default: once]
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = "Request")]
    pub(crate) wait_for_server: Option<u64>,

    /// Basic authentication; replaces a user name and password in the URL
    #[arg(short, long, value_name = "USER:PASS", help_heading = "TLS and credentials")]
    pub(crate) user: Option<String>,
    /// TLS.
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Further names whose values are never written.
    #[arg(
        help = "Write [redacted] for this header or query parameter; repeatable, or with commas",
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "TLS and credentials"
    )]
    pub(crate) redact: Vec<String>,
    /// Write credentials as given to documents, rows and reports
    #[arg(long, conflicts_with = "redact", help_heading = "TLS and credentials")]
    pub(crate) no_redact: bool,

    /// HTTP version; 2 without TLS: by prior knowledge (h2c); auto: over TLS 2 if the server
    /// chooses it, else 1.1
    #[arg(long, value_enum, default_value_t = HttpVersionChoice::Auto,
          value_name = "1.0|1.1|2|auto", hide_possible_values = true,
          help_heading = "Connections")]
    pub(crate) http: HttpVersionChoice,
    /// HTTP/2: flow-control window for responses, of each stream and of the connection; the default
    /// never holds a response up
    #[arg(long, value_name = "BYTES", value_parser = window, default_value = "1Gi",
          help_heading = "Connections")]
    pub(crate) h2_window: u32,
    /// HTTP/2: table size of header compression, in both directions; 0: no table
    #[arg(long, value_name = "BYTES", value_parser = table, default_value = "4Ki",
          help_heading = "Connections")]
    pub(crate) hpack_table: u32,
    /// New connection for each request. server: closed by the server because of "Connection:
    /// close"; client: reset by weir after the response, which frees its port at once
    #[arg(long, value_enum, value_name = "server|client", hide_possible_values = true,
          conflicts_with_all = ["pipeline", "requests_per_connection", "connection_lifetime"],
          help_heading = "Connections")]
    pub(crate) close: Option<CloseChoice>,
    /// Renew a connection after this many requests
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Connections")]
    pub(crate) requests_per_connection: Option<u32>,
    /// Renew a connection at this age, once no request is in flight on it
    #[arg(long, value_name = "T", value_parser = positive_duration,
          help_heading = "Connections")]
    pub(crate) connection_lifetime: Option<u64>,

    /// Connects per second over all threads, renewals included [default: unlimited]
    #[arg(long, value_name = "N", value_parser = rate, help_heading = "Connections")]
    pub(crate) connect_rate: Option<Rate>,
    /// Source addresses, used in turn: 10.0.0.5, 10.0.0.5-10.0.0.20, 127.1.0.0/24; repeatable, or
    /// with commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Connections")]
    pub(crate) source_ip: Vec<AddressRange>,
    /// Connect to this instead of the URL's host; several are used in turn; repeatable, or with
    /// commas
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        value_delimiter = ',',
        conflicts_with = "unix",
        help_heading = "Connections"
    )]
    pub(crate) connect_to: Vec<String>,
    /// Connect to IPv4 addresses alone
    #[arg(long, conflicts_with_all = ["ipv6", "unix"], help_heading = "Connections")]
    pub(crate) ipv4: bool,
    /// Connect to IPv6 addresses alone
    #[arg(long, conflicts_with = "unix", help_heading = "Connections")]
    pub(crate) ipv6: bool,
    /// Connect to this Unix socket instead of the URL's host; @NAME: an abstract one
    #[arg(long, value_name = "PATH", help_heading = "Connections")]
    pub(crate) unix: Option<PathBuf>,

    /// Send timing with --rate. sleep: least CPU, some µs late; hybrid: sleep, then spin shortly
    /// before; spin: whole cores [default: hybrid; sleep with more threads than CPUs]
    #[arg(
        long,
        value_enum,
        value_name = "sleep|hybrid|spin",
        hide_possible_values = true,
        help_heading = STRATEGY
    )]
    pub(crate) pacing: Option<PacingChoice>,
    /// Receive strategy. latency: busy-poll for up to 100 µs; throughput: coalesce wake-ups for up
    /// to 100 µs; spin: never sleep, whole cores; auto: adapt, and busy-poll a server on this
    /// machine where that makes more requests
    #[arg(long, value_enum, default_value_t = WaitChoice::Auto,
          value_name = "auto|latency|throughput|spin", hide_possible_values = true,
          help_heading = STRATEGY)]
    pub(crate) wait: WaitChoice,
    /// With --rate, send due requests in batches every T: less CPU at high rates, up to T late
    /// [default: each request when it is due]
    #[arg(long, value_name = "T", value_parser = positive_duration, requires = "rate",
          help_heading = STRATEGY)]
    pub(crate) tick: Option<u64>,

    /// Pin threads to CPUs, one each: all usable ones, or those of a list like 2-5 or 2,4
    /// [default: not pinned]
    #[arg(long, value_name = "CPUS", num_args = 0..=1, require_equals = true,
          default_missing_value = pin::ALL, value_parser = pin::pin, help_heading = "Engine")]
    pub(crate) pin: Option<Pin>,
    /// I/O engine; auto: io_uring where it works, else epoll
    #[arg(long, value_enum, default_value_t = IoChoice::Auto, value_name = "auto|uring|epoll",
          hide_possible_values = true, help_heading = "Engine")]
    pub(crate) io: IoChoice,

    /// Connections with kernel timestamps, which separate client overhead from latency; sample: one
    /// in 64
    #[arg(long, value_enum, default_value_t = TimestampsChoice::Sample,
          value_name = "none|sample|all", hide_possible_values = true, help_heading = CHECKS)]
    pub(crate) timestamps: TimestampsChoice,
    /// Run a low-rate probe on its own thread as an independent check; auto: where a CPU is idle
    #[arg(long, value_enum, default_value_t = WitnessChoice::Auto, value_name = "auto|on|off",
          hide_possible_values = true, help_heading = CHECKS)]
    pub(crate) witness: WitnessChoice,
    /// First measure weir's own latency for 1 s, against a server in its own process; without a
    /// URL, measure only that
    #[arg(long, help_heading = CHECKS)]
    pub(crate) selfcheck: bool,
    /// Test whether the client is the limit: four more runs, 40% of -d in all, with and without one
    /// more thread
    #[arg(long, help_heading = CHECKS)]
    pub(crate) prove_client: bool,
    /// The watch of the server.
    #[command(flatten)]
    pub(crate) watch: WatchArgs,

    /// Exit with 3 unless this holds: 'p99 < 5ms', 'errors == 0', 'rate > 20k'; repeatable
    #[arg(long = "assert", value_name = "ASSERTION", value_parser = assertion,
          help_heading = "Verdict")]
    pub(crate) assertions: Vec<Assertion>,
    /// Fail every --assert that is less certain than this: 95 (percent)
    #[arg(long, value_name = "PERCENT", value_parser = confidence, requires = "assertions",
          help_heading = "Verdict")]
    pub(crate) assert_confidence: Option<f64>,
    /// Write the results of --assert to this file, as JUnit XML
    #[arg(long, value_name = "FILE", requires = "assertions", help_heading = "Verdict")]
    pub(crate) junit: Option<PathBuf>,
    /// In GitHub Actions: append the report to the step's summary ($GITHUB_STEP_SUMMARY), and print
    /// failed assertions and findings as annotations
    #[arg(long, conflicts_with = "print_plan", help_heading = "Verdict")]
    pub(crate) github: bool,
    /// Print every rule of the verdict with its value and limit
    #[arg(long, help_heading = "Verdict")]
    pub(crate) rules: bool,
    /// Hide the grade and the findings; bounds stay
    #[arg(long, conflicts_with = "rules", help_heading = "Verdict")]
    pub(crate) no_verdict: bool,
    /// Exit with 3 unless the grade is clean; =bounded: unless it is clean or bounded
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "clean", value_name = "clean|bounded",
          hide_possible_values = true, help_heading = "Verdict")]
    pub(crate) strict: Option<Strict>,
    /// Print all findings, connect, TLS and first-byte times, the machine and the threads
    #[arg(long, help_heading = "Verdict")]
    pub(crate) verbose: bool,

    /// Print the full latency distribution
    #[arg(short = 'L', long, help_heading = "Output")]
    pub(crate) latency: bool,
    #[arg(long, value_parser = Exporter::named, default_value = exporters::TEXT.name,
          value_name = "FORMAT", help = exporters::HELP, help_heading = "Output")]
    pub(crate) format: Exporter,
    /// Write the result to this file: the JSON document, or by its extension .html (the report
    /// with plots), .md, .csv, .xml (JUnit), .hlog, .hgrm or .parquet (every request); -: the
    /// document to standard output, without the report; repeatable
    #[arg(short, long, value_name = "FILE", value_parser = output(Output::of_run),
          help_heading = "Output")]
    pub(crate) output: Vec<Output>,
    /// Write the result to a file in a format of --format: html=report.html; repeatable
    #[arg(long = "export", value_name = "FORMAT=FILE", value_parser = Export::parse,
          help_heading = "Output")]
    pub(crate) exports: Vec<Export>,
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
    /// Write every request with its timestamps to this file, as Parquet; as -o FILE.parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) raw: Option<PathBuf>,
    /// Print the plan as JSON and send nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) print_plan: bool,
    /// While the load runs, show rate, percentiles, heat map and errors on the whole terminal
    #[arg(long, conflicts_with_all = ["quiet", "print_plan"], help_heading = "Output")]
    pub(crate) tui: bool,
    /// The figures for programs.
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    /// Print no progress line and no report
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Flags, defaults and report of wrk or wrk2
    #[arg(long, value_name = "wrk|wrk2", help_heading = "Other")]
    pub(crate) compat: Option<String>,
}

/// Heading of the flags that decide when threads sleep.
const STRATEGY: &str = "Send and receive strategy";
/// Heading of the flags that measure the client.
const CHECKS: &str = "Client checks";

impl RunArgs {
    /// The words for the script.
    pub(crate) fn script_args(&self) -> impl Iterator<Item = &String> {
        self.words.iter().skip(1).chain(&self.more_words)
    }

    /// True if `--output` is `-`: the document goes to standard output in the report's place.
    pub(crate) fn prints_document(&self) -> bool {
        self.output.has_stdout()
    }

    /// The files of `--output` for the document, and standard output if that is one of them.
    pub(crate) fn document_places(&self) -> impl Iterator<Item = &Path> {
        let stdout = self.prints_document().then_some(Path::new("/dev/stdout"));
        self.output.documents().chain(stdout)
    }

    /// The file for every request, of `--raw` or `--output`, and its flag.
    pub(crate) fn rows(&self) -> Option<(&'static str, &Path)> {
        let raw = self.raw.as_deref().map(|path| ("--raw", path));
        raw.or_else(|| self.output.rows().next().map(|path| ("--output", path)))
    }

    /// Files in other formats, with those of `--junit` and of `--output`.
    pub(crate) fn exports(&self) -> Vec<Export> {
        all_exports(&self.exports, self.output.exports(), self.junit.as_deref())
    }

    /// True if nothing is printed on standard output.
    pub(crate) fn is_silent(&self) -> bool {
        self.quiet && !self.prints_document()
    }

    /// The form in which the document is printed.
    pub(crate) fn form(&self) -> Form {
        Form {
            format: self.output.format(self.format),
            spectrum: self.latency,
            verdict: !self.no_verdict,
            rules: self.rules,
            verbose: self.verbose,
        }
    }
}

/// Parser of the values of `--output`. A file's name need not be UTF-8.
fn output(of_path: fn(PathBuf) -> Result<Output, String>) -> impl TypedValueParser<Value = Output> {
    PathBufValueParser::new().try_map(of_path)
}

/// True if a file of this name stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The form in which a document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// `--format`.
    pub(crate) format: Exporter,
    /// `--latency`.
    pub(crate) spectrum: bool,
    /// Without `--no-verdict`.
    pub(crate) verdict: bool,
    /// `--rules`.
    pub(crate) rules: bool,
    /// `--verbose`.
    pub(crate) verbose: bool,
}
