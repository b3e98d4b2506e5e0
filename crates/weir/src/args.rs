//! The flags. Each is one field with its help beside it; the values are parsed here by
//! `weir_run::units`, so that whatever is wrong is said before anything runs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use weir_run::{AddressRange, Assertion, Rate};

mod values;

use values::{
    assertion, confidence, pipeline, positive, positive_duration, positive_long, rate, warmup,
};

/// HTTP benchmarking that sets the flow and measures it.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
    about,
    override_usage = "weir [options] URL\n       weir -s FILE [options] URL [words for the \
                      script]\n       weir --compat <wrk|wrk2> …\n       weir <serve|report> …",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_version_flag = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    args_override_self = true,
    infer_long_args = true,
    max_term_width = 100,
    after_help = "Without --rate every connection sends again as soon as it has its answer (closed \
                  loop). With it requests leave at planned times whatever the server does, and \
                  latency counts from the planned time.\n\n\
                  Durations: 500ms, 2s, 1.5m, 1h; a bare number is seconds. Counts: 20k, 1.5M.\n\
                  Exit status: 0 success, 1 no successful response, 2 usage or script, 3 a failed \
                  --assert or --strict, 70 broken invariant, 71 machine failed, 74 result not \
                  written, 130/143 interrupted.\n\
                  Examples:\n  weir http://localhost:8080/\n  \
                  weir -c100 -d30s -R 20k -o run.json http://localhost:8080/index.html\n  \
                  weir -s scripts/counter.lua https://localhost:8443/"
)]
pub(crate) struct Cli {
    /// What to run instead of a load.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The load.
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Print this help
    #[arg(short, long, action = ArgAction::HelpShort, global = true, help_heading = "Other")]
    help: Option<bool>,

    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version, help_heading = "Other")]
    version: Option<bool>,
}

