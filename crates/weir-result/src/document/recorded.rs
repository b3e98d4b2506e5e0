//! Records that a document is derived from, of the engine or of another document: the common base
//! of assembling, checking and merging.
//!
//! They are [`Measurements`], except that kinds of errors, failures and missed expectations are
//! text, since a document may come from a newer or an older program with other kinds.

use std::collections::BTreeMap;

use super::results::ResultKinds;
use super::{
    DeparturesSection, Document, OccupancySection, Phases, Probed, SeriesEntry, SideRecords,
    SliceEntry, StageSection, StampsSection, WitnessSection,
};
use crate::connection_failure::{ConnectionFailure, add_failures};
use crate::counters::{
    DestinationCounts, MessageCounts, ResultCounts, ScriptUsage, Sent, TlsCounts, Window,
};
use crate::failures::{ErrorKind, MissExample};
use crate::measurements::Measurements;
use crate::rules;
use crate::shape::each;

/// All records of one or several parts of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    /// All records without a field below; counts of results by kind, `miss_examples`,
    /// `connections.failures`, `connections.goaways` and `workers` are empty here.
    pub(super) measurements: Measurements,
    /// Counts of the run by kind.
    pub(super) kinds: ResultKinds,
    pub(super) miss_examples: BTreeMap<String, MissExample>,
    /// Counts of each name of a list, by kind.
    pub(super) name_kinds: Vec<ResultKinds>,
    pub(super) failures: Vec<ConnectionFailure>,
    pub(super) goaways: BTreeMap<String, u64>,
    pub(super) phases: Vec<Phases>,
    pub(super) beside: SideRecords,
}

impl Recorded {
    /// Converts the engine's measurements of part `part`, and the records beside them.
    pub(super) fn of(mut measurements: Measurements, part: u32, beside: SideRecords) -> Recorded {
        let kinds = ResultKinds::taken_from(&mut measurements.results);
        let name_kinds = measurements.names.iter_mut().map(ResultKinds::taken_from).collect();
        let examples = std::mem::take(&mut measurements.miss_examples).into_iter();
        let mut failures = Vec::new();
        for (kind, count) in std::mem::take(&mut measurements.connections.failures) {
            add_failures(&mut failures, &[ConnectionFailure::of(kind, count)]);
        }
        let goaways = std::mem::take(&mut measurements.connections.goaways);
        let phases = std::mem::take(&mut measurements.workers)
            .into_iter()
            .map(|worker| Phases { part, ..Phases::from(&worker) })
            .collect();
        Recorded {
            measurements,
            kinds,
            miss_examples: examples.map(|(kind, it)| (kind.name().to_owned(), it)).collect(),
            name_kinds,
            failures,
            goaways,
            phases,
            beside,
        }
    }

    /// Decodes the records that a document was made of. The error is the place and the fault of a
    /// histogram.
    pub(super) fn of_document(document: &Document) -> Result<Recorded, String> {
        let accounting = &document.accounting;
        let connections = &document.connections;
        let mut measurements = Measurements {
            results: document.results.to_counts(),
            sent: Sent::from(&accounting.sent),
            stamped: or_default(&document.stamps, StampsSection::to_stamped)?,
            departures: or_default(&document.departures, DeparturesSection::to_departures)?,
            occupancy: document.occupancy.map(OccupancySection::to_occupancy).unwrap_or_default(),
            messages: counts_of_messages(document)?,
            overdue: accounting.overdue,
            tls: document.tls.as_ref().map(TlsCounts::from),
            script: document.script.as_ref().map(ScriptUsage::from),
            slices: each("slices", &document.slices, SliceEntry::to_slice)?,
            stage_lags: each("stages", &document.stages, StageSection::to_lags)?,
            window: Window::from(&document.throughput),
            connections: connections.to_connections(),
            names: document.names.iter().map(|name| name.results.to_counts()).collect(),
            steps: document
                .names
                .iter()
                .flat_map(|name| name.steps.iter().map(|step| step.counts))
                .collect(),
            destinations: connections.destinations.iter().map(DestinationCounts::from).collect(),
            intervals: each("series", &document.series, SeriesEntry::to_interval)?,
            interim_responses: accounting.interim_responses,
            interrupted: document.run.interrupted,
            is_unsettled: document.run.unsettled,
            ..Measurements::default()
        };
        document.latency.restore(&mut measurements)?;
        Ok(Recorded {
            measurements,
            kinds: document.results.to_kinds(),
            miss_examples: accounting.miss_examples.clone(),
            name_kinds: document.names.iter().map(|name| name.results.to_kinds()).collect(),
            failures: connections.failures.clone(),
            goaways: connections.goaways.clone(),
            phases: document.phases.clone(),
            beside: SideRecords {
                preflight_sent: accounting.sent.preflight,
                setup_sent: accounting.sent.setup,
                script_file: document.script.as_ref().and_then(|script| script.file.clone()),
                health: document.health,
                probe: probe_of(document),
                network: document.network,
                witness: witness_of(document)?,
            },
        })
    }

