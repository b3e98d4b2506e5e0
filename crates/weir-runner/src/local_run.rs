//! A planned run: its checks, its load, and the document of its outcome.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_engine::{Job, ObserverFactory};
use weir_io::Nanos;
use weir_machine::sys;
use weir_result::document::{
    DocumentParts, Input, Probed, ProveClientSection, Run, SelfcheckSection,
};
use weir_result::{Document, HttpPlan, MessageProtocol, MissExample, Note, Plan, SideRecords};
use weir_text::setting::{DEBUG, PROVE_CLIENT, SCRIPT};

use crate::after::figures::figures;
use crate::after::remarks::remarks;
use crate::after::{environment, prove_client};
use crate::before::preflight::{self, ExchangeTrace, PreflightResult};
use crate::before::setup::RunningSetup;
use crate::before::walk::{TracedExchange, TracedStep, walk};
use crate::before::{probe, selfcheck};
use crate::errors::{Error, Interrupted};
use crate::finished::Finished;
use crate::interrupts::Interrupts;
use crate::observer::{Observer, Phase, Silent};
use crate::prepare::list::first_lines;
use crate::prepare::load::{JobStart, PreparedLoad};
use crate::prepare::messages::{self, PreparedMessages};
use crate::prepare::script;
use crate::prepare::server_wait::ServerWait;
use crate::prepare::{PlannedRun, connections, start_time};
use crate::run::load::{Epoch, LoadEnds, LoadOutcome, carry_out};
use crate::run::raw::{self, RawOutput, RawRun};
use crate::run::witness::{self, Witness};
use crate::runner::PreparedRun;
use crate::spec::{BodySpec, RunSpec, WitnessChoice};
use crate::start_gate::StartGate;
use crate::watch::Watch;
use crate::{after, digest};

/// A run of this machine that is planned and not yet carried out.
#[derive(Debug)]
pub(crate) struct LocalRun {
    pub(crate) spec: RunSpec,
    pub(crate) planned: PlannedRun,
    /// Commit of the program.
    pub(crate) commit: Option<String>,
    /// Gate before the load.
    pub(crate) gate: Option<StartGate>,
}

impl LocalRun {
    /// Sends the preflight's request and some more, one after the other, and returns the median of
    /// their service times in nanoseconds. `None` if nothing may be sent, or there was no response.
    ///
    /// # Errors
    /// When the target makes a load impossible.
    pub(crate) fn idle_latency(mut self, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        let preflight = self.preflight(&mut Silent)?;
        let probed = self.probe(&preflight, Vec::new(), interrupts, &mut Silent)?;
        Ok(probed.section.map(|section| section.service_time.p50_ns))
    }

