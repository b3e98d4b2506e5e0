//! Merges several documents into one: the parts of a run that several machines carried out
//! together.
//!
//! Buckets are added and everything is derived again; percentiles are never averaged. Facts that do
//! not add up are kept for each part. A merged document merges again like its parts, and the order
//! makes no difference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weir_text::setting::{PART, START_AT};

use super::assemble::derive;
use super::check::BrokenInvariant;
use super::parts::PartSection;
use super::recorded::Recorded;
use super::unjudged::Unjudged;
use super::{ClientUsage, Document, Note, PartWindow, ProveClientSection, Run, SelfcheckSection};
use crate::measurements::Measurements;
use crate::plan::{DueTimes, Part, Plan};
use crate::slices::{align_slices, can_align};
use weir_text::units;

/// Least share of the window in which all parts must have run: with less, most of the requests met
/// another load than the planned one.
const OVERLAP_LEAST: f64 = 0.5;

/// Reason why documents cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is no document.
    #[error("there is no document to merge")]
    Nothing,
    /// A document of a whole run.
    #[error(
        "document {number} is of a whole run, not of a part: only parts of one run can be merged \
         (weir {PART})"
    )]
    Whole {
        /// Position of the document, from 1.
        number: usize,
    },
    /// Parts with different plans.
    #[error(
        "parts {first} and {part} have different plans: {field} is {ours} and {theirs}; run all \
         parts with the same flags"
    )]
    OtherPlan {
        /// Number of the first part.
        first: u32,
        /// Number of the part that differs.
        part: u32,
        /// Field of the plan: `load.due`.
        field: String,
        /// Its value in the first part.
        ours: String,
        /// Its value in the part that differs.
        theirs: String,
    },
    /// Parts of differently divided plans.
    #[error("part {part} and part {first} do not belong together: give the parts of one run")]
    OtherDivision {
        /// The first part.
        first: Part,
        /// The part of another division.
        part: Part,
    },
    /// A part that occurs twice.
    #[error("part {part} is there twice: give each part once")]
    Twice {
        /// The part.
        part: Part,
    },
    /// Parts that did not run at the same time.
    #[error(
        "the parts did not run at the same time: {}; start all parts together ({START_AT}), and \
         set the machines' clocks",
        apart_in_words(last, first, *shared_percent))]
    Apart {
        /// The window that began last.
        last: PartWindow,
        /// The window that ended first.
        first: PartWindow,
        /// Share of the window in which all parts ran, in percent.
        shared_percent: u32,
    },
    /// Parts whose windows are cut into different slices.
    #[error("part {part} has other slices than the parts before it")]
    OtherSlices {
        /// Number of the part that differs.
        part: u32,
    },
    /// A document with damaged content.
    #[error("part {part} is damaged: {why}")]
    Damaged {
        /// Number of the part.
        part: u32,
        /// Description of the damage.
        why: String,
    },
    /// An interval of the series counts more responses than a document holds.
    #[error("together, the parts count more than an interval holds")]
    TooMany,
    /// The sum does not add up.
    #[error(transparent)]
    Broken(#[from] BrokenInvariant),
}

