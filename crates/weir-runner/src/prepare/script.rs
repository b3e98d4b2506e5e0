//! The user's script around a run: loaded and set up before it, and called with the results after
//! it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use weir_engine::ScriptFailure;
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_machine::Root;
use weir_report::dialect::Figures;
use weir_result::document::{Input, InputRole};
use weir_result::{Callback, Histogram, Measurements, Note, Plan};
use weir_script::{
    Calling, Errors, Main, Mode, NO_ENGINE, Options, ScriptError, Statistics, Summary,
};
use weir_text::setting::{CONNECTIONS, RATE, SCRIPT, SCRIPT_MEMORY, WARMUP};
use weir_text::units;

use crate::errors::shown;
use crate::input::read_input;
use crate::prepare::headers::headers;
use crate::prepare::planned::Planned;
use crate::prepare::watchdog::{OnStuck, Watchdog};
use crate::spec::url::Url;
use crate::spec::{AddressFamily, InputFile, RunSpec};

/// Maximum memory of one state, in bytes; less if many states share the machine.
const STATE_MAX_BYTES: u64 = 1 << 30;

/// Minimum memory limit of one state, in bytes: a script without data takes a tenth of it.
const STATE_MIN_BYTES: u64 = 4 << 20;

/// Maximum size of a script, in bytes.
const SCRIPT_MAX_BYTES: u64 = 64 << 20;

/// Duration, in nanoseconds, from which a single call causes a note: every connection of the thread
/// waits for it.
const LONG_CALL_NS: u64 = 50_000_000;

/// Shares of the threads' time from which callbacks cause a note: in all calls, and in long calls.
const LARGE_SHARE: f64 = 0.25;
const LONG_SHARE: f64 = 0.01;

/// Share of the threads' time from which the script is the reason that requests are not ready.
/// Below it, the script lacked CPU time.
const BUSY_SHARE: f64 = 0.5;

/// Share of the requests above which those not ready in time cause a note.
const DRY_SHARE: f64 = 0.001;

/// The states of a script.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) main: Main,
    pub(crate) file: PathBuf,
    calling: Arc<Calling>,
    on_stuck: OnStuck,
    /// Watches the calls before the load; dropped before it starts.
    watchdog: Option<Watchdog>,
    /// True if the script creates requests while the load runs.
    pub(crate) makes_requests: bool,
    /// True if the script decides what is sent when, which excludes `--pipeline`.
    pub(crate) sets_the_pace: bool,
    /// True if functions of the script take a connection, which excludes HTTP/2.
    pub(crate) takes_connections: bool,
    /// Addresses of its threads, if the script sets them.
    addresses: Vec<SocketAddr>,
    /// True if the script has a `done()`.
    pub(crate) has_done: bool,
}

impl Scripts {
    /// Loads the script of a specification for a run of `threads` threads, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or fails.
    pub(crate) fn load(
        spec: &RunSpec,
        url: &Url,
        threads: u32,
        on_stuck: &OnStuck,
    ) -> Result<Planned<Option<Scripts>>> {
        let Some(script) = &spec.script else { return Ok(Planned::of(None)) };
        let file = &script.file.path;
        let calling = Arc::new(Calling::default());
        let (source, input) = source(&script.file)?;
        let watchdog = Watchdog::start(&calling, file, on_stuck);
        let options = Options {
            file: file.clone(),
            source,
            url: spec.target.url.clone(),
            scheme: url.scheme().to_owned(),
            host: url.host.clone(),
            port: url.port.map(|port| port.to_string()),
            is_ipv4: spec.target.family.map(|family| family == AddressFamily::Ipv4),
            path: url.path.clone(),
            headers: headers(spec),
            args: script.args.clone(),
            sends_both_lengths: spec.compat.is_some(),
            mode: match spec.load.is_open_loop() {
                true => Mode::ConstantRate,
                false => Mode::ClosedLoop,
            },
            memory_limit_bytes: state_limit(threads.into()),
            calling: Arc::clone(&calling),
        };
        let main = Main::load(options).map_err(failed)?;
        let scripts = Scripts {
            main,
            file: file.clone(),
            calling,
            on_stuck: *on_stuck,
            watchdog: Some(watchdog),
            makes_requests: false,
            sets_the_pace: false,
            takes_connections: false,
            addresses: Vec::new(),
            has_done: false,
        };
        Ok(Planned::read(Some(scripts), vec![input]))
    }

