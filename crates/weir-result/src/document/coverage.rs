//! The part of its plan that a document covers: the connections of its parts, the share of the rate
//! that belongs to them, and their windows.
//!
//! A document of one part names it in its plan; a merged one lists its parts.

use std::collections::BTreeSet;

use weir_text::units;

use super::content::Document;
use super::fleet::AgentSection;
use super::parts::{PartCounts, PartSection, SendMethod};
use super::throughput::window_ns;
use crate::counters::Phases;
use crate::plan::Plan;

impl PartSection {
    /// Returns the parts that a document consists of; none if it is of a whole run.
    pub(super) fn of_document(document: &Document) -> Vec<PartSection> {
        let of_part = document.plan.part.map(|part| PartSection {
            part,
            tool: document.tool.clone(),
            run: document.run.clone(),
            environment: document.environment.clone(),
            verdict: document.verdict.clone(),
            sends_by: Some(SendMethod { io: document.plan.io, pacing: document.plan.pacing }),
            counts: Some(PartCounts {
                connections: document.plan.own_connections(),
                planned: document.results.planned,
                ok: document.results.outcomes.ok,
                failed: document.results.failed(),
                good_rps: document.results.good_rps,
            }),
            server: document.server.clone(),
            notes: document.notes.clone(),
        });
        of_part.map_or_else(|| document.parts.clone(), |part| vec![part])
    }
}

/// Part of a plan's load that a document covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coverage {
    /// Connections of the parts that the document consists of.
    pub(super) connections: u32,
    /// Of the plan's connections, and so of its rate: 0 to 1.
    pub(super) share: f64,
}

impl Coverage {
    /// Computes what a document of this plan covers, with these merged parts.
    pub(super) fn of(plan: &Plan, parts: &[PartSection]) -> Coverage {
        let connections = match parts {
            [] => plan.own_connections(),
            parts => parts
                .iter()
                .fold(0, |sum: u32, section| sum.saturating_add(plan.connections_of(section.part))),
        };
        let share = f64::from(connections) / f64::from(plan.load.connections.count().max(1));
        Coverage { connections, share }
    }
}

/// The window of one part on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartWindow {
    /// Number of the part, from 1.
    pub part: u32,
    /// Start of the window, in nanoseconds since 1970, UTC.
    pub from_ns: u64,
    /// End of the window, in nanoseconds since 1970, UTC.
    pub until_ns: u64,
}

impl Document {
    /// True if messages that a WebSocket server pushed may have counted as echoes, so that no time
    /// of an echo is known.
    pub fn has_unmatched_pushes(&self) -> bool {
        self.plan.echoes_in_order() && self.connections.pushed > 0
    }

    /// Numbers of the parts that are missing, from 1; none unless the document is merged.
    pub fn missing_parts(&self) -> impl Iterator<Item = u32> {
        let present: BTreeSet<u32> =
            self.parts.iter().map(|section| section.part.index()).collect();
        let count = self.parts.first().map_or(0, |section| section.part.count());
        (1..=count).filter(move |index| !present.contains(index))
    }

    /// Names a part by its number, from 1: `part 2`, or of a fleet `agent gen-2`.
    pub fn part_in_words(&self, index: u32) -> String {
        let agents = self.fleet.iter().flat_map(|fleet| &fleet.agents);
        let agent = agents.into_iter().find(|agent| agent.part.index() == index);
        agent.map_or_else(|| format!("part {index}"), AgentSection::in_words)
    }

    /// Share of the planned load that the document covers, 0 to 1: less than 1 in one part, and in
    /// a merged document that lacks parts.
    pub fn share(&self) -> f64 {
        self.coverage().share
    }

    /// Planned rate of the parts that the document covers, as reports print it; `None` in a closed
    /// loop.
    pub fn offered_in_words(&self) -> Option<String> {
        let rate = self.plan.load.rate()?;
        let share = self.share();
        if self.plan.load.log().is_some() {
            return Some(format!("{} on average", units::rate(share * rate.rps())));
        }
        Some(if share < 1.0 { units::rate(share * rate.rps()) } else { rate.to_string() })
    }

    /// Returns the server's limit of streams as a sentence, if the plan has more on a connection.
    pub fn allowed_streams_in_words(&self) -> Option<String> {
        let allowed = self.connections.streams_allowed;
        let text = || format!("the server allows {allowed} of {} streams", self.plan.depth());
        (allowed > 0).then(text)
    }

    /// Number of connections of the parts that the document covers; if it grows, at the start.
    pub fn covered_connections(&self) -> u32 {
        self.coverage().connections
    }

    /// Greatest number of connections of the parts that the document covers.
    pub fn covered_connections_max(&self) -> u32 {
        match &self.parts[..] {
            [] => self.plan.own_connections_max(),
            parts => parts.iter().fold(0, |sum: u32, section| {
                sum.saturating_add(self.plan.connections_max_of(section.part))
            }),
        }
    }

    /// True if the number of connections may grow, and was below its greatest all the time.
    pub fn is_below_connections_max(&self) -> bool {
        let opened = self.connections.requested.saturating_add(self.connections.grown);
        self.plan.load.connections.grows_to().is_some()
            && opened < self.covered_connections_max().into()
    }

    /// Returns the window of the merged parts that starts last and the one that ends first, with
    /// the share of the shortest window that lies in all of them, 0 to 1; `None` if fewer than two
    /// are known.
    pub fn parts_overlap(&self) -> Option<(PartWindow, PartWindow, f64)> {
        // The end of an interrupted part is not the plan's.
        let complete = self.parts.iter().filter(|section| !section.run.interrupted);
        let windows = complete.filter_map(|part| window_of(&self.plan, part, &self.phases));
        overlap(&windows.collect::<Vec<_>>())
    }

    fn coverage(&self) -> Coverage {
        Coverage::of(&self.plan, &self.parts)
    }
}

fn window_of(plan: &Plan, section: &PartSection, phases: &[Phases]) -> Option<PartWindow> {
    let part = section.part.index();
    let own: Vec<Phases> = phases.iter().filter(|phases| phases.part == part).copied().collect();
    let start_ns = own.iter().map(|phases| phases.start_ns).max()?;
    let t0_ns = start_ns.saturating_add(plan.load.warmup.span_ns);
    let from_ns = section.run.epoch_unix_ns.saturating_add(t0_ns);
    let until_ns = from_ns.saturating_add(window_ns(plan, false, &own));
    Some(PartWindow { part, from_ns, until_ns })
}

/// Returns the window that starts last and the one that ends first, with the share of the shortest
/// window that lies in all of them, 0 to 1; `None` with fewer than two. Windows that end with the
/// requests of each part have different lengths.
fn overlap(windows: &[PartWindow]) -> Option<(PartWindow, PartWindow, f64)> {
    if windows.len() < 2 {
        return None;
    }
    let last = windows.iter().max_by_key(|window| (window.from_ns, window.part))?;
    let first = windows.iter().min_by_key(|window| (window.until_ns, window.part))?;
    let lengths = windows.iter().map(|window| window.until_ns.saturating_sub(window.from_ns));
    let shortest_ns = lengths.min().filter(|ns| *ns > 0)?;
    let shared_ns = first.until_ns.saturating_sub(last.from_ns);
    Some((*last, *first, shared_ns as f64 / shortest_ns as f64))
}