impl Cli {
    /// The command line, or the end of the program with a message.
    pub(crate) fn of_command_line() -> Cli {
        Cli::of_words(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    /// A command line, the name of the program being its first word.
    ///
    /// # Errors
    /// What is wrong with it, or the text of `--help` and `--version`.
    pub(crate) fn of_words(
        argv: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Cli, clap::Error> {
        let cli = Cli::try_parse_from(argv)?;
        let run = &cli.run;
        if run.script.is_some() && (run.method.is_some() || run.body.is_some()) {
            let text =
                "--method and --body do not go with --script: set wrk.method and wrk.body in it";
            return Err(Cli::command().error(ErrorKind::ArgumentConflict, text));
        }
        if let (None, Some(word)) = (&run.script, run.script_args().next()) {
            let advice = "give one URL, put values with blanks into quotes, and a script behind -s";
            let text = format!("'{word}' is too much: {advice}");
            return Err(Cli::command().error(ErrorKind::TooManyValues, text));
        }
        Ok(cli)
    }
}

/// What weir does beside running a load.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the reference server: programmable answers, delays, stalls and faults
    Serve(Box<crate::commands::serve::ServeArgs>),
    /// Print the report of a document written with --output
    Report(ReportArgs),
}

/// `weir report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Documents; several are parts of one run and are merged
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the whole latency spectrum
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,
    /// Print every rule of the verdict with its figure
    #[arg(long)]
    pub(crate) rules: bool,
    /// Hide the grade and the findings; bounds stay
    #[arg(long, conflicts_with = "rules")]
    pub(crate) no_verdict: bool,
    /// Exit with 3 unless the grade is clean, or at least bounded
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "clean",
          value_name = "clean|bounded", hide_possible_values = true)]
    pub(crate) strict: Option<Strict>,
    /// Print all findings, connect times, the machine and the threads
    #[arg(long)]
    pub(crate) verbose: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "text|json",
          hide_possible_values = true)]
    pub(crate) format: Format,
    /// End with 3 unless this holds: 'p99 < 5ms', 'errors == 0'; repeatable
    #[arg(long = "assert", value_name = "CLAIM", value_parser = assertion)]
    pub(crate) assertions: Vec<Assertion>,
    /// Fail every --assert that is less certain than this: 95 (percent)
    #[arg(long, value_name = "PERCENT", value_parser = confidence, requires = "assertions")]
    pub(crate) assert_confidence: Option<f64>,
    /// Write what came of --assert to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// The load.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to load, and words for the script.
    #[arg(help = "What to load: http[s]://HOST[:PORT]/PATH; words after it are for the script",
          value_name = "URL", required_unless_present = "selfcheck", num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// More words for the script.
    #[arg(last = true, hide = true)]
    pub(crate) more_words: Vec<String>,

    /// Threads [default: one per usable CPU]
    #[arg(short, long, value_name = "N", value_parser = positive, help_heading = "Load")]
    pub(crate) threads: Option<u32>,
    /// Connections over all threads
    #[arg(short, long, value_name = "N", value_parser = positive, default_value = "10",
          help_heading = "Load")]
    pub(crate) connections: u32,
    /// Length of the measured window [default: 10s, or none with -n]
    #[arg(short, long, value_name = "T", value_parser = positive_duration, help_heading = "Load")]
    pub(crate) duration: Option<u64>,
    /// Measure this many requests; with -d the first to end wins
    #[arg(short = 'n', long, value_name = "N", value_parser = positive_long,
          help_heading = "Load")]
    pub(crate) requests: Option<u64>,
    /// Constant rate in requests per second over all threads: 20k, 0.5, 100/m
    #[arg(short = 'R', long, value_name = "N", value_parser = rate, help_heading = "Load")]
    pub(crate) rate: Option<Rate>,
    /// How arrivals are spaced under --rate
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Uniform, requires = "rate",
          value_name = "uniform|poisson", hide_possible_values = true, help_heading = "Load")]
    pub(crate) arrivals: ArrivalsChoice,
    /// Seed of random arrivals [default: drawn, and printed]
    #[arg(long, value_name = "N", requires = "rate", help_heading = "Load")]
    pub(crate) seed: Option<u64>,
    /// Load before the window, on the same connections; auto: until it is steady, for at most 1m or
    /// the time after a colon [default: 10% of -d within 2s..10s; 0 with -n alone]
    #[arg(long, value_name = "T|auto[:T]", value_parser = warmup, help_heading = "Load")]
    pub(crate) warmup: Option<Warmup>,
    /// Requests in flight on each connection, 1 to 128
    #[arg(long, value_name = "N", value_parser = pipeline, default_value = "1",
          help_heading = "Load")]
    pub(crate) pipeline: u16,

    /// Add a header, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    pub(crate) headers: Vec<String>,
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "Request")]
    pub(crate) method: Option<String>,
    /// Body: text, or @FILE
    #[arg(short = 'b', long, value_name = "TEXT|@FILE", help_heading = "Request")]
    pub(crate) body: Option<String>,
    /// Longest wait for an answer
    #[arg(short = 'T', long, value_name = "T", value_parser = positive_duration,
          default_value = "10s", help_heading = "Request")]
    pub(crate) timeout: u64,
    /// Longest wait for a connection [default: the timeout]
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = "Request")]
    pub(crate) connect_timeout: Option<u64>,
    /// Lua script that makes requests and sees answers, as wrk's do
    #[arg(short, long, value_name = "FILE", help_heading = "Request")]
    pub(crate) script: Option<PathBuf>,
    /// Accept any certificate from an https server
    #[arg(long, help_heading = "Request")]
    pub(crate) insecure: bool,
    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "Request")]
    pub(crate) cacert: Option<PathBuf>,
    /// Connect to this Unix socket instead of the URL's host
    #[arg(long, value_name = "PATH", help_heading = "Request")]
    pub(crate) unix: Option<PathBuf>,
    /// Skip the single request that looks at the URL before the load
    #[arg(long, help_heading = "Request")]
    pub(crate) no_preflight: bool,

    /// One connection per request: the server closes it, asked to by "Connection: close", or weir
    /// does, after the answer, by a reset, so that it does not run out of ports
    #[arg(long, value_enum, value_name = "server|client", hide_possible_values = true,
          conflicts_with_all = ["pipeline", "requests_per_connection", "connection_lifetime"],
          help_heading = "Connections")]
    pub(crate) close: Option<CloseChoice>,
    /// Renew a connection after this many requests
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Connections")]
    pub(crate) requests_per_connection: Option<u32>,
    /// Renew a connection at this age, as soon as nothing is in flight on it
    #[arg(long, value_name = "T", value_parser = positive_duration,
          help_heading = "Connections")]
    pub(crate) connection_lifetime: Option<u64>,

    /// Connects per second over all threads, renewals included [default: as fast as they go]
    #[arg(long, value_name = "N", value_parser = rate, help_heading = "Connections")]
    pub(crate) connect_rate: Option<Rate>,
    /// Connect from these addresses of this machine in turn: 10.0.0.5, 10.0.0.5-10.0.0.20,
    /// 127.1.0.0/24; repeatable, or with commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Connections")]
    pub(crate) source_ip: Vec<AddressRange>,
    /// Connect to this instead of the URL's host; of several, in turn; repeatable, or with commas
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        value_delimiter = ',',
        conflicts_with = "unix",
        help_heading = "Connections"
    )]
    pub(crate) connect_to: Vec<String>,

    /// I/O engine; auto takes io_uring where it works
    #[arg(long, value_enum, default_value_t = IoChoice::Auto, value_name = "auto|uring|epoll",
          hide_possible_values = true, help_heading = "Engine")]
    pub(crate) io: IoChoice,
    /// How send times are kept: sleep until due (cheapest, some µs late), then spin (hybrid), or
    /// always spin (whole cores) [default: hybrid; sleep with more threads than CPUs]
    #[arg(
        long,
        value_enum,
        value_name = "sleep|hybrid|spin",
        hide_possible_values = true,
        help_heading = "Engine"
    )]
    pub(crate) pacing: Option<PacingChoice>,
    /// How answers are awaited: each at once, without sleeping where that costs nearly nothing
    /// (auto), without sleeping for 100 µs (latency), many at one waking, for at most 100 µs
    /// (throughput), or never asleep (spin)
    #[arg(long, value_enum, default_value_t = WaitChoice::Auto,
          value_name = "auto|latency|throughput|spin", hide_possible_values = true,
          help_heading = "Engine")]
    pub(crate) wait: WaitChoice,
    /// Under --rate wake only every T to send, and send at once what is due by then: cheaper at
    /// high rates, and late by up to T [default: wake for each]
    #[arg(long, value_name = "T", value_parser = positive_duration, requires = "rate",
          help_heading = "Engine")]
    pub(crate) tick: Option<u64>,
    /// Connections that ask the kernel when bytes came and went: what of a latency was weir's own
    #[arg(long, value_enum, default_value_t = TimestampsChoice::Sample,
          value_name = "none|sample|all", hide_possible_values = true, help_heading = "Engine")]
    pub(crate) timestamps: TimestampsChoice,
    /// Have a thread of its own ask now and then what the load asks, to compare: auto where a CPU
    /// is free for it
    #[arg(long, value_enum, default_value_t = WitnessChoice::Auto, value_name = "auto|on|off",
          hide_possible_values = true, help_heading = "Engine")]
    pub(crate) witness: WitnessChoice,

    /// Measure the noise floor first, for a second, against a server within weir; without a URL,
    /// measure that alone
    #[arg(long, help_heading = "Trust")]
    pub(crate) selfcheck: bool,
    /// Was the client the limit? Afterwards, for 40% of -d, alternate with one thread more
    #[arg(long, help_heading = "Trust")]
    pub(crate) prove_client: bool,

    /// Print the whole latency spectrum
    #[arg(short = 'L', long, help_heading = "Output")]
    pub(crate) latency: bool,
    /// Print every rule of the verdict with its figure
    #[arg(long, help_heading = "Output")]
    pub(crate) rules: bool,
    /// Hide the grade and the findings; bounds stay
    #[arg(long, conflicts_with = "rules", help_heading = "Output")]
    pub(crate) no_verdict: bool,
    /// Exit with 3 unless the grade is clean, or at least bounded
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "clean",
          value_name = "clean|bounded", hide_possible_values = true, help_heading = "Output")]
    pub(crate) strict: Option<Strict>,
    /// Print all findings, connect times, the machine and the threads
    #[arg(long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "text|json",
          hide_possible_values = true, help_heading = "Output")]
    pub(crate) format: Format,
    /// Write the whole result, a JSON document, to this file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write every request with its times to this file, as Parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) raw: Option<PathBuf>,
    /// End with 3 unless this holds: 'p99 < 5ms', 'errors == 0', 'rate > 20k'; repeatable
    #[arg(long = "assert", value_name = "CLAIM", value_parser = assertion,
          help_heading = "Output")]
    pub(crate) assertions: Vec<Assertion>,
    /// Fail every --assert that is less certain than this: 95 (percent)
    #[arg(long, value_name = "PERCENT", value_parser = confidence, requires = "assertions",
          help_heading = "Output")]
    pub(crate) assert_confidence: Option<f64>,
    /// Write what came of --assert to this file, as JUnit XML
    #[arg(long, value_name = "FILE", requires = "assertions", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Print the plan as JSON and send nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) print_plan: bool,
    /// No progress line and no report
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Be wrk or wrk2: their flags, their defaults, their report
    #[arg(long, value_name = "wrk|wrk2", help_heading = "Output")]
    pub(crate) compat: Option<String>,
}