    /// Resolves the server's address with the script's `wrk.resolve`.
    pub(crate) fn resolve(&mut self) -> Result<SocketAddr> {
        let addresses = self.main.resolve().map_err(failed)?;
        addresses.first().copied().context("the host of the URL has no address")
    }

    /// Creates a state for each thread. Returns the method and the request that the first one sends
    /// if it has no `request()`.
    ///
    /// # Errors
    /// When a callback fails, or the script's request is not an HTTP request.
    pub(crate) fn set_up(&mut self, url: &Url, threads: u32) -> Result<(String, Prepared)> {
        for _ in 0..threads {
            self.main.add_worker().map_err(failed)?;
        }
        self.has_done = self.main.has_done().map_err(failed)?;
        let workers = self.main.take_workers();
        for worker in &workers {
            let calls = worker.calls();
            self.makes_requests |= calls.request;
            self.addresses.extend(worker.address());
            self.sets_the_pace |= calls.request || calls.delay || calls.takes_connections;
            self.takes_connections |= calls.takes_connections;
        }
        let first = workers.first().context("there is no thread")?;
        let plain = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", url.path, url.authority());
        let bytes = match first.static_request() {
            // The script replaced `wrk.init` and makes every request itself.
            [] if self.makes_requests => plain.as_bytes(),
            bytes => bytes,
        };
        let file = shown(&self.file);
        let request = Prepared::raw(bytes)
            .map_err(|error| anyhow!("{file}: wrk.request() returned no HTTP request: {error}"));
        let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        let method = String::from_utf8_lossy(method).into_owned();
        self.main.return_workers(workers);
        self.watchdog = None;
        Ok((method, request?))
    }

    /// True if all of its threads go to `endpoint`.
    pub(crate) fn goes_to(&self, endpoint: &Endpoint) -> bool {
        self.addresses.iter().all(|address| *endpoint == Endpoint::Tcp(*address))
    }

    /// Takes the states back after the run, and calls `teardown()` and `done()`.
    ///
    /// # Errors
    /// When one of them fails.
    pub(crate) fn finish(
        &mut self,
        states: Vec<weir_script::WorkerState>,
        figures: &Figures,
    ) -> Result<()> {
        self.main.return_workers(states);
        let _watchdog = Watchdog::start(&self.calling, &self.file, &self.on_stuck);
        self.main.teardown().map_err(failed)?;
        if !self.has_done {
            return Ok(());
        }
        let summary = Summary {
            duration_us: figures.run_time_ns / 1_000,
            requests: figures.requests,
            bytes: figures.bytes,
            errors: Errors {
                connect: figures.errors.connect,
                read: figures.errors.read,
                write: figures.errors.write,
                status: figures.bad_status,
                timeout: figures.errors.timeout,
            },
        };
        let latency = statistics(&figures.latency, weir_result::distinct_us(&figures.latency), 1e3);
        let rates = &figures.thread_rates;
        let requests = statistics(rates, weir_result::distinct(rates), 1.0);
        self.main.done(&summary, &latency, &requests).map_err(failed)
    }
}

/// Content of a script, if the states do not read the file themselves.
type ScriptText = Option<Arc<[u8]>>;

/// The content of a script from a pipe, which can be read only once, or of a specification that
/// keeps it; `None` for a regular file, which each state reads itself. With it, the description of
/// the file.
///
/// # Errors
/// When the file is not the one that was specified, or a pipe cannot be read.
fn source(file: &InputFile) -> Result<(ScriptText, Input)> {
    let path = &file.path;
    let mut source = file.content.clone().unwrap_or_default();
    if file.content.is_none() {
        source = read_input(SCRIPT, path, SCRIPT_MAX_BYTES)?;
        if fs::metadata(path).map_or(true, |found| found.is_file()) {
            return Ok((None, file.verify(InputRole::Script, &source)?));
        }
    }
    let input = file.verify(InputRole::Script, &source)?;
    Ok((Some(source.into()), input))
}

/// Memory limit of one state, in bytes: an equal share of half the machine's memory.
fn state_limit(threads: u64) -> usize {
    let machine = weir_machine::memory_total_bytes(&Root::machine()).unwrap_or(0);
    let share = machine / 2 / threads;
    share.clamp(STATE_MIN_BYTES, STATE_MAX_BYTES) as usize
}

fn statistics(histogram: &Histogram, values: Vec<(u64, u64)>, unit: f64) -> Statistics {
    Statistics {
        values,
        mean: histogram.mean_ns().unwrap_or(0.0) / unit,
        stdev: histogram.stdev_ns().unwrap_or(0.0) * sampled(histogram.count()) / unit,
    }
}

