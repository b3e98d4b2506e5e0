//! The documents of all agents as one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Result;
use weir_machine::sys;
use weir_result::Document;
use weir_result::document::{AgentEnd, AgentSection, FleetSection, SeriesEntry};
use weir_runner::Unreported;
use weir_text::units;

use crate::clock::ClockSpan;
use crate::delivered::Delivered;
use crate::member::{MemberEnd, MemberResult, start_spread_ns};
use crate::message::Ending;

/// Greatest distance of an agent's begin from that of the run, in nanoseconds: its clock is known
/// much better.
const BEGUN_WITHIN_NS: u64 = 1_000_000_000;

/// Documents that are compared with all others.
const PIVOTS_MAX: usize = 8;

/// The clock of the times of a fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FleetClock {
    /// The planned begin of the load, in nanoseconds.
    pub(crate) begins_ns: u64,
    /// Nanoseconds since 1970 minus its time.
    pub(crate) unix_ahead_ns: i128,
}

impl FleetClock {
    /// Returns CLOCK_MONOTONIC, with the start of the load on it.
    pub(crate) fn monotonic(begins_ns: u64) -> FleetClock {
        let unix_ns = sys::realtime_ns();
        let now_ns = sys::monotonic_ns();
        FleetClock { begins_ns, unix_ahead_ns: i128::from(unix_ns) - i128::from(now_ns) }
    }

    /// Returns the start of the load in nanoseconds since 1970.
    pub(crate) fn begins_unix_ns(self) -> u64 {
        u64::try_from(i128::from(self.begins_ns) + self.unix_ahead_ns).unwrap_or(0)
    }
}

/// Merges what the agents measured. The windows are compared on the coordinator's clock. A document
/// that contradicts the run or the others is left out, and its agent has failed.
///
/// # Errors
/// When no document is left; a message with the reason of each agent.
pub(crate) fn merged(
    Delivered { documents, mut missing, intervals }: Delivered,
    members: &[MemberResult],
    clock: FleetClock,
) -> Result<Document> {
    let mut usable = Vec::new();
    for mut document in documents {
        let part = document.plan.part;
        let Some(member) = members.iter().find(|member| Some(member.part) == part) else {
            continue;
        };
        let begun = member.begun.map_or(clock.begins_ns, |begun| begun.middle_ns());
        let off_ns = begun.abs_diff(clock.begins_ns);
        if off_ns > BEGUN_WITHIN_NS {
            let why = format!("it says that it began {} from the start", units::duration(off_ns));
            missing.insert(member.agent.clone(), why);
            continue;
        }
        set_epoch(&mut document, i128::from(begun) + clock.unix_ahead_ns);
        usable.push(document);
    }
    let document = largest_merge(usable, |document, why| {
        let of_part = |member: &&MemberResult| Some(member.part) == document.plan.part;
        if let Some(member) = members.iter().find(of_part) {
            missing.insert(member.agent.clone(), why);
        }
    });
    let Some(document) = document else {
        let why = |member: &MemberResult| {
            let section = section(member, clock.begins_ns);
            let why = missing.get(&member.agent).map(|why| format!(": {why}"));
            format!("{}{}", section.end_in_words(), why.unwrap_or_default())
        };
        return Err(Unreported(members.iter().map(why).collect()).into());
    };
    let entry = |interval| SeriesEntry::of_agent(interval, &document.plan);
    let left = |agent: &str| intervals.get(agent).into_iter().flatten().map(entry).collect();
    let of_member = |member: &MemberResult| {
        let section = section(member, clock.begins_ns);
        let intervals = left(&member.agent);
        match missing.get(&member.agent) {
            // It says that it has ended in order, and what it left says something else.
            Some(why) if [AgentEnd::Planned, AgentEnd::Stopped].contains(&section.end) => {
                let reason = format!("its part is missing: {why}");
                AgentSection { intervals, end: AgentEnd::Failed, reason, ..section }
            }
            _ => AgentSection { intervals, ..section },
        }
    };
    let agents = members.iter().map(of_member).collect();
    let fleet = FleetSection { start_spread_ns: start_spread_ns(members), agents };
    let mut document = Document { fleet: Some(fleet), ..document };
    document.verdict = weir_verdict::verdict(&document);
    Ok(document)
}

