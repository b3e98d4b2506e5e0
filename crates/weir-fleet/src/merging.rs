//! The documents of all agents as one.

use anyhow::{Context, Result, bail};
use weir_result::Document;
use weir_result::document::{AgentEnd, AgentSection, FleetSection, SeriesEntry};

use crate::clock::ClockSpan;
use crate::delivered::Delivered;
use crate::member::{MemberEnd, MemberResult, start_spread_ns};
use crate::message::Ending;

/// The clock of the times of a fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FleetClock {
    /// The planned begin of the load, in nanoseconds.
    pub(crate) begins_ns: u64,
    /// Nanoseconds since 1970 minus its time.
    pub(crate) unix_ahead_ns: i128,
}

impl FleetClock {
    /// Returns CLOCK_MONOTONIC, with the begin of the load on it.
    pub(crate) fn monotonic(begins_ns: u64) -> FleetClock {
        let (unix_ns, now_ns) = (weir_sys::realtime_ns(), weir_sys::monotonic_ns());
        FleetClock { begins_ns, unix_ahead_ns: i128::from(unix_ns) - i128::from(now_ns) }
    }

    /// Returns the begin of the load in nanoseconds since 1970.
    pub(crate) fn begins_unix_ns(self) -> u64 {
        u64::try_from(i128::from(self.begins_ns) + self.unix_ahead_ns).unwrap_or(0)
    }
}

/// Merges what the agents measured. The windows are compared on the coordinator's clock.
///
/// # Errors
/// When there is no document, or they do not belong together.
pub(crate) fn merged(
    Delivered { mut documents, intervals }: Delivered,
    members: &[MemberResult],
    clock: FleetClock,
) -> Result<Document> {
    if documents.is_empty() {
        bail!("no agent has delivered what it measured");
    }
    for document in &mut documents {
        let part = document.plan.part;
        let member = members.iter().find(|member| Some(member.part) == part);
        if let Some(begun) = member.and_then(|member| member.begun) {
            set_epoch(document, i128::from(begun.middle_ns()) + clock.unix_ahead_ns);
        }
    }
    let document = weir_verdict::merge(&documents).context("the parts cannot be merged")?;
    let entry = |interval| SeriesEntry::of_agent(interval, &document.plan);
    let left = |agent: &str| intervals.get(agent).into_iter().flatten().map(entry).collect();
    let of_member = |member: &MemberResult| AgentSection {
        intervals: left(&member.agent),
        ..section(member, clock.begins_ns)
    };
    let agents = members.iter().map(of_member).collect();
    let fleet = FleetSection { start_spread_ns: start_spread_ns(members), agents };
    let mut document = Document { fleet: Some(fleet), ..document };
    document.verdict = weir_verdict::verdict(&document);
    Ok(document)
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