/// Factor from the standard deviation of a population to a sample's, which divides by n − 1.
fn sampled(count: u64) -> f64 {
    if count < 2 { 0.0 } else { (count as f64 / (count - 1) as f64).sqrt() }
}

/// Converts a script's failure to a user error.
fn failed(error: ScriptError) -> anyhow::Error {
    let ScriptError { callback, message } = error;
    match callback {
        NO_ENGINE => anyhow!("{SCRIPT}: {message}"),
        "load" => anyhow!("the script does not load: {message}"),
        _ => anyhow!("{callback}() of the script failed: {message}"),
    }
}

/// Describes the failure of a script during the load, in one line.
pub(crate) fn describe(failure: &ScriptFailure) -> String {
    let ScriptFailure { worker, error } = failure;
    let what = error.message.lines().next().unwrap_or_default();
    format!("{}() of the script failed in thread {}: {what}", error.callback, worker + 1)
}

/// Describes failures: each in one line, and the calls that led to it, one per line.
pub(crate) fn failures(failures: &[ScriptFailure]) -> Vec<(String, String)> {
    let calls = |message: &str| message.split_once('\n').map_or("", |(_, calls)| calls).to_owned();
    failures.iter().map(|it| (describe(it), calls(&it.error.message))).collect()
}

/// The notes on the script: its share of the client's time, cut bodies, stopped threads.
pub(crate) fn notes(plan: &Plan, measurements: &Measurements, has_failed: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    let Some(usage) = &measurements.script else { return notes };
    let spans = measurements.workers.iter();
    let time_ns: u64 = spans.map(|worker| worker.tail_end_ns.saturating_sub(worker.start_ns)).sum();
    if time_ns == 0 {
        // The run was over before it began.
        return notes;
    }
    let share_of = |ns: u64| ns as f64 / time_ns as f64;
    let mut busy = 0.0;
    for (callback, usage) in &usage.callbacks {
        let share = share_of(usage.time_ns);
        busy += share;
        let is_long = usage.longest_ns >= LONG_CALL_NS || share_of(usage.long_ns) >= LONG_SHARE;
        if !is_long && share < LARGE_SHARE {
            continue;
        }
        notes.push(Note::new(
            "script_holds_worker",
            format!(
                "{}() of the script took {:.1}% of the threads' time, its longest call {}: \
                 a thread neither sends nor receives during a call",
                callback.name(),
                share * 100.0,
                units::duration(usage.longest_ns),
            ),
        ));
    }
    if usage.bodies_cut > 0 {
        let text = format!(
            "{} bodies were cut before response() (wrk.body_cut()): the limit is {SCRIPT_MEMORY} \
             for all and 64 MiB for one; raise it or lower {CONNECTIONS}",
            units::count(usage.bodies_cut)
        );
        notes.push(Note::new("script_bodies_cut", text));
    }
    if usage.stopped > 0 && !has_failed {
        let stopped = usage.stopped;
        let threads = plan.own_threads();
        let t0_ns = measurements.workers.iter().map(|worker| worker.t0_ns).max().unwrap_or(0);
        let ends = measurements.workers.iter().map(|worker| worker.t1_ns.saturating_sub(t0_ns));
        let first_end = units::duration(ends.min().unwrap_or(0));
        let mut text = format!(
            "the script ended {stopped} of {threads} threads early, the first {first_end} into \
             the window"
        );
        if measurements.results.planned == 0 && plan.load.warmup.span_ns > 0 {
            text += &format!(", in the warm-up: {WARMUP} 0 measures from the start");
        }
        notes.push(Note::new("script_stopped", text));
    }
    let sent = measurements.sent;
    let all_sent = sent.warmup + sent.measured + sent.tail;
    if usage.ran_dry as f64 > all_sent as f64 * DRY_SHARE && busy >= BUSY_SHARE {
        let request = usage.callbacks.get(&Callback::Request).copied().unwrap_or_default();
        notes.push(Note::new(
            "script_too_slow",
            format!(
                "{} of {} requests were not ready when they were due: request() takes {} on \
                 average over {} threads; lower {RATE}, add threads, or do less in it",
                units::count(usage.ran_dry),
                units::count(all_sent),
                units::duration(request.time_ns / request.calls.max(1)),
                plan.own_threads(),
            ),
        ));
    }
    notes
}
