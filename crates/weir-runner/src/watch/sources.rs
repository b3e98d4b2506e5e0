//! The watched sources, their readings, and the section made of them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use weir_io::{Clock, Nanos};
use weir_result::Note;
use weir_result::document::{
    AccessLogSection, CommandSection, MetricSeries, NginxSample, Point, ProcessSection,
    PrometheusSection, ServerLoad, ServerSection,
};
use weir_text::Setting;
use weir_text::setting::{
    ACCESS_LOG, WATCH_COMMAND, WATCH_NGINX, WATCH_PID, WATCH_PROMETHEUS, WATCH_TIMEOUT,
};

use super::access_log::AccessLog;
use super::command;
use super::http::StatusPage;
use super::nginx;
use super::process::{self, Processes};
use super::prometheus::{self, Sample, Selector};
use super::readings::Readings;
use crate::errors::shown;
use crate::patience::{Hurry, Over, Patience, text_of};
use crate::spec::{TlsSpec, WatchSpec};

/// Time without any change after which nginx's count is final.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

/// Interval between two looks at counts that have not settled.
const SETTLING_EVERY: Duration = Duration::from_millis(50);

/// Maximum series of one metric's name: one for each set of labels.
const SERIES_MAX: usize = 64;

/// The limits of readings.
#[derive(Clone, Debug)]
struct ReadingLimits {
    page: Duration,
    command: Duration,
    /// Time without a new line after which the access log is complete.
    log_pause: Duration,
    /// All readings after the load.
    end: Duration,
    /// End of the load, once it has come.
    ended_at: Option<Instant>,
    hurry: Hurry,
}

impl ReadingLimits {
    fn of(spec: &WatchSpec, hurry: &Hurry) -> ReadingLimits {
        let given = spec.timeout_ns.map(Duration::from_nanos);
        let seconds = |default| given.unwrap_or(Duration::from_secs(default));
        ReadingLimits {
            page: seconds(2),
            command: seconds(5),
            log_pause: seconds(2),
            end: seconds(5).saturating_mul(2),
            ended_at: None,
            hurry: hurry.clone(),
        }
    }

    fn for_page(&self) -> Patience {
        self.patience(self.page, self.end)
    }

    /// Commands may not take the time of the pages that are read after them.
    fn for_command(&self) -> Patience {
        self.patience(self.command, self.command)
    }

    /// Limits of all that follows the load.
    fn for_end(&self) -> Patience {
        self.patience(self.end, self.end)
    }

    /// Limits of a wait for `limit`, which ends `end` after the load.
    fn patience(&self, limit: Duration, end: Duration) -> Patience {
        let until = self.ended_at.map(|ended_at| ended_at + end);
        Patience::new(limit, &self.hurry).capped(until)
    }
}

/// Numbers of a command, by name.
type NamedNumbers = BTreeMap<String, f64>;