/// Merges as many documents as belong together, and reports the others with the reason. A document
/// can be made up in any way, so a panic is one more reason.
fn largest_merge(
    documents: Vec<Document>,
    mut leave_out: impl FnMut(&Document, String),
) -> Option<Document> {
    let mut left = Vec::new();
    for document in documents {
        match merge(std::slice::from_ref(&document)) {
            Ok(_) => left.push(document),
            Err(why) => leave_out(&document, why),
        }
    }
    if let Ok(document) = merge(&left) {
        return Some(document);
    }
    // All of them hardly ever contradict each other: one that goes with most decides.
    let fits = |first: &Document, other: &Document| {
        let is_same = first.plan.part == other.plan.part;
        is_same || merge(&[first.clone(), other.clone()]).is_ok()
    };
    let count = |first: &Document| left.iter().filter(|other| fits(first, other)).count();
    let first = left.iter().take(PIVOTS_MAX).max_by_key(|first| count(first))?.clone();
    left.retain(|other| {
        let fits = fits(&first, other);
        if !fits {
            leave_out(other, "it contradicts the documents of the others".to_owned());
        }
        fits
    });
    merge(&left).ok()
}

/// Merges documents that may be made up.
fn merge(documents: &[Document]) -> Result<Document, String> {
    let merged = catch_unwind(AssertUnwindSafe(|| weir_verdict::merge(documents)));
    let merged = merged.map_err(|_| "its document holds impossible numbers".to_owned())?;
    merged.map_err(|error| error.to_string())
}

/// Describes an agent of a load that was planned to begin at a time of the coordinator's clock.
fn section(member: &MemberResult, begins_ns: u64) -> AgentSection {
    let (end, reason, heard_ns) = match &member.end {
        MemberEnd::Reported(Ending::Planned) => (AgentEnd::Planned, "", None),
        MemberEnd::Reported(Ending::Stopped) => (AgentEnd::Stopped, "", None),
        MemberEnd::Reported(Ending::LeaseExpired) => (AgentEnd::LeaseExpired, "", None),
        MemberEnd::Reported(Ending::Signal(name)) => (AgentEnd::Signal, name.as_str(), None),
        MemberEnd::Reported(Ending::Failed(why)) => (AgentEnd::Failed, why.as_str(), None),
        MemberEnd::Unknown => (AgentEnd::Lost, "", None),
        MemberEnd::Lost { heard_ns } => (AgentEnd::Lost, "", Some(*heard_ns)),
        MemberEnd::Restarted { heard_ns } => (AgentEnd::Restarted, "", Some(*heard_ns)),
    };
    let after = |ns: u64| ns.saturating_sub(begins_ns);
    AgentSection {
        name: member.agent.clone(),
        part: member.part,
        begun_monotonic_ns: member.begun_own_ns,
        clock_error_ns: member.begun.as_ref().map(ClockSpan::bound_ns),
        clock_drift: member.drift,
        end,
        reason: reason.to_owned(),
        intervals: Vec::new(),
        heard_until_ns: heard_ns.map(after),
        silences_ns: member
            .silences_ns
            .iter()
            .map(|(from, to)| (after(*from), after(*to)))
            .collect(),
    }
}

