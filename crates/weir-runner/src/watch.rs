//! The watch of the server during a run (docs/WATCHING.md). A thread of low priority reads each
//! source before the run's first request, once per second during the load, and after the drain. It
//! has no access to the load's threads. Readings that fail during the load are counted; one that
//! fails before it ends the run, because its remedy is still cheap then.

mod access_log;
mod command;
pub(crate) mod http;
mod nginx;
mod process;
mod prometheus;
mod readings;
mod shell;
mod sources;
mod statuses;

pub(crate) mod aside;

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use weir_engine::ObserverFactory;
use weir_io::{Clock, Nanos};
use weir_machine::sys;
use weir_result::document::{Capture, ServerLoad, ServerSection};
use weir_result::{Measurements, Note, Plan};
use weir_text::setting::{CAPTURE, WATCH_METRIC, WATCH_PROMETHEUS};

use crate::background::Beside;
use crate::before::preflight::PreflightResult;
use crate::interrupts::Interrupts;
use crate::observer::Observer;
use crate::patience::{Hurry, Patience, text_of};
use crate::prepare::redaction::Redaction;
use crate::prepare::server_wait::ServerWait;
use crate::prepare::tls;
use crate::run::load::LoadOutcome;
use crate::spec::{RunSpec, WatchSpec};
use sources::Sources;
use statuses::Statuses;

/// Interval between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// Time limit of a captured command.
const CAPTURE_PATIENCE: Duration = Duration::from_secs(10);

/// The sources of a run, read once.
#[derive(Debug)]
pub(crate) struct Watch {
    /// A clock of its own: the first readings are before the run's epoch.
    clock: Clock,
    sources: Sources,
    captures: Vec<Capture>,
    statuses: Option<Statuses>,
    redaction: Redaction,
}

/// A watch under way. A run that failed has no use for it and drops it.
#[derive(Debug)]
pub(crate) struct Watching {
    thread: Beside<Watch>,
    /// The run's epoch on the watch's clock.
    epoch: Nanos,
}

impl Watch {
    /// Reads every source for the first time, and runs the commands of `--capture`. Returns `None`
    /// if there is nothing to watch.
    ///
    /// # Errors
    /// When a source cannot be read; the message names the flag.
    pub(crate) fn open(
        run: &RunSpec,
        redaction: &Redaction,
        interrupts: &Interrupts,
        observer: &mut dyn Observer,
    ) -> Result<Option<Watch>> {
        let spec = &run.watch;
        let wait = ServerWait::new(&run.target);
        if spec.is_off() {
            return Ok(None);
        }
        check(spec)?;
        let clock = Clock::start();
        // A page that cannot be read is the user's error: it is not the target.
        let usage = |error: Error| anyhow!("{}", redaction.text(&format!("{error:#}")));
        let sources = Sources::of(spec, &tls::of_pages(&run.tls), &interrupts.hurry);
        let mut sources = sources.map_err(usage)?;
        wait.retry(|| sources.open(clock).map_err(usage), observer)?;
        let captures: Result<_> =
            spec.captures.iter().map(|command| capture(command, redaction)).collect();
        let statuses = spec.access_log.is_some().then(Statuses::default);
        let captures = captures?;
        let redaction = redaction.clone();
        Ok(Some(Watch { clock, sources, captures, statuses, redaction }))
    }

    /// Notes on what is watched, after the first reading.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let failed = self.captures.iter().filter_map(failure_of);
        let failed = failed.map(|text| Note::new("capture_failed", text));
        self.sources.notes().chain(failed).collect()
    }

    /// The factory of observers that the load needs for this watch, if any.
    pub(crate) fn observers(&self) -> Option<ObserverFactory> {
        self.statuses.as_ref().map(Statuses::factory)
    }

    /// Starts to read the sources once per second. `run` is the run's clock.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(mut self, run: Clock) -> Result<Watching> {
        let clock = self.clock;
        let thread = Beside::start("weir-watch", move |end| {
            let _usual = sys::lower_priority();
            let mut due = clock.now();
            while !end.has_come() {
                self.sources.poll(clock, || end.has_come());
                // A source that takes longer delays the next reading, and adds none later.
                due = (due + EVERY).max(clock.now());
                end.sleep_until(clock, due);
            }
            self
        })?;
        let epoch = Nanos(clock.now().since(run.now()));
        Ok(Watching { thread, epoch })
    }
}