impl Unjudged {
    /// Merges parts of one run into one document, which stands for the whole run.
    ///
    /// Its id, command, environment and preflight come from the part with the lowest number; its
    /// epoch is the earliest. [`Document::parts`] keeps each part's own, with its verdict. The
    /// verdict covers all parts together, but is no better than the worst part's. Parts may be
    /// missing.
    pub fn merge(documents: &[Document]) -> Result<Unjudged, MergeError> {
        let (documents, parts) = in_order(documents)?;
        let Some(first) = documents.first() else {
            return Err(MergeError::Nothing);
        };
        let plan = Plan { part: None, ..first.plan.clone() };
        let mut recorded = decoded(first)?;
        for document in &documents[1..] {
            check_plan(&plan, parts[0].part, document)?;
            let mut theirs = decoded(document)?;
            align(&mut recorded, &mut theirs, number_of(document))?;
            recorded.merge(&theirs);
        }
        recorded.phases.sort_by_key(|phases| (phases.part, phases.worker));
        let selfchecks = documents.iter().filter_map(|document| document.selfcheck);
        let proofs = documents.iter().filter_map(|document| document.prove_client);
        let mut raw: Vec<_> = documents.iter().flat_map(|document| document.raw.clone()).collect();
        raw.sort_by(|a, b| (a.part, &a.file).cmp(&(b.part, &b.file)));
        let given = Document {
            tool: first.tool.clone(),
            run: merged_run(&parts),
            plan,
            environment: first.environment.clone(),
            // The worst of all parts: one client that was too weak spoils the whole.
            selfcheck: selfchecks.reduce(SelfcheckSection::worse),
            prove_client: proofs.reduce(ProveClientSection::worse),
            notes: merged_notes(&parts),
            raw,
            parts,
            ..Document::default()
        };
        let merged = derive(given, &recorded)?;
        check_overlap(&merged.0)?;
        Ok(merged)
    }
}

/// Returns the documents, and all parts that they consist of, in the order of the parts' numbers.
fn in_order(documents: &[Document]) -> Result<(Vec<&Document>, Vec<PartSection>), MergeError> {
    let mut numbered = Vec::new();
    let mut parts: BTreeMap<u32, PartSection> = BTreeMap::new();
    for (number, document) in (1..).zip(documents) {
        let sections = PartSection::of_document(document);
        let least = sections.iter().map(|section| section.part).min();
        numbered.push((least.ok_or(MergeError::Whole { number })?, document));
        for section in sections {
            let part = section.part;
            let first = parts.values().next().map_or(part, |known| known.part);
            if !first.is_beside(part) {
                return Err(MergeError::OtherDivision { first, part });
            }
            if parts.insert(part.index(), section).is_some() {
                return Err(MergeError::Twice { part });
            }
        }
    }
    numbered.sort_by_key(|(least, _)| *least);
    let documents = numbered.into_iter().map(|(_, document)| document).collect();
    Ok((documents, parts.into_values().collect()))
}

/// Number of the first part of a document.
fn number_of(document: &Document) -> u32 {
    let parts = document.plan.part.into_iter();
    let merged = document.parts.iter().map(|section| section.part);
    parts.chain(merged).map(Part::index).min().unwrap_or(1)
}

fn decoded(document: &Document) -> Result<Recorded, MergeError> {
    let part = number_of(document);
    Recorded::of_document(document).map_err(|why| MergeError::Damaged { part, why })
}

/// Checks that a document has this plan, but for the facts of its machine.
fn check_plan(plan: &Plan, first: Part, document: &Document) -> Result<(), MergeError> {
    let json = |plan| serde_json::to_value(of_all_machines(plan)).unwrap_or_default();
    let ours = json(plan);
    let theirs = json(&document.plan);
    let Some((field, ours, theirs)) = difference("", &ours, &theirs) else { return Ok(()) };
    let first = first.index();
    let part = number_of(document);
    Err(MergeError::OtherPlan { first, part, field, ours, theirs })
}

/// Returns the plan without the facts of one machine: its part, its addresses, the length of its
/// secrets, and how it sends and receives. They change how well the load was sent, which the
/// verdict judges, and not which load.
fn of_all_machines(plan: &Plan) -> Plan {
    let Plan { pacing, io, .. } = Plan::default();
    let mut plan = Plan { part: None, pacing, io, ..plan.clone() };
    plan.target.address.clear();
    plan.connection.sources.clear();
    plan.request.wire_bytes = 0;
    plan
}

/// Returns the first field that differs, with both values.
fn difference(place: &str, ours: &Value, theirs: &Value) -> Option<(String, String, String)> {
    match (ours, theirs) {
        (Value::Object(mine), Value::Object(others)) => {
            let names: BTreeSet<&String> = mine.keys().chain(others.keys()).collect();
            names.into_iter().find_map(|name| {
                let of = |object: &serde_json::Map<String, Value>| {
                    object.get(name).cloned().unwrap_or_default()
                };
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                difference(&place, &of(mine), &of(others))
            })
        }
        _ => (ours != theirs).then(|| (place.to_owned(), shown(ours), shown(theirs))),
    }
}