    /// Sends the run's request once, and nothing else: that of a row of its list, from 1, if one is
    /// given. Of a run with users it has one of them take its steps.
    ///
    /// # Errors
    /// When the target makes a load impossible, or a script makes the requests.
    pub(crate) fn debug(
        self,
        row: Option<u64>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TracedStep>, Error> {
        let load = &self.planned.load;
        if self.planned.scripts.is_some() {
            return Err(
                anyhow!("{DEBUG} cannot be used with {SCRIPT}, which makes requests").into()
            );
        }
        if let Some(steps) = walk(load, row, &mut |load| self.traced(load, observer))? {
            return Ok(steps);
        }
        let exchange = match row {
            Some(row) => self.traced(&load.of_row(row)?, observer)?,
            None => self.traced(load, observer)?,
        };
        Ok(vec![TracedStep { exchange: Some(exchange.trace), ..TracedStep::default() }])
    }

    /// Sends the request of a load once.
    ///
    /// # Errors
    /// When the target makes a load impossible.
    fn traced(&self, load: &PreparedLoad, observer: &mut dyn Observer) -> Result<TracedExchange> {
        let PlannedRun { redaction, lookup_ns, .. } = &self.planned;
        let wait = ServerWait::new(&self.spec.target);
        let mut result = preflight::trace(load, &self.spec.http, &wait, observer)?;
        let missed = result.checked.take().and_then(Result::err);
        let missed = missed.map(|MissExample { status, expected, found }| match &*found {
            "" => format!("expected {expected}, found status {status}"),
            found => format!("expected {expected}, found {found}"),
        });
        let mut trace = result.trace.unwrap_or_default();
        let problem = missed.or(result.warning.map(|warning| warning.text));
        let problem = problem.or(trace.problem.take());
        // Without a schema the messages are shown as they were given.
        if let (Some(_), None, Some(BodySpec::Text(given))) =
            (&load.calls, load.grpc_method(), &self.spec.request.body)
        {
            trace.request += &format!("{given}\n");
        }
        for message in &mut trace.messages {
            message.text = redaction.lines(&message.text);
        }
        let unconnected =
            trace.steps.is_empty().then(|| format!("cannot connect to {}", load.target.endpoint));
        let trace = ExchangeTrace {
            request: redaction.lines(&trace.request),
            response: redaction.lines(&trace.response),
            lookup_ns: *lookup_ns,
            problem: problem.or(unconnected).map(|text| redaction.text(&text)),
            ..trace
        };
        Ok(TracedExchange { trace, response: result.kept })
    }

    /// True if a script sends no request elsewhere than to the target.
    fn goes_there(&self) -> bool {
        let PlannedRun { scripts, load, .. } = &self.planned;
        scripts.as_ref().is_none_or(|scripts| scripts.goes_to(&load.target.endpoint))
    }

    /// Checks that this machine has the addresses and descriptors of the load. wrk does not check.
    fn check_machine(&self) -> Result<()> {
        let limit = sys::raise_descriptor_limit();
        if self.spec.compat.is_some() {
            return Ok(());
        }
        let PlannedRun { scripts, load, .. } = &self.planned;
        connections::check_sources(&load.plan, load.endpoints())?;
        limit.map_or(Ok(()), |limit| {
            connections::check_descriptors(&load.plan, scripts.is_some(), limit)
        })
    }

    /// Runs the preflight, unless it is disabled. It sends no request if the method is not safe or
    /// only the script creates requests. The TLS handshake is made in any case, and shows the HTTP
    /// version where the server chooses it.
    ///
    /// # Errors
    /// When no load is possible: the certificate is refused, the server does not support TLS, or it
    /// is unreachable.
    fn preflight(&mut self, observer: &mut dyn Observer) -> Result<PreflightResult> {
        let wait = ServerWait::new(&self.spec.target);
        let is_enabled = self.spec.checks.preflight;
        if !is_enabled && !wait.is_enabled() && !self.planned.load.is_open() {
            return Ok(PreflightResult::default());
        }
        observer.phase(Phase::Preflight, &self.planned.load.plan);
        let is_static = self.planned.scripts.as_ref().is_none_or(|scripts| !scripts.makes_requests);
        let may_send = is_static && self.planned.load.is_alone && is_enabled;
        let ran = preflight::run(&self.planned.load, &self.spec.http, may_send, &wait, observer);
        let mut preflight = match ran {
            // The user wants no check: the load reports what it meets.
            Err(_) if !is_enabled && !wait.is_enabled() => PreflightResult::default(),
            ran => ran?,
        };
        if let Some(response) = &mut preflight.response {
            self.planned.redaction.preflight(response);
        }
        if let Some(Err(missed)) = &mut preflight.checked {
            self.planned.redaction.example(missed);
            let note = || Note::new("preflight_expectation", miss_text(missed));
            preflight.warning.get_or_insert_with(note);
        }
        self.find_messages(&mut preflight)?;
        if let Some(warning) = &mut preflight.warning {
            self.planned.redaction.notes(std::slice::from_mut(warning));
            observer.warning(warning);
            self.planned.notes.push(warning.clone());
        }
        Ok(preflight)
    }

    /// Has messages measured if the preflight found a stream of events, and warns if it found none
    /// where they are expected.
    fn find_messages(&mut self, preflight: &mut PreflightResult) -> Result<()> {
        let given = self.planned.load.plan.messages.as_ref().map(|messages| messages.protocol);
        let status = preflight.response.as_ref().map(|response| response.status);
        let is_expected = given == Some(MessageProtocol::Sse) && status.is_some_and(|it| it < 300);
        if preflight.has_events && messages::may_be_found(&self.spec) {
            let found = PreparedMessages::new(&self.spec.messages, MessageProtocol::Sse)?;
            preflight.messages = Some(found);
            let text = "the response is a stream of events (text/event-stream): weir measures \
                        them too";
            self.planned.notes.push(Note::new("preflight_messages", text));
        } else if is_expected && !preflight.has_events {
            let text = "the response is no stream of events (text/event-stream without a \
                        content-encoding): messages may be missing";
            preflight.warning.get_or_insert_with(|| Note::new("preflight_messages", text));
        }
        Ok(())
    }

    /// Measures the noise floor, if the specification wants it.
    fn noise_floor(
        &self,
        plan: &Plan,
        interrupts: &Interrupts,
        observer: &mut dyn Observer,
    ) -> Result<Option<SelfcheckSection>> {
        if !self.spec.checks.selfcheck {
            return Ok(None);
        }
        observer.phase(Phase::Selfcheck, plan);
        selfcheck::measure(plan, &self.planned.load.workers.cpus, interrupts)
    }

    /// Runs the one-connection probe, if the target may be probed: the preflight received a
    /// response, so the request may be repeated, and all threads connect to the same address.
    fn probe(
        &self,
        preflight: &PreflightResult,
        observers: Vec<ObserverFactory>,
        interrupts: &Interrupts,
        observer: &mut dyn Observer,
    ) -> Result<Probed> {
        let load = &self.planned.load;
        // A message of WebSocket may change something, as a POST.
        let is_websocket = load.plan.websocket().is_some();
        if preflight.response.is_none() || is_websocket || !self.goes_there() {
            return Ok(Probed::default());
        }
        let start = JobStart { observers, ..JobStart::default() };
        let job = load.job(&preflight.facts(), start);
        observer.phase(Phase::Probe, &job.plan);
        Ok(probe::run(&job, interrupts)?)
    }

    /// True if a witness runs. It sends the plan's request, which a script may never send, or those
    /// of the list, unless each must be sent once.
    fn has_witness(&self, job: &Job) -> bool {
        let is_enabled = match self.spec.checks.witness {
            WitnessChoice::Auto => witness::is_useful(job),
            WitnessChoice::On => true,
            WitnessChoice::Off => false,
        };
        let is_once = job.requests.list.as_ref().is_some_and(|list| list.sequence.is_once());
        let is_idle = job.plan.is_idle();
        let has_users = job.plan.users().is_some();
        is_enabled && self.planned.scripts.is_none() && !is_once && !is_idle && !has_users
    }

    /// Repeats the load with one more thread. Its failure becomes a note, and the load's result
    /// stays.
    fn proof(&mut self, job: &Job, interrupts: &Interrupts) -> Option<ProveClientSection> {
        prove_client::prove(job, interrupts).unwrap_or_else(|error| {
            let text = format!("{PROVE_CLIENT} failed: {error:#}");
            self.planned.notes.push(Note::new("prove_client_failed", text));
            None
        })
    }

    /// Adds the notes on the outcome. Returns the one on a server that could not be reached.
    fn add_notes(&mut self, job: &Job, outcome: &LoadOutcome, has_preflight: bool) -> Option<Note> {
        if self.spec.compat.is_some() && job.target.tls.is_some() {
            let text =
                "the server's certificate is not verified, as in wrk; weir's own form verifies it";
            self.planned.notes.push(Note::new("unverified", text));
        }
        self.planned.notes.extend(remarks(job, outcome, has_preflight));
        let no_server = after::connections::no_server(&self.spec, outcome);
        self.planned.notes.extend(no_server.clone());
        no_server
    }

    /// Returns the end of the run.
    fn finished(
        self,
        document: Document,
        no_server: Option<Note>,
        outcome: LoadOutcome,
        interrupts: &Interrupts,
    ) -> Finished {
        let compat = self.spec.compat;
        let scripts = self.planned.scripts;
        let mut source_failures = script::failures(&outcome.failures);
        source_failures.extend(outcome.list_failure.map(|text| (text, String::new())));
        let needs_figures = compat.is_some() || scripts.is_some();
        let has_batch_times = compat.is_some_and(|compat| compat.batch_times);
        let of_run = || figures(&document, &outcome.parts.measurements, has_batch_times);
        Finished {
            no_server,
            is_drain_cut: outcome.is_drain_cut,
            figures: needs_figures.then(of_run),
            script: scripts.map(|scripts| (scripts, outcome.states)),
            source_failures,
            ..Finished::of(document, interrupts)
        }
    }

    /// Adds what is known of a stream of requests once it was read to the plan of the document.
    fn complete(&mut self, outcome: &mut LoadOutcome) {
        let Some(stream) = &self.planned.stream else { return };
        self.planned.inputs.push(stream.input());
        let planned = outcome.parts.measurements.results.planned;
        outcome.parts.given.plan = stream.complete(&outcome.parts.given.plan, planned);
    }

    /// Assembles the document.
    ///
    /// # Errors
    /// When its numbers do not add up.
    fn document(
        &mut self,
        job: &Job,
        epoch: Epoch,
        outcome: &LoadOutcome,
        preflight: PreflightResult,
    ) -> Result<Document> {
        self.planned.redaction.notes(&mut self.planned.notes);
        let mut parts = outcome.parts.clone();
        for example in parts.measurements.miss_examples.values_mut() {
            self.planned.redaction.example(example);
        }
        self.planned.redaction.reasons(&mut parts.measurements.connections.goaways);
        let commit = self.commit.as_deref();
        let scripts = self.planned.scripts.as_ref();
        let given = Document {
            environment: environment::describe(job, epoch.clock, commit),
            run: Run {
                id: epoch.run_id(),
                epoch: epoch.text(),
                epoch_unix_ns: epoch.unix_ns,
                command: self.spec.command.clone(),
                spec: self.spec.stored(&self.planned.inputs),
                inputs: self.planned.redaction.inputs(std::mem::take(&mut self.planned.inputs)),
                annotations: self.planned.redaction.annotations(&self.spec.watch.notes),
                plan_sha256: Some(digest::of_plan(&outcome.parts.given.plan)),
                preflight: preflight.response,
                ..outcome.parts.given.run.clone()
            },
            notes: std::mem::take(&mut self.planned.notes),
            ..outcome.parts.given.clone()
        };
        let beside = SideRecords {
            script_file: scripts
                .map(|scripts| self.planned.redaction.text(&scripts.file.to_string_lossy())),
            preflight_sent: preflight.sent,
            ..parts.beside
        };
        let preflight_returned = preflight.returned;
        Ok(weir_verdict::assemble(DocumentParts { given, beside, preflight_returned, ..parts })?)
    }
}

/// Returns the text on a response that misses an expectation.
fn miss_text(missed: &MissExample) -> String {
    let MissExample { status, expected, found } = missed;
    let found = if found.is_empty() { String::new() } else { format!(", found {found:?}") };
    format!("the URL's response misses the expectation {expected:?}: status {status}{found}")
}

impl PreparedRun for LocalRun {
    fn plan(&self) -> &Plan {
        &self.planned.load.plan
    }