/// Values of a metrics page that were chosen, with their types.
type Metrics = Vec<(Sample, &'static str)>;

/// All sources of a watch.
#[derive(Debug)]
pub(super) struct Sources {
    spec: WatchSpec,
    nginx: Option<(StatusPage, Readings<NginxSample>)>,
    prometheus: Option<(StatusPage, Readings<Metrics>)>,
    selectors: Vec<Selector>,
    processes: Vec<(Processes, Readings<process::Reading>)>,
    commands: Vec<(String, Readings<NamedNumbers>)>,
    access_log: Option<AccessLog>,
    /// Requests for pages of nginx up to its first reading.
    sent_before: u64,
    limits: ReadingLimits,
}

impl Sources {
    /// Checks the sources of a specification; `choices` are for the TLS of its pages, and `hurry`
    /// ends a reading. Reads nothing.
    ///
    /// # Errors
    /// When a value is wrong, or a host has no address.
    pub(super) fn of(spec: &WatchSpec, choices: &TlsSpec, hurry: &Hurry) -> Result<Sources> {
        let page = |setting: Setting, url: &Option<String>| {
            let page = url
                .as_ref()
                .map(|url| StatusPage::of(url, choices).with_context(|| setting.to_string()));
            page.transpose()
        };
        let nginx = page(WATCH_NGINX, &spec.nginx)?;
        let prometheus = page(WATCH_PROMETHEUS, &spec.prometheus)?;
        let selectors = spec.metrics.iter().map(|text| Selector::parse(text));
        let processes = spec.processes.iter().map(|name| Processes::of(name));
        let commands = spec.commands.iter().cloned();
        Ok(Sources {
            nginx: nginx.map(|page| (page, Readings::default())),
            prometheus: prometheus.map(|page| (page, Readings::default())),
            selectors: selectors.collect::<Result<_>>()?,
            processes: processes.map(|processes| (processes, Readings::default())).collect(),
            commands: commands.map(|command| (command, Readings::default())).collect(),
            access_log: None,
            sent_before: 0,
            limits: ReadingLimits::of(spec, hurry),
            spec: spec.clone(),
        })
    }

    /// Reads every source for the first time. It may be repeated after a failure.
    ///
    /// # Errors
    /// When a source cannot be read; the message names the setting and the remedy.
    pub(super) fn open(&mut self, clock: Clock) -> Result<()> {
        if let Some(path) = &self.spec.access_log {
            let pages = self.own_pages().map(|page| page.site.url.path.clone());
            let log = AccessLog::open(path, pages.collect());
            let log = log.map_err(|error| {
                anyhow!("{ACCESS_LOG} {}: {error}; give a log that weir may read", shown(path))
            })?;
            self.access_log = Some(log);
        }
        let limits = &self.limits;
        if let Some((page, readings)) = &mut self.nginx {
            let remedy = "give the URL of a location with stub_status";
            let read = || read_nginx(page, &limits.for_page());
            readings.begin(clock, WATCH_NGINX, remedy, read)?;
        }
        self.sent_before = self.sent_to_nginx();
        let limits = &self.limits;
        if let Some((page, readings)) = &mut self.prometheus {
            let remedy = "give the URL of a page with the metric";
            let read = || read_metrics(page, &self.selectors, &limits.for_page());
            readings.begin(clock, WATCH_PROMETHEUS, remedy, read)?;
        }
        for (processes, readings) in &mut self.processes {
            let source = format!("{WATCH_PID} {}", processes.name);
            let remedy = "start the server, or give its number";
            readings.begin(clock, source, remedy, || processes.read())?;
        }
        for (command, readings) in &mut self.commands {
            let source = format!("{WATCH_COMMAND} {command:?}");
            let remedy = "print a number, or name=value pairs";
            let read = || command::call(command, &limits.for_command());
            readings.begin(clock, source, remedy, read)?;
        }
        Ok(())
    }

    /// Notes on what is watched.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> {
        let several =
            self.processes.iter().filter_map(|(processes, _)| processes.several_servers());
        several.map(|text| Note::new("several_servers", text))
    }

    /// Reads every source until `is_over`. nginx comes last, so that its last reading covers the
    /// requests of all.
    pub(super) fn poll(&mut self, clock: Clock, is_over: impl Fn() -> bool) {
        let limits = &self.limits;
        for (processes, readings) in &mut self.processes {
            readings.record(clock, || processes.read());
        }
        if let Some((page, readings)) = self.prometheus.as_mut().filter(|_| !is_over()) {
            let selectors = &self.selectors;
            readings.record(clock, || read_metrics(page, selectors, &limits.for_page()));
        }
        for (command, readings) in &mut self.commands {
            // A call that ended after the load was the last one: it may have taken all its time.
            let is_done = limits.ended_at.is_some_and(|end| readings.ended_at > Some(end));
            if !is_over() && !is_done && limits.for_command().left().is_ok() {
                readings.record(clock, || command::call(command, &limits.for_command()));
            }
        }
        if let Some((page, readings)) = self.nginx.as_mut().filter(|_| !is_over()) {
            readings.record(clock, || read_nginx(page, &limits.for_page()));
        }
    }

    /// Reads every source for the last time, waits until the counts that are compared with `load`
    /// have settled, and makes the section. The load has ended at `ended_at`. `at_s` converts times
    /// to seconds from t0.
    pub(super) fn finish(
        mut self,
        clock: Clock,
        ended_at: Instant,
        load: Option<&ServerLoad>,
        at_s: &impl Fn(Nanos) -> f64,
        window_s: f64,
    ) -> ServerSection {
        self.limits.ended_at = Some(ended_at);
        self.poll(clock, || false);
        if let Some(load) = load {
            self.settle_nginx(clock, load.requests);
        }
        let requests = load.map_or(u64::MAX, |load| load.requests);
        let access_log = self.finish_log(requests, load);
        let own_requests = self.sent_to_nginx() - self.sent_before;
        let nginx = self.nginx.map(|(_, readings)| {
            let timed =
                |(at, sample): (Nanos, NginxSample)| NginxSample { at_s: at_s(at), ..sample };
            let values = readings.values.into_iter();
            let series: Vec<NginxSample> = values.map(timed).collect();
            let after = readings.last.and_then(|_| series.last().copied());
            let url = self.spec.nginx.clone().unwrap_or_default();
            nginx::section(url, readings.polls, series, after, own_requests, load)
        });
        let processes = self.processes.into_iter().map(|(processes, readings)| -> ProcessSection {
            processes.section(readings.polls, &readings.values, at_s, window_s)
        });
        let url = self.spec.prometheus.clone().unwrap_or_default();
        ServerSection {
            nginx,
            access_log,
            processes: processes.collect(),
            prometheus: self.prometheus.map(|(_, readings)| metrics(url, readings, at_s)),
            commands: self.commands.into_iter().map(|(c, r)| numbers(c, r, at_s)).collect(),
            ..ServerSection::default()
        }
    }

    /// Reads nginx again until it has counted all requests, or its count no longer changes.
    fn settle_nginx(&mut self, clock: Clock, requests: u64) {
        let mut changed_at = Instant::now();
        let mut counted = 0;
        loop {
            let own = self.sent_to_nginx() - self.sent_before;
            let limits = &self.limits;
            let Some((page, readings)) = &mut self.nginx else { return };
            let before = readings.values.first().map_or(0, |(_, sample)| sample.requests);
            // After a failed reading the count is not known, and it is repeated likewise.
            let grown = readings.last.map_or(0, |sample| sample.requests.saturating_sub(before));
            let now = grown.saturating_sub(own);
            if now != counted {
                (counted, changed_at) = (now, Instant::now());
            }
            let is_settled = counted >= requests || changed_at.elapsed() >= SETTLED_AFTER;
            if is_settled || limits.for_end().left().is_err() {
                return;
            }
            thread::sleep(SETTLING_EVERY);
            readings.record(clock, || read_nginx(page, &limits.for_page()));
        }
    }

    /// Reads the access log until it has a line for each request, or grows no longer. A log that
    /// other lines keep growing has a limit.
    fn finish_log(&mut self, requests: u64, load: Option<&ServerLoad>) -> Option<AccessLogSection> {
        let polls = self.polls_of_pages();
        let mut log = self.access_log.take()?;
        let mut changed_at = Instant::now();
        let patience = self.limits.for_end();
        log.read();
        while log.lines_without(&polls) < requests && changed_at.elapsed() < self.limits.log_pause {
            if let Err(over) = patience.left() {
                log.give_up(unfinished_log(over));
                break;
            }
            thread::sleep(SETTLING_EVERY);
            if log.read() {
                changed_at = Instant::now();
            }
        }
        Some(log.section(load, &polls))
    }

    /// The watched pages whose requests the server counts: nginx's page and one beside it, or the
    /// only one.
    fn own_pages(&self) -> impl Iterator<Item = &StatusPage> {
        let nginx = self.nginx.as_ref().map(|(page, _)| page);
        let other = self.prometheus.as_ref().map(|(page, _)| page);
        let is_beside = |page: &&StatusPage| nginx.is_none_or(|nginx| nginx.is_beside(page));
        nginx.into_iter().chain(other.filter(is_beside))
    }

    fn sent_to_nginx(&self) -> u64 {
        self.own_pages().map(|page| page.site.sent).sum()
    }

    /// Requests for watched pages, by path.
    fn polls_of_pages(&self) -> BTreeMap<String, u64> {
        let mut polls = BTreeMap::new();
        for page in self.own_pages() {
            *polls.entry(page.site.url.path.clone()).or_default() += page.site.sent;
        }
        polls
    }
}