impl Watching {
    /// Ends the watch after the drain with a last reading, and returns its section. Servers count
    /// and log a request after its response, so counts take some time to settle. Each reading has a
    /// limit, and a signal ends them.
    pub(crate) fn finish(
        self,
        outcome: &LoadOutcome,
        preflight: &PreflightResult,
        goes_elsewhere: bool,
    ) -> Option<ServerSection> {
        let workers = &outcome.parts.measurements.workers;
        let t0_ns = workers.iter().map(|worker| worker.t0_ns).max().unwrap_or(0);
        let t1_ns = workers.iter().map(|worker| worker.t1_ns).max().unwrap_or(0);
        let watched = WatchedLoad {
            t0: self.epoch.after(t0_ns),
            window_s: t1_ns.saturating_sub(t0_ns) as f64 / 1e9,
            load: load_of(outcome, preflight),
            first_status: preflight.response.as_ref().map(|response| response.status),
            not_compared: not_comparable(&outcome.parts.given.plan, goes_elsewhere),
        };
        self.conclude(watched)
    }

    fn conclude(self, watched: WatchedLoad) -> Option<ServerSection> {
        let ended_at = Instant::now();
        let WatchedLoad { t0, window_s, mut load, first_status, not_compared } = watched;
        let Watch { clock, sources, captures, statuses, redaction } = self.thread.finish()?;
        if let Some(statuses) = &statuses {
            load.status = statuses.counts();
            if let Some(status) = first_status {
                *load.status.entry(status).or_default() += 1;
            }
        }
        let at_s = |at: Nanos| match at >= t0 {
            true => at.since(t0) as f64 / 1e9,
            false => -(t0.since(at) as f64) / 1e9,
        };
        let compared = not_compared.is_none().then_some(&load);
        let mut section = sources.finish(clock, ended_at, compared, &at_s, window_s);
        section.captures = captures;
        (section.weir, section.not_compared) = (load, not_compared);
        redaction.server(&mut section);
        Some(section)
    }
}

/// The load that the server was watched under.
struct WatchedLoad {
    /// Begin of the window on the watch's clock.
    t0: Nanos,
    window_s: f64,
    load: ServerLoad,
    /// Status of the preflight's response, which is in no count of the load.
    first_status: Option<u16>,
    /// Why the server's counts cannot equal those of the load.
    not_compared: Option<String>,
}

/// Checks the choices that depend on each other.
fn check(spec: &WatchSpec) -> Result<()> {
    match (&spec.prometheus, spec.metrics.is_empty()) {
        (Some(_), true) => bail!("{WATCH_PROMETHEUS} needs metrics: name them by {WATCH_METRIC}"),
        (None, false) => bail!("{WATCH_METRIC} needs {WATCH_PROMETHEUS}, the page that has it"),
        _ => Ok(()),
    }
}

/// Runs a command and keeps its output.
fn capture(command: &str, redaction: &Redaction) -> Result<Capture> {
    let patience = Patience::new(CAPTURE_PATIENCE, &Hurry::default());
    let ran = shell::run(command, &patience, true)
        .with_context(|| format!("{CAPTURE} {command:?}: no shell can be started"))?;
    Ok(Capture {
        command: redaction.lines(command),
        exit_status: ran.exit_status,
        output: redaction.lines(&ran.output),
        truncated: ran.truncated,
    })
}