    fn first_requests(&self) -> Vec<String> {
        let PlannedRun { load, redaction, .. } = &self.planned;
        let lines = load.requests.list.iter().flat_map(|list| first_lines(list, 10));
        lines.map(|line| redaction.lines(&line)).collect()
    }

    fn inputs(&self) -> &[Input] {
        &self.planned.inputs
    }

    fn plan_sha256(&self) -> String {
        digest::of_plan(&self.planned.load.plan)
    }

    fn add_note(&mut self, note: Note) {
        self.planned.notes.push(note);
    }

    fn run(
        self: Box<Self>,
        interrupts: &Interrupts,
        raw: Option<&mut RawOutput>,
        observer: &mut dyn Observer,
    ) -> Result<Finished, Error> {
        let redaction = self.planned.redaction.clone();
        let finished = (*self).run_to_end(interrupts, raw, observer);
        finished.map_err(|error| redaction.error(error.into()))
    }
}

impl LocalRun {
    /// Carries out the run. An error may have a secret in its text.
    fn run_to_end(
        mut self,
        interrupts: &Interrupts,
        raw: Option<&mut RawOutput>,
        observer: &mut dyn Observer,
    ) -> Result<Finished> {
        start_time::check_start(self.spec.start_at_unix_ns)?;
        self.check_machine()?;
        let watch = Watch::open(&self.spec, &self.planned.redaction, interrupts, observer)?;
        let mut notes: Vec<Note> = watch.iter().flat_map(Watch::notes).collect();
        self.planned.redaction.notes(&mut notes);
        notes.iter().for_each(|note| observer.warning(note));
        self.planned.notes.extend(notes);
        let preflight = self.preflight(observer)?;
        let server = preflight.facts();
        let plan = self.planned.load.plan_for(&server);
        let floor = self.noise_floor(&plan, interrupts, observer)?;
        if let Some(signal) = interrupts.received() {
            return Err(Interrupted(signal).into());
        }
        let observers: Vec<_> = watch.as_ref().and_then(Watch::observers).into_iter().collect();
        let probe = self.probe(&preflight, observers.clone(), interrupts, observer)?;
        let version = plan.http.unwrap_or(HttpPlan::Http11);
        let setup = RunningSetup::start(&self.planned.load, version, &interrupts.hurry)?;
        let epoch = Epoch::start();
        let raw = raw.map(|raw| raw.start(&plan)).transpose()?.flatten();
        let start_unix_ns = self.spec.start_at_unix_ns.unwrap_or(0);
        let start = JobStart {
            not_before: Nanos(start_unix_ns.saturating_sub(epoch.unix_ns)),
            epoch_unix_ns: epoch.unix_ns,
            observers,
            raw: raw.as_ref().map(RawRun::log),
        };
        let job = Arc::new(self.planned.load.job(&server, start));
        let watching = watch.map(|watch| watch.start(epoch.clock)).transpose()?;
        observer.phase(Phase::Load, &job.plan);
        let witness = self.has_witness(&job).then(|| Witness::start(&job, epoch.clock)).flatten();
        let scripts = self.planned.scripts.as_mut();
        let ends = LoadEnds { gate: self.gate.as_ref(), abort: self.spec.abort_conditions()? };
        let mut outcome = carry_out(&job, &epoch, interrupts, scripts, ends, observer)?;
        let made = setup.map(RunningSetup::finish).unwrap_or_default();
        outcome.parts.beside.setup_sent = made.sent;
        self.planned.notes.extend(made.note());
        outcome.parts.beside.witness = witness.and_then(Witness::finish);
        outcome.parts.beside.probe = probe;
        self.complete(&mut outcome);
        let is_signalled = interrupts.received().is_some();
        interrupts.begin_wait();
        if let Some(watching) = watching {
            outcome.parts.given.server = watching.finish(&outcome, &preflight, !self.goes_there());
            // A signal that ends the last readings leaves the window complete, as in the drain.
            outcome.is_drain_cut |= !is_signalled && interrupts.received().is_some();
        }
        outcome.parts.given.selfcheck = floor;
        let is_over = interrupts.received().is_some() || outcome.is_unconnected;
        if self.spec.checks.prove_client && !is_over {
            observer.phase(Phase::ProveClient, &job.plan);
            outcome.parts.given.prove_client = self.proof(&job, interrupts);
        }
        interrupts.begin_wait();
        let no_server = self.add_notes(&job, &outcome, preflight.response.is_some());
        let raw = raw.and_then(|raw| raw.finish(&epoch, &outcome.parts));
        self.planned.notes.extend(raw.as_ref().and_then(raw::note));
        let mut document = self.document(&job, epoch, &outcome, preflight)?;
        document.raw.extend(raw);
        Ok(self.finished(document, no_server, outcome, interrupts))
    }
}
