//! Making a document: from what the engine measured, or from several documents' records. Every
//! derived number is derived here and in the sections' own `of`, nowhere else.

use super::accounting::Accounting;
use super::bounds;
use super::check::{BrokenInvariant, check};
use super::connections::ConnectionsSection;
use super::departures::DeparturesSection;
use super::latency::Latency;
use super::network::NetworkSection;
use super::occupancy::OccupancySection;
use super::probe::Probed;
use super::recorded::Recorded;
use super::script::ScriptSection;
use super::stamps::StampsSection;
use super::stationarity::SeriesStationarity;
use super::throughput::Throughput;
use super::timeline::{SeriesEntry, SliceEntry};
use super::verdict::Verdict;
use super::witness::WitnessSection;
use super::{
    ClientUsage, Document, Environment, Note, Preflight, ProveClientSection, Run, SCHEMA_VERSION,
    SelfcheckSection, Tool,
};
use crate::evidence::ClientHealth;
use crate::measurements::{ByOutcome, Measurements};
use crate::plan::{Load, Plan};

/// What a document is made of.
#[derive(Clone, Debug)]
pub struct DocumentParts {
    /// What was asked.
    pub plan: Plan,
    /// What was measured, over all workers.
    pub measurements: Measurements,
    /// Where.
    pub environment: Environment,
    /// Which run.
    pub run: RunParts,
    /// What the URL answered before the load, where it was asked.
    pub preflight: Option<Preflight>,
    /// Requests put on the wire by the preflight, redirects and retries included.
    pub preflight_sent: u64,
    /// The one-connection probe before the load.
    pub probe: Probed,
    /// This run's TCP sockets, where there were any.
    pub network: Option<NetworkSection>,
    /// The script's file as the user named it, where there was one; told in the document only
    /// with what the script took.
    pub script_file: Option<String>,
    /// What the run took of this machine.
    pub client: ClientUsage,
    /// What this machine did in the window, where it was watched.
    pub health: Option<ClientHealth>,
    /// What the witness measured, where there was one: its own plan is not the load's.
    pub witness: Option<Measurements>,
    /// What was run beside it to judge the client.
    pub trials: Trials,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

/// Short runs beside the run, for those who doubt its client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trials {
    /// The noise floor.
    pub selfcheck: Option<SelfcheckSection>,
    /// The same load with a thread more.
    pub prove_client: Option<ProveClientSection>,
}

/// Which run a document is of.
#[derive(Clone, Debug)]
pub struct RunParts {
    /// Tells runs apart; the same for all parts of one run.
    pub id: String,
    /// Wall-clock time of the epoch, RFC 3339.
    pub epoch: String,
    /// Wall-clock time of the epoch in nanoseconds since 1970, UTC.
    pub epoch_unix_ns: u64,
    /// This part, from 1.
    pub part: u32,
    /// Parts that the run has.
    pub parts: u32,
    /// The command line, word by word.
    pub command: Option<Vec<String>>,
}

impl Document {
    /// The document of these parts, or what in them does not add up.
    pub fn assemble(parts: DocumentParts) -> Result<Document, BrokenInvariant> {
        let run = Run {
            id: parts.run.id,
            epoch: parts.run.epoch,
            epoch_unix_ns: parts.run.epoch_unix_ns,
            part: parts.run.part,
            parts: parts.run.parts,
            interrupted: parts.measurements.interrupted,
            unsettled: parts.measurements.is_unsettled,
            command: parts.run.command,
            preflight: parts.preflight,
            client: parts.client,
        };
        let tool =
            Tool { name: "weir".to_owned(), version: parts.environment.weir_version.clone() };
        let mut measurements = parts.measurements;
        if parts.plan.load == Load::ClosedLoop {
            keep_both_times(&mut measurements);
        }
        let recorded = Recorded {
            script_file: parts.script_file,
            health: parts.health,
            probe: parts.probe,
            network: parts.network,
            witness: parts.witness,
            ..Recorded::of(measurements, run.part, parts.preflight_sent)
        };
        let frame = Frame {
            tool,
            run,
            plan: parts.plan,
            environment: parts.environment,
            trials: parts.trials,
            notes: parts.notes,
        };
        derive(frame, &recorded)
    }
}

/// A closed loop has one time; whichever of its two names was recorded stands for both.
fn keep_both_times(measurements: &mut Measurements) {
    let is_empty = |time: &ByOutcome| time.ok.is_empty() && !time.has_failures();
    if is_empty(&measurements.response_time) {
        measurements.response_time = measurements.service_time.clone();
    } else if is_empty(&measurements.service_time) {
        measurements.service_time = measurements.response_time.clone();
    }
}

/// What a document has beside what was recorded.
pub(super) struct Frame {
    pub(super) tool: Tool,
    pub(super) run: Run,
    pub(super) plan: Plan,
    pub(super) environment: Environment,
    pub(super) trials: Trials,
    pub(super) notes: Vec<Note>,
}

/// The document of these records, once they are seen to add up.
pub(super) fn derive(frame: Frame, recorded: &Recorded) -> Result<Document, BrokenInvariant> {
    check(&frame.plan, recorded)?;
    let measurements = &recorded.measurements;
    let throughput = Throughput::of(&frame.plan, recorded);
    let series = measurements.intervals.iter();
    let witness = recorded.witness.as_ref();
    let window_ns = (throughput.window_s * 1e9).round() as u64;
    let mut document = Document {
        schema_version: SCHEMA_VERSION,
        tool: frame.tool,
        run: frame.run,
        verdict: Verdict::default(),
        phases: recorded.phases.clone(),
        environment: frame.environment,
        connections: ConnectionsSection::of(&frame.plan, recorded, window_ns),
        accounting: Accounting::of(recorded),
        latency: Latency::of(&frame.plan, measurements, throughput.window_s),
        series: series.map(|entry| SeriesEntry::of(entry, throughput.window_s)).collect(),
        stationarity: SeriesStationarity::of_all(&measurements.slices, window_ns),
        slices: measurements.slices.iter().map(SliceEntry::of).collect(),
        throughput,
        stamps: StampsSection::of(&measurements.stamped),
        departures: DeparturesSection::of(&measurements.departures),
        occupancy: OccupancySection::of(&measurements.occupancy),
        probe: recorded.probe.section,
        network: recorded.network,
        health: recorded.health,
        witness: witness.map(|witness| WitnessSection::of(witness, measurements)),
        selfcheck: frame.trials.selfcheck,
        prove_client: frame.trials.prove_client,
        script: ScriptSection::of(recorded),
        plan: frame.plan,
        raw: Vec::new(),
        assertions: Vec::new(),
        notes: frame.notes,
    };
    bounds::qualify(&mut document);
    document.verdict = Verdict::of(&document);
    Ok(document)
}