impl RunArgs {
    /// What every flag is when it is not given.
    pub(crate) fn defaults() -> RunArgs {
        Cli::parse_from(["weir", "http://localhost/"]).run
    }

    /// The URL; the first of the words.
    pub(crate) fn url(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The words for the script.
    pub(crate) fn script_args(&self) -> impl Iterator<Item = &String> {
        self.words.iter().skip(1).chain(&self.more_words)
    }
}

/// `--arrivals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsChoice {
    /// Evenly spaced
    Uniform,
    /// Independent exponential gaps, as users arrive
    Poisson,
}

/// `--close`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CloseChoice {
    /// The server, asked to by `Connection: close`
    Server,
    /// weir, after the answer
    Client,
}

/// `--io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoChoice {
    /// io_uring where it works, else epoll
    Auto,
    /// io_uring, or fail
    Uring,
    /// epoll
    Epoll,
}

/// `--pacing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacingChoice {
    /// Sleep until due: cheapest, some µs late
    Sleep,
    /// Sleep until shortly before, then spin
    Hybrid,
    /// Spin all the time: takes whole cores
    Spin,
}

/// `--wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitChoice {
    /// What is best for the times and costs next to nothing
    Auto,
    /// For the times
    Latency,
    /// For the client's CPU
    Throughput,
    /// Whole cores
    Spin,
}