/// Reason why the last lines of the access log were not awaited.
fn unfinished_log(over: Over) -> String {
    match over {
        Over::Late(limit) => format!(
            "the access log was still growing {} after the load: give more time with \
             {WATCH_TIMEOUT}",
            text_of(limit)
        ),
        Over::Signal => "a signal ended the wait for the last lines".to_owned(),
    }
}

fn read_nginx(page: &mut StatusPage, patience: &Patience) -> Result<NginxSample, String> {
    let text = page.read(patience).map_err(|error| error.to_string())?;
    nginx::parse(&text).ok_or_else(|| "the page is not that of stub_status".to_owned())
}

/// Reads a metrics page; each selector must choose at least one of its samples.
fn read_metrics(
    page: &mut StatusPage,
    selectors: &[Selector],
    patience: &Patience,
) -> Result<Metrics, String> {
    let text = page.read(patience).map_err(|error| error.to_string())?;
    let mut chosen = Metrics::new();
    for selector in selectors {
        let samples = prometheus::samples(&text).filter(|sample| selector.matches(sample));
        let before = chosen.len();
        let kind = prometheus::kind(&text, &selector.name);
        chosen.extend(samples.take(SERIES_MAX).map(|sample| (sample, kind)));
        if chosen.len() == before {
            return Err(format!("the page has no metric {:?} with these labels", selector.name));
        }
    }
    Ok(chosen)
}

/// Sorts the samples of all readings into series.
fn metrics(
    url: String,
    readings: Readings<Metrics>,
    at_s: &impl Fn(Nanos) -> f64,
) -> PrometheusSection {
    let mut series: BTreeMap<(String, BTreeMap<String, String>), MetricSeries> = BTreeMap::new();
    for (at, samples) in readings.values {
        for (Sample { name, labels, value }, kind) in samples {
            let entry = series.entry((name.clone(), labels.clone())).or_insert_with(|| {
                MetricSeries { name, kind: kind.to_owned(), labels, points: Vec::new() }
            });
            // Two selectors may choose one sample.
            let at_s = at_s(at);
            if entry.points.last().is_none_or(|point| point.at_s < at_s) {
                entry.points.push(Point { at_s, value });
            }
        }
    }
    PrometheusSection { url, polls: readings.polls, metrics: series.into_values().collect() }
}

/// Sorts the numbers of all calls into series.
fn numbers(
    command: String,
    readings: Readings<NamedNumbers>,
    at_s: &impl Fn(Nanos) -> f64,
) -> CommandSection {
    let mut series: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for (at, numbers) in readings.values {
        for (name, value) in numbers {
            let point = Point { at_s: at_s(at), value: Some(value) };
            series.entry(name).or_default().push(point);
        }
    }
    CommandSection { command, polls: readings.polls, series }
}
