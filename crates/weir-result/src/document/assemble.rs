//! Construction of a document: from the engine's measurements, or from several documents' records.
//! Every derived number is derived here and in the sections' own `of`, nowhere else.

use super::check::check;
use super::coverage::Coverage;
use super::recorded::Recorded;
use super::results::Results;
use super::scope_span::ScopeSpan;
use super::{
    Accounting, BrokenInvariant, ConnectionsSection, DeparturesSection, Document, Environment,
    Latency, MessagesSection, NameSection, OccupancySection, Run, SCHEMA_VERSION, ScriptSection,
    SeriesEntry, SideRecords, SliceEntry, StageSection, StampsSection, Throughput, TlsSection,
    Tool, Unjudged, Verdict, WitnessSection,
};
use crate::counters::ByOutcome;
use crate::measurements::Measurements;
use crate::plan::{Part, Plan};

/// Parts that a document is made of.
#[derive(Clone, Debug, Default)]
pub struct DocumentParts {
    /// Sections that do not follow from the measurements: the plan, the machine, the run, trials
    /// beside it, the server as it was watched, and notes. All others, and what the run's section
    /// says about its part and its end, are derived.
    pub given: Document,
    /// Measurements, over all workers.
    pub measurements: Measurements,
    /// Records beside them.
    pub beside: SideRecords,
    /// Of the preflight's requests: those that the peer returned without processing them.
    pub preflight_returned: u64,
}

impl DocumentParts {
    /// Returns the parts of a run with nothing but a plan and measurements, such as a run in
    /// virtual time.
    pub fn bare(plan: Plan, measurements: Measurements) -> DocumentParts {
        let run = Run {
            id: "bare".to_owned(),
            epoch: "2000-01-01T00:00:00Z".to_owned(),
            epoch_unix_ns: 946_684_800_000_000_000,
            ..Run::default()
        };
        let environment = Environment::unknown("0", plan.io);
        let given = Document { plan, environment, run, ..Document::default() };
        DocumentParts { given, measurements, ..DocumentParts::default() }
    }
}

impl Unjudged {
    /// Assembles the document of these parts. The error names numbers that do not add up.
    pub fn assemble(parts: DocumentParts) -> Result<Unjudged, BrokenInvariant> {
        let given = parts.given;
        let run = Run {
            part: given.plan.part.map_or(1, Part::index),
            parts: given.plan.part.map_or(1, Part::count),
            interrupted: parts.measurements.interrupted,
            unsettled: parts.measurements.is_unsettled,
            ..given.run
        };
        let tool =
            Tool { name: "weir".to_owned(), version: given.environment.weir_version.clone() };
        let mut measurements = parts.measurements;
        measurements.sent.returned += parts.preflight_returned;
        if !given.plan.has_due_times() {
            keep_both_times(&mut measurements);
        }
        let recorded = Recorded::of(measurements, run.part, parts.beside);
        derive(Document { tool, run, ..given }, &recorded)
    }
}

/// A closed loop has one time; whichever of its two names was recorded is copied to the other, of
/// the run and of each name of its list.
fn keep_both_times(measurements: &mut Measurements) {
    let is_empty = |time: &ByOutcome| time.ok.is_empty() && !time.has_failures();
    let has_response = !is_empty(&measurements.results.response_time);
    let has_service = !is_empty(&measurements.results.service_time);
    if has_response && has_service {
        return;
    }
    for scope in std::iter::once(&mut measurements.results).chain(&mut measurements.names) {
        match has_response {
            true => scope.service_time = scope.response_time.clone(),
            false => scope.response_time = scope.service_time.clone(),
        }
    }
}

/// Derives the document of these records, after checking that they add up. What does not follow
/// from them is `given`: the plan, the facts about the run, and the parts of a merged document.
pub(super) fn derive(given: Document, recorded: &Recorded) -> Result<Unjudged, BrokenInvariant> {
    check(&given.plan, recorded)?;
    let measurements = &recorded.measurements;
    let coverage = Coverage::of(&given.plan, &given.parts);
    let throughput = Throughput::of(&given.plan, coverage.share, recorded);
    let series = measurements.intervals.iter();
    let witness = recorded.beside.witness.as_ref();
    let window_ns = (throughput.window_s * 1e9).round() as u64;
    let load = &given.plan.load;
    let span = ScopeSpan::of(&given.plan, load.is_one_load(), window_ns);
    let names = NameSection::all(&given.plan, measurements, &recorded.name_kinds, span);
    Ok(Unjudged(Document {
        schema_version: SCHEMA_VERSION,
        verdict: Verdict::default(),
        phases: recorded.phases.clone(),
        connections: ConnectionsSection::of(&given.plan, recorded, window_ns),
        accounting: Accounting::of(recorded),
        results: of_run(&given.plan, recorded, &names, span),
        latency: Latency::of(measurements),
        series: series.map(|entry| SeriesEntry::of(entry, throughput.window_s)).collect(),
        stationarity: Vec::new(),
        slices: measurements.slices.iter().map(SliceEntry::of).collect(),
        stages: StageSection::all(&given.plan, measurements),
        names,
        messages: MessagesSection::of(&given.plan, measurements, window_ns).map(Box::new),
        throughput,
        stamps: StampsSection::of(&measurements.stamped),
        departures: DeparturesSection::of(&measurements.departures),
        occupancy: OccupancySection::of(&measurements.occupancy),
        probe: recorded.beside.probe.section,
        network: recorded.beside.network,
        tls: TlsSection::of(measurements.tls.as_ref(), window_ns),
        health: recorded.beside.health,
        witness: witness.map(|witness| WitnessSection::of(witness, measurements)),
        script: ScriptSection::of(recorded),
        ..given
    }))
}

/// Returns the results of a run. Whether a stream should have had an end mark is said of each name.
fn of_run(plan: &Plan, recorded: &Recorded, names: &[NameSection], span: ScopeSpan) -> Results {
    let Recorded { measurements, kinds, .. } = recorded;
    let mut results = Results::of(&measurements.results, kinds, &measurements.slices, span);
    if let Some(messages) = results.messages.as_mut().filter(|_| plan.list.is_some()) {
        messages.unended = names.iter().map(|name| name.results.unended_streams()).sum();
    }
    results
}