/// Formats a value of a plan for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => text.clone(),
        other => match serde_json::from_value::<DueTimes>(other.clone()) {
            Ok(due) => due.to_string(),
            Err(_) => other.to_string(),
        },
    }
}

/// Gives both records the same slices, and checks that adding keeps every count in its range.
fn align(mine: &mut Recorded, theirs: &mut Recorded, part: u32) -> Result<(), MergeError> {
    align_pair(&mut mine.measurements, &mut theirs.measurements, part)?;
    if let (Some(mine), Some(theirs)) = (&mut mine.beside.witness, &mut theirs.beside.witness) {
        align_pair(mine, theirs, part)?;
    }
    // Buckets of an interval are 32 bits wide; no bucket counts more than its interval.
    for interval in &theirs.measurements.intervals {
        let known = &mine.measurements.intervals;
        let Ok(index) = known.binary_search_by_key(&interval.start_ns, |i| i.start_ns) else {
            continue;
        };
        if known[index].latency.exact().count + interval.latency.exact().count > u64::from(u32::MAX)
        {
            return Err(MergeError::TooMany);
        }
    }
    Ok(())
}

fn align_pair(
    mine: &mut Measurements,
    theirs: &mut Measurements,
    part: u32,
) -> Result<(), MergeError> {
    if !can_align([&*mine, &*theirs].into_iter()) {
        return Err(MergeError::OtherSlices { part });
    }
    let mut pair = [std::mem::take(mine), std::mem::take(theirs)];
    align_slices(&mut pair);
    [*mine, *theirs] = pair;
    Ok(())
}

/// Checks that all parts ran together for most of the window: rates and numbers in flight are sums
/// over the parts, and a load that was never there at once has none.
fn check_overlap(merged: &Document) -> Result<(), MergeError> {
    match merged.parts_overlap() {
        Some((last, first, share)) if share < OVERLAP_LEAST => {
            Err(MergeError::Apart { last, first, shared_percent: (share * 100.0) as u32 })
        }
        _ => Ok(()),
    }
}

/// Describes two windows that share little or nothing.
fn apart_in_words(last: &PartWindow, first: &PartWindow, shared_percent: u32) -> String {
    match last.from_ns.checked_sub(first.until_ns) {
        None => format!("their windows share {shared_percent}%, less than half"),
        Some(gap_ns) => format!(
            "the window of part {} began {} after that of part {} had ended",
            last.part,
            units::duration(gap_ns),
            first.part
        ),
    }
}

fn merged_run(parts: &[PartSection]) -> Run {
    let runs = || parts.iter().map(|section| &section.run);
    let first = &parts[0].run;
    let earliest = runs().min_by_key(|run| run.epoch_unix_ns).unwrap_or(first);
    let client = runs().fold(ClientUsage::default(), |sum, run| ClientUsage {
        cpu_user_ns: sum.cpu_user_ns.saturating_add(run.client.cpu_user_ns),
        cpu_system_ns: sum.cpu_system_ns.saturating_add(run.client.cpu_system_ns),
        max_resident_bytes: sum.max_resident_bytes.saturating_add(run.client.max_resident_bytes),
    });
    Run {
        epoch: earliest.epoch.clone(),
        epoch_unix_ns: earliest.epoch_unix_ns,
        part: 1,
        parts: 1,
        interrupted: runs().any(|run| run.interrupted),
        unsettled: runs().any(|run| run.unsettled),
        // It is of one part.
        spec: None,
        preflight: runs().find_map(|run| run.preflight.clone()),
        client,
        ..first.clone()
    }
}

/// Collects every note once, in the order of the parts.
fn merged_notes(parts: &[PartSection]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for note in parts.iter().flat_map(|section| &section.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}