    /// Adds another part.
    pub(super) fn merge(&mut self, other: &Recorded) {
        self.measurements.merge(&other.measurements);
        self.kinds.add(&other.kinds);
        rules::first_by_key(&mut self.miss_examples, &other.miss_examples);
        for (mine, theirs) in self.name_kinds.iter_mut().zip(&other.name_kinds) {
            mine.add(theirs);
        }
        add_counts(&mut self.goaways, &other.goaways);
        add_failures(&mut self.failures, &other.failures);
        self.phases.extend_from_slice(&other.phases);
        self.beside.merge(&other.beside);
    }
}

impl ResultKinds {
    /// Takes the counts by kind out of the counts of a scope, and returns them as text.
    fn taken_from(counts: &mut ResultCounts) -> ResultKinds {
        let missed = std::mem::take(&mut counts.missed).into_iter();
        ResultKinds {
            errors: as_text(std::mem::take(&mut counts.errors)),
            missed: missed.map(|(kind, count)| (kind.name().to_owned(), count)).collect(),
        }
    }

    /// Adds the counts of the same scope in another part.
    fn add(&mut self, other: &ResultKinds) {
        add_counts(&mut self.errors, &other.errors);
        add_counts(&mut self.missed, &other.missed);
    }
}

/// Returns counts by kind of error as counts by its name.
fn as_text(errors: BTreeMap<ErrorKind, u64>) -> BTreeMap<String, u64> {
    let mut named = BTreeMap::new();
    for (kind, count) in errors {
        *named.entry(kind.name()).or_default() += count;
    }
    named
}

fn add_counts(mine: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (name, count) in theirs {
        *mine.entry(name.clone()).or_default() += count;
    }
}

/// Returns the counts of messages, if they were measured.
fn counts_of_messages(document: &Document) -> Result<Option<Box<MessageCounts>>, String> {
    let counts = document.messages.as_ref().map(|messages| messages.to_counts()).transpose()?;
    Ok(counts.map(Box::new))
}

/// Returns the one-connection probe, with its counts from other sections.
fn probe_of(document: &Document) -> Probed {
    Probed {
        sent: document.accounting.sent.probe,
        // Requests whose send failed, and returned ones, are already among the load's.
        failed: 0,
        returned: 0,
        answered: document.probe.map_or(0, |probe| probe.service_time.count),
        connects: document.connections.connects_probe,
        section: document.probe,
    }
}

/// Returns the probe thread's measurements, with its counts from other sections.
fn witness_of(document: &Document) -> Result<Option<Measurements>, String> {
    let witness = document.witness.as_ref().map(WitnessSection::to_measurements).transpose()?;
    Ok(witness.map(|mut witness| {
        witness.connections.connects = document.connections.connects_witness;
        witness
    }))
}

fn or_default<S, T: Default>(
    section: &Option<S>,
    convert: impl Fn(&S) -> Result<T, String>,
) -> Result<T, String> {
    section.as_ref().map_or_else(|| Ok(T::default()), convert)
}
