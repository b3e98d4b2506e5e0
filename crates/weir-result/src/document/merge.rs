//! Merges several documents into one: the parts of a run that was spread over processes or
//! machines.
//!
//! Buckets are added and everything is derived again; percentiles are never averaged. Parts share
//! a plan, and each counts its own share of it.

use std::collections::BTreeSet;

use super::assemble::{Frame, derive};
use super::check::BrokenInvariant;
use super::recorded::Recorded;
use super::{ClientUsage, Document, Note, ProveClientSection, Run, SelfcheckSection, Trials};
use crate::measurements::Measurements;

/// Reason why documents cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is no document.
    #[error("there is no document to merge")]
    Nothing,
    /// Parts with different plans.
    #[error("part {part} had another plan than the first one: their numbers mean different things")]
    OtherPlan {
        /// Number of the part that differs.
        part: u32,
    },
    /// A part that occurs twice, or parts of differently divided runs.
    #[error("part {part} of {parts} does not fit the others: it is there twice, or of another run")]
    OtherPart {
        /// Number of the part.
        part: u32,
        /// Number of parts of its run.
        parts: u32,
    },
    /// Parts whose windows are cut into different slices.
    #[error("part {part} has other slices than the first one")]
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

impl Document {
    /// Merges the parts of one run into one document.
    ///
    /// It stands for the whole run, as part 1 of 1. Its id, command, environment and preflight are
    /// those of the first document, its epoch is the earliest. A missing part is noted.
    pub fn merge(documents: &[Document]) -> Result<Document, MergeError> {
        let [first, others @ ..] = documents else {
            return Err(MergeError::Nothing);
        };
        check_parts(first, documents)?;
        let mut recorded = decoded(first)?;
        for document in others {
            let part = document.run.part;
            if document.plan != first.plan {
                return Err(MergeError::OtherPlan { part });
            }
            let theirs = decoded(document)?;
            check_fit(&recorded, &theirs, part)?;
            recorded.merge(&theirs);
        }
        let frame = Frame {
            tool: first.tool.clone(),
            run: merged_run(first, documents),
            plan: first.plan.clone(),
            environment: first.environment.clone(),
            trials: merged_trials(documents),
            notes: merged_notes(first, documents),
        };
        let mut merged = derive(frame, &recorded)?;
        merged.raw = documents.iter().flat_map(|document| document.raw.clone()).collect();
        Ok(merged)
    }
}

fn decoded(document: &Document) -> Result<Recorded, MergeError> {
    let part = document.run.part;
    Recorded::of_document(document).map_err(|why| MergeError::Damaged { part, why })
}

fn check_parts(first: &Document, documents: &[Document]) -> Result<(), MergeError> {
    let mut seen = BTreeSet::new();
    for document in documents {
        let (part, parts) = (document.run.part, document.run.parts);
        let is_in_range = (1..=parts).contains(&part);
        if parts != first.run.parts || !is_in_range || !seen.insert(part) {
            return Err(MergeError::OtherPart { part, parts });
        }
    }
    Ok(())
}

/// Checks that adding keeps every count in its range and every slice in its place.
fn check_fit(mine: &Recorded, theirs: &Recorded, part: u32) -> Result<(), MergeError> {
    let witnesses = mine.witness.as_ref().zip(theirs.witness.as_ref());
    let are_alike = |(mine, theirs): (&Measurements, &Measurements)| {
        let mut slices = mine.slices.iter().zip(&theirs.slices);
        slices.all(|(a, b)| (a.start_ns, a.end_ns) == (b.start_ns, b.end_ns))
    };
    if !are_alike((&mine.measurements, &theirs.measurements)) || !witnesses.is_none_or(are_alike) {
        return Err(MergeError::OtherSlices { part });
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

fn merged_run(first: &Document, documents: &[Document]) -> Run {
    let runs = || documents.iter().map(|document| &document.run);
    let earliest = runs().min_by_key(|run| run.epoch_unix_ns).unwrap_or(&first.run);
    let client = runs().fold(ClientUsage::default(), |sum, run| ClientUsage {
        cpu_user_ns: sum.cpu_user_ns.saturating_add(run.client.cpu_user_ns),
        cpu_system_ns: sum.cpu_system_ns.saturating_add(run.client.cpu_system_ns),
        max_resident_bytes: sum.max_resident_bytes.saturating_add(run.client.max_resident_bytes),
    });
    Run {
        id: first.run.id.clone(),
        epoch: earliest.epoch.clone(),
        epoch_unix_ns: earliest.epoch_unix_ns,
        part: 1,
        parts: 1,
        interrupted: runs().any(|run| run.interrupted),
        unsettled: runs().any(|run| run.unsettled),
        command: first.run.command.clone(),
        preflight: runs().find_map(|run| run.preflight.clone()),
        client,
    }
}

/// Returns the worst of all parts: one client that was too weak spoils the whole.
fn merged_trials(documents: &[Document]) -> Trials {
    let selfchecks = documents.iter().filter_map(|document| document.selfcheck);
    let proofs = documents.iter().filter_map(|document| document.prove_client);
    Trials {
        selfcheck: selfchecks.reduce(SelfcheckSection::worse),
        prove_client: proofs.reduce(ProveClientSection::worse),
    }
}

/// Collects every note once, in the order of the parts.
fn merged_notes(first: &Document, documents: &[Document]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for note in documents.iter().flat_map(|document| &document.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let present = documents.len();
    if usize::try_from(first.run.parts).is_ok_and(|parts| parts > present) {
        let text = format!("{present} of {} parts are here: the rest is missing", first.run.parts);
        notes.push(Note::new("parts_missing", text));
    }
    notes
}
