//! A load by the flags of wrk or wrk2, with a report in their layout. Programs also parse standard
//! error, so weir's own report goes to a file, and only if the user names one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use weir_report::dialect::{self, Head};
use weir_report::text::{self, TextOptions};
use weir_result::{Histogram, Interval, Load, Plan, Rate, Warmup};
use weir_runner::{
    CheckSpec, CompatSpec, EngineSpec, Finished, HttpChoice, HttpSpec, InputFile, Observer, Phase,
    RequestSpec, RunSpec, Runner, ScriptSpec, TlsSpec, WitnessChoice,
};

use super::Dialect;
use super::args::CompatArgs;
use crate::args::load::due_at;
use crate::args::request::header;
use crate::commands::run::print_source_failures;
use crate::errors::NotWritten;
use crate::interrupts::SignalState;
use crate::output::{ResultFile, Temporaries};
use crate::terminal::{self, print};
use crate::{exit, runner};

const SECOND_NS: u64 = 1_000_000_000;

/// The environment variable with the file for weir's own report.
const REPORT: &str = "WEIR_REPORT";

/// Time after which wrk2 prints its calibration lines, in seconds.
const CALIBRATION_S: u64 = 10;

/// Sampling interval of a thread's rate, in milliseconds.
const SAMPLING_MS: u64 = 100;

/// Runs the load.
///
/// # Errors
/// When the load cannot run, or its results cannot be printed.
pub(super) fn run(
    dialect: Dialect,
    args: &CompatArgs,
    abort: &[String],
    is_judged: bool,
) -> Result<ExitCode> {
    let mut spec = spec(dialect, args, std::env::args_os())?;
    spec.load.abort = abort.to_vec();
    let mut lines = HeadLines::of(dialect, args);
    let prepared = runner::of(&spec).prepare(&spec, &mut lines)?;
    let interrupts = SignalState::await_signals()?;
    let file = report_file(&interrupts.temporaries)?;
    let finished = prepared.run(&interrupts.runs, None, &mut lines);
    lines.printed?;
    report(dialect, args, finished?, file, is_judged)
}

/// Prints the results in the tool's layout, and writes weir's own report to `file`.
fn report(
    dialect: Dialect,
    args: &CompatArgs,
    mut finished: Finished,
    file: Option<ResultFile>,
    is_judged: bool,
) -> Result<ExitCode> {
    if let Some(figures) = &finished.figures {
        print(|out| dialect::write_results(dialect, figures, &args.blocks, out))?;
    }
    let reported = file.map_or(Ok(()), |file| {
        let spectrum = args.blocks.latency;
        let verdict = is_judged;
        let options = TextOptions { spectrum, verdict, ..TextOptions::default() };
        file.write(|mut out| text::write(&finished.document, &options, &mut out))
    });
    print_source_failures(&finished);
    if finished.finish_script()? {
        print(|_| Ok(()))?;
    }
    reported?;
    if finished.has_source_failed() {
        return Ok(ExitCode::from(exit::COMPAT_FAILED));
    }
    let aborted = exit::aborted(&finished.document);
    Ok(aborted.map_or(ExitCode::SUCCESS, |(code, text)| {
        terminal::eprint_line(format_args!("error: {text}"));
        ExitCode::from(code)
    }))
}

/// The file for weir's own report, if the environment names one.
fn report_file(temporaries: &Temporaries) -> Result<Option<ResultFile>> {
    let named = std::env::var_os(REPORT).filter(|path| !path.is_empty());
    named.map(|path| ResultFile::at(REPORT, Path::new(&path), temporaries)).transpose()
}

/// Converts the arguments to the specification of a run. `argv` is the command line for the
/// document.
pub(super) fn spec(
    dialect: Dialect,
    args: &CompatArgs,
    argv: impl IntoIterator<Item = OsString>,
) -> Result<RunSpec> {
    let narrow = |number: u64, flag| {
        u32::try_from(number).map_err(|_| anyhow!("invalid {flag}: {number} is too many"))
    };
    // wrk's scripts set the length by the body, and none is sent here without a script.
    let headers = args.headers.iter().filter(|(name, _)| name != "Content-Length");
    let headers = headers.map(|(name, value)| header(name, value)).collect();
    let rate = args.rate.map(|rate| Rate { numerator: rate, denominator: 1 });
    let timeout_ns = args.timeout_ms * 1_000_000;
    let mut spec = RunSpec {
        request: RequestSpec { headers, ..RequestSpec::default() },
        http: HttpSpec { version: HttpChoice::Http11, ..HttpSpec::default() },
        tls: TlsSpec { insecure: true, ..TlsSpec::default() },
        script: args.script.as_ref().map(|file| ScriptSpec {
            file: InputFile::at(file),
            args: args.script_args.clone(),
            ..ScriptSpec::default()
        }),
        load: Load {
            due: due_at(rate, args.arrivals, None),
            connections: (narrow(args.head.connections, "--connections")?).into(),
            warmup: Warmup::default(),
            duration_ns: Some(args.head.duration_s * SECOND_NS),
            timeout_ns,
            connect_timeout_ns: timeout_ns,
            ..Load::default()
        },
        engine: EngineSpec {
            threads: Some(narrow(args.head.threads, "--threads")?),
            ..EngineSpec::default()
        },
        checks: CheckSpec { preflight: false, witness: WitnessChoice::Off, ..CheckSpec::default() },
        compat: Some(CompatSpec { dialect, batch_times: args.batch }),
        ..RunSpec::new(&args.head.url)
    };
    spec.set_command(argv);
    Ok(spec)
}

/// The lines that are printed before the results: the head, and wrk2's calibration line for each
/// thread at the same time as wrk2. weir calibrates nothing and discards nothing; the figures cover
/// the time so far.
struct HeadLines {
    head: Head,
    /// Times of each thread so far; `None` if there are no such lines.
    so_far: Option<BTreeMap<u32, Histogram>>,
    /// The result of printing the head.
    printed: Result<(), NotWritten>,
}

impl HeadLines {
    fn of(dialect: Dialect, args: &CompatArgs) -> HeadLines {
        let calibrates = dialect == Dialect::Wrk2 && args.head.duration_s > CALIBRATION_S;
        HeadLines {
            head: args.head.clone(),
            so_far: calibrates.then(BTreeMap::new),
            printed: Ok(()),
        }
    }
}

impl Observer for HeadLines {
    fn phase(&mut self, phase: Phase, _plan: &Plan) {
        if phase == Phase::Load {
            self.printed = print(|out| dialect::write_head(&self.head, out));
        }
    }

    fn is_live(&self) -> bool {
        self.so_far.is_some()
    }

    fn worker_interval(&mut self, worker: u32, interval: &Interval) {
        let Some(so_far) = &mut self.so_far else { return };
        let times = so_far.entry(worker).or_default();
        times.add_sparse(&interval.latency);
        if interval.end_ns() == (CALIBRATION_S * SECOND_NS) as i64 {
            let mean_ns = times.mean_ns().unwrap_or(0.0) as u64;
            // If standard output is closed, printing the results reports it.
            let _gone = print(|out| dialect::write_calibration(mean_ns, SAMPLING_MS, out));
        }
    }
}
