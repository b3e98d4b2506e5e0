//! A load by the flags of wrk or wrk2, with a report in their layout. Programs also parse standard
//! error, so weir's own report goes to a file, and only if the user names one.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_engine::Extras;
use weir_io::{Endpoint, system};
use weir_report::dialect::{self, Head, Lines};
use weir_report::text::{self, TextOptions};
use weir_result::{Histogram, Note, Rate};

use super::args::CompatArgs;
use super::{Dialect, reach};
use crate::args::{RunArgs, Warmup};
use crate::commands::run::remarks;
use crate::errors::NotWritten;
use crate::exit;
use crate::figures::figures;
use crate::interrupts::Interrupts;
use crate::live::Intervals;
use crate::load::{Epoch, carry_out, document};
use crate::output::{ResultFile, Temporaries};
use crate::plan::{Planned, plan_at};
use crate::preflight::Found;
use crate::script::{self, Scripts};
use crate::target::Url;
use crate::terminal::print;

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
pub(super) fn run(dialect: Dialect, args: &CompatArgs, is_judged: bool) -> Result<ExitCode> {
    let url = url(&args.url)?;
    let wish = wish(args)?;
    let Planned { mut job, mut scripts, mut notes, redaction } =
        plan_at(&wish, &url, reach::reach)?;
    if let (true, Endpoint::Tcp(address)) = (scripts.is_some(), &job.endpoint) {
        reach::first_of(&url, [*address])?;
    }
    job.late_answers = true;
    job.stops_at_t1 = true;
    job.extras = Extras { thread_rates: true, batch_times: args.batch, ..Extras::default() };
    let _as_it_was = system::raise_descriptor_limit();
    let interrupts = Interrupts::await_signals()?;
    let report = report_file(interrupts.temporaries())?;
    let epoch = Epoch::start();
    let job = Arc::new(job);
    print(|out| dialect::write_head(&head(args), out))?;
    let calibrates = dialect == Dialect::Wrk2 && args.duration_s > CALIBRATION_S;
    let watch = calibrates.then_some(calibrate);
    let outcome = carry_out(&job, &epoch, &interrupts, scripts.as_mut(), watch)?;
    if job.tls.is_some() {
        let text =
            "the server's certificate is not verified, as in wrk; weir's own form verifies it";
        notes.push(Note::new("unverified", text));
    }
    notes.extend(remarks(&job, &outcome, false));
    let script_file = scripts.as_ref().map(Scripts::file);
    let found = Found::default();
    let document = document(&job, epoch, &outcome, found, script_file, notes, &redaction)?;
    let figures = figures(&document, &outcome.measurements, args.batch);
    let lines =
        Lines { latency: args.latency, uncorrected: args.uncorrected, sent: args.shows_sent };
    print(|out| dialect::write_results(printed(dialect), &figures, &lines, out))?;
    let reported = report.map_or(Ok(()), |file| {
        let options =
            TextOptions { spectrum: args.latency, verdict: is_judged, ..TextOptions::default() };
        file.write(|mut out| text::write(&document, &options, &mut out))
    });
    for failure in &outcome.failures {
        script::tell(failure);
    }
    if let Some(scripts) = &mut scripts {
        interrupts.reported();
        scripts.finish(outcome.states, &figures)?;
        print(|_| Ok(()))?;
    }
    reported.map_err(|error| NotWritten { place: REPORT, error })?;
    Ok(exit::of_compat_run(!outcome.failures.is_empty()))
}

/// The file for weir's own report, if the environment names one.
fn report_file(temporaries: &Temporaries) -> Result<Option<ResultFile>> {
    let named = std::env::var_os(REPORT).filter(|path| !path.is_empty());
    named.map(|path| ResultFile::at(REPORT, Path::new(&path), temporaries)).transpose()
}

/// Parses the URL without its userinfo, which wrk does not send either.
pub(super) fn url(text: &str) -> Result<Url> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    Url::parse(&format!("{scheme}://{host}{path}"))
}

/// Converts the arguments to weir's own.
pub(super) fn wish(args: &CompatArgs) -> Result<RunArgs> {
    let narrow = |number: u64, flag| {
        u32::try_from(number).map_err(|_| anyhow!("invalid {flag}: {number} is too many"))
    };
    // wrk's scripts set the length by the body, and none is sent here without a script.
    let headers = args.headers.iter().filter(|(name, _)| name != "Content-Length");
    let rate = args.rate.map(|rate| Rate { numerator: rate, denominator: 1 });
    let mut words = vec![args.url.clone()];
    words.extend_from_slice(&args.script_args);
    Ok(RunArgs {
        words,
        threads: Some(narrow(args.threads, "--threads")?),
        connections: narrow(args.connections, "--connections")?,
        duration: Some(args.duration_s * SECOND_NS),
        rate,
        arrivals: args.arrivals,
        warmup: Some(Warmup { span_ns: 0, is_auto: false }),
        headers: headers.map(|(name, value)| format!("{name}: {value}")).collect(),
        timeout: args.timeout_ms * 1_000_000,
        no_preflight: true,
        script: args.script.clone(),
        insecure: true,
        compat: Some(if rate.is_some() { "wrk2" } else { "wrk" }.to_owned()),
        ..RunArgs::defaults()
    })
}

fn head(args: &CompatArgs) -> Head {
    Head {
        duration_s: args.duration_s,
        url: args.url.clone(),
        threads: args.threads,
        connections: args.connections,
    }
}

fn printed(dialect: Dialect) -> dialect::Dialect {
    match dialect {
        Dialect::Wrk => dialect::Dialect::Wrk,
        Dialect::Wrk2 => dialect::Dialect::Wrk2,
    }
}

/// Prints wrk2's calibration line for each thread at the same time as wrk2. weir calibrates nothing
/// and discards nothing; the figures are those of the time so far.
fn calibrate(intervals: &Intervals) {
    let mut so_far: BTreeMap<u32, Histogram> = BTreeMap::new();
    while let Ok(Some((worker, interval))) = intervals.recv() {
        let times = so_far.entry(worker).or_default();
        times.add_sparse(&interval.latency);
        let end_ns = interval.start_ns.saturating_add_unsigned(interval.length_ns);
        if end_ns == (CALIBRATION_S * SECOND_NS) as i64 {
            let mean_ns = times.mean_ns().unwrap_or(0.0) as u64;
            // If standard output is closed, printing the results reports it.
            let _gone = print(|out| dialect::write_calibration(mean_ns, SAMPLING_MS, out));
        }
    }
}