/// `--warmup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Warmup {
    /// In nanoseconds; the longest where the load decides.
    pub(crate) span_ns: u64,
    /// The load decides.
    pub(crate) is_auto: bool,
}

/// `--timestamps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsChoice {
    /// No connection
    None,
    /// One connection in sixty-four, and of what it sends one in sixteen
    Sample,
    /// All connections, and all that they send
    All,
}

/// `--witness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WitnessChoice {
    /// Where a CPU is free for it
    Auto,
    /// In any case
    On,
    /// Never
    Off,
}

/// How a document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// `--format`.
    pub(crate) format: Format,
    /// `--latency`.
    pub(crate) spectrum: bool,
    /// Without `--no-verdict`.
    pub(crate) verdict: bool,
    /// `--rules`.
    pub(crate) rules: bool,
    /// `--verbose`.
    pub(crate) verbose: bool,
}

impl RunArgs {
    /// How the document is printed.
    pub(crate) fn form(&self) -> Form {
        Form {
            format: self.format,
            spectrum: self.latency,
            verdict: !self.no_verdict,
            rules: self.rules,
            verbose: self.verbose,
        }
    }
}

impl ReportArgs {
    /// How the document is printed.
    pub(crate) fn form(&self) -> Form {
        Form {
            format: self.format,
            spectrum: self.latency,
            verdict: !self.no_verdict,
            rules: self.rules,
            verbose: self.verbose,
        }
    }
}

/// `--strict`: the worst grade that exits with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strict {
    /// Only clean
    Clean,
    /// Clean or bounded
    Bounded,
}

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The report
    Text,
    /// The document
    Json,
}