/// Returns what is wrong with the output of a command, if it did not succeed.
fn failure_of(capture: &Capture) -> Option<String> {
    let command = &capture.command;
    match capture.exit_status {
        Some(0) => None,
        Some(code) => Some(format!("{CAPTURE} {command:?} ended with {code}")),
        None => Some(format!(
            "{CAPTURE} {command:?} was ended after {} or by a signal: its output is incomplete",
            text_of(CAPTURE_PATIENCE)
        )),
    }
}

/// Reason why the server's counts cannot equal weir's, if there is one.
fn not_comparable(plan: &Plan, goes_elsewhere: bool) -> Option<String> {
    if plan.part.is_some() {
        return Some("the server counts the requests of all parts".to_owned());
    }
    goes_elsewhere.then(|| "the script sends requests to other addresses".to_owned())
}

/// Counts all requests that weir sent to the target since the watch was opened.
fn load_of(outcome: &LoadOutcome, preflight: &PreflightResult) -> ServerLoad {
    let probe = outcome.parts.beside.probe;
    let load = &outcome.parts.measurements;
    let beside = outcome.parts.beside.witness.as_ref();
    let witness = beside.map(|witness| witness.sent).unwrap_or_default();
    let completed = |of: &Measurements| of.intervals.iter().map(|i| i.completed).sum::<u64>();
    let answered = completed(load)
        + beside.map_or(0, completed)
        + probe.answered
        + u64::from(preflight.response.is_some());
    let sent = preflight.sent + probe.sent + load.sent.total() + witness.total();
    let returned = load.sent.returned + witness.returned;
    let failed = load.sent.failed + probe.failed + witness.failed;
    let requests = sent.saturating_sub(returned);
    ServerLoad {
        requests,
        unanswered: requests.saturating_sub(answered),
        uncertain: returned + failed,
        ..ServerLoad::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    fn open(watch: WatchSpec) -> Result<Option<Watch>> {
        let spec = RunSpec { watch, ..RunSpec::new("http://h/") };
        Watch::open(&spec, &Redaction::of(&spec), &Interrupts::default(), &mut Silent)
    }

    fn words(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn nothing_is_watched_without_a_source() {
        assert!(open(WatchSpec::default()).expect("no source").is_none());
    }

    #[test]
    fn a_source_that_cannot_be_read_names_its_flag() {
        let page = || Some("http://127.0.0.1:1/".to_owned());
        for (watch, part) in [
            (WatchSpec { nginx: page(), ..Default::default() }, "`watch.nginx`"),
            (WatchSpec { nginx: Some("ftp://h/".to_owned()), ..Default::default() }, "https"),
            (WatchSpec { prometheus: page(), ..Default::default() }, "`watch.metrics`"),
            (WatchSpec { metrics: words("a"), ..Default::default() }, "`watch.prometheus`"),
            (
                WatchSpec { prometheus: page(), metrics: words("a"), ..Default::default() },
                "`watch.prometheus`",
            ),
            (
                WatchSpec { processes: words("no such one"), ..Default::default() },
                "`watch.processes`",
            ),
            (WatchSpec { commands: words("exit 1"), ..Default::default() }, "`watch.commands`"),
            (
                WatchSpec { access_log: Some("/no/such/log".into()), ..Default::default() },
                "`watch.access_log`",
            ),
        ] {
            let error = format!("{:#}", open(watch).expect_err(part));
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn captures_keep_no_credentials() {
        let mut spec = RunSpec::new("http://h/");
        spec.request.basic_auth = Some("me:SECRET".to_owned());
        let redaction = Redaction::of(&spec);
        let capture = capture("echo SECRET >&2; exit 4", &redaction).expect("a shell");
        assert_eq!(capture.output, "[redacted]\n");
        assert_eq!(capture.command, "echo [redacted] >&2; exit 4");
        assert_eq!((capture.exit_status, capture.truncated), (Some(4), false));
    }
}