/// Sets the document's epoch so that its load began at this time since 1970, in nanoseconds.
fn set_epoch(document: &mut Document, begun_unix_ns: i128) {
    let start_ns = document.phases.iter().map(|worker| worker.start_ns).min().unwrap_or(0);
    let epoch_ns = begun_unix_ns - i128::from(start_ns);
    if let Ok(epoch_ns) = u64::try_from(epoch_ns) {
        document.run.epoch_unix_ns = epoch_ns;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};
    use weir_report::TextOptions;
    use weir_result::{Load, Part};
    use weir_runner::{LocalRunner, RunSpec, Silent};
    use weir_serve::ServeOptions;

    use super::*;

    const CLOCK: FleetClock = FleetClock { begins_ns: 1_000_000_000, unix_ahead_ns: 0 };

    /// Carries out one of three parts of a load.
    fn part(index: u32, url: &str) -> Document {
        let mut spec = RunSpec::new(url);
        let requests = Some(300);
        spec.load = Load { connections: 3.into(), requests, ..Load::default() };
        (spec.load.warmup.span_ns, spec.engine.threads) = (0, Some(3));
        spec.checks.preflight = false;
        spec.part = Some(Part::new(index, 3).expect("it exists"));
        LocalRunner::default().run(&spec, &mut Silent).expect("a server").document
    }

    fn member(index: u32) -> MemberResult {
        MemberResult {
            agent: format!("gen-{index}"),
            part: Part::new(index, 3).expect("it exists"),
            end: MemberEnd::Reported(Ending::Planned),
            begun_own_ns: None,
            begun: None,
            drift: None,
            silences_ns: Vec::new(),
        }
    }

    /// Notes one place of each field of a value, by the names on the way to it.
    fn fields(value: &Value, names: &str, place: &str, found: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(fields_of) => fields_of.iter().for_each(|(name, value)| {
                let name = name.replace('~', "~0").replace('/', "~1");
                fields(value, &format!("{names}/{name}"), &format!("{place}/{name}"), found);
            }),
            Value::Array(values) => values.iter().enumerate().for_each(|(index, value)| {
                fields(value, &format!("{names}/#"), &format!("{place}/{index}"), found);
            }),
            _ => {}
        }
        found.entry(names.to_owned()).or_insert_with(|| place.to_owned());
    }

    /// Merges three documents, of which one is made up, and returns the parts that are left.
    fn left(documents: [&Document; 2], made_up: &Value) -> Vec<u32> {
        let read = Document::from_json(made_up.to_string().as_bytes()).ok();
        let own = Part::new(2, 3);
        let read = read.filter(|document| document.plan.part == own);
        let unread = read.is_none().then(|| ("gen-2".to_owned(), "unread".to_owned()));
        let documents = documents.into_iter().cloned().chain(read).collect();
        let missing = unread.into_iter().collect();
        let delivered = Delivered { documents, missing, ..Delivered::default() };
        let document = merged(delivered, &[1, 2, 3].map(member), CLOCK).expect("two are true");
        let mut text = Vec::new();
        weir_report::text::write(&document, &TextOptions::default(), &mut text).expect("memory");
        let fleet = document.fleet.expect("agents carried it out");
        let is_left = |agent: &&AgentSection| agent.end == AgentEnd::Planned;
        let left = fleet.agents.iter().filter(is_left);
        left.map(|agent| agent.part.index()).collect()
    }

    #[test]
    fn a_lie_in_any_field_of_a_document_costs_no_other_part() {
        let server = weir_serve::spawn(ServeOptions::default()).expect("a port");
        let url = format!("http://{}/", server.endpoint());
        let [first, second, third] = [1, 2, 3].map(|index| part(index, &url));
        let honest = serde_json::to_value(&second).expect("a document");
        assert_eq!(left([&first, &third], &honest), [1, 2, 3]);
        let mut found = BTreeMap::new();
        fields(&honest, "", "", &mut found);
        assert!(found.len() > 400, "{}", found.len());
        let lies = [json!(u64::MAX), json!(null), json!(-1), json!("\u{7}"), json!(1e300)];
        let mut unusable = 0;
        for (number, place) in found.values().enumerate() {
            for lie in [&lies[number % 5], &lies[(number + 1) % 5]] {
                let mut made_up = honest.clone();
                *made_up.pointer_mut(place).expect("it is there") = lie.clone();
                let left = left([&first, &third], &made_up);
                assert!(left.contains(&1) && left.contains(&3), "{place} is {lie}: {left:?}");
                unusable += usize::from(left.len() == 2);
            }
        }
        assert!(unusable > found.len(), "{unusable} of {}", 2 * found.len());
    }
}
