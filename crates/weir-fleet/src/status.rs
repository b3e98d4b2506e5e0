//! The agents on a bus, and the runs that it keeps.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bus::{Bus, BusEvent, BusMessage};
use crate::envelope::{FROM_AGENTS, opened};
use crate::identity::{BusAccess, Role};
use crate::message::{AgentFacts, FromAgent, RunId};
use crate::record::BeginRecord;
use crate::resume::begin_of;

/// Time in which every agent says something: a free one does so each second.
const LISTEN: Duration = Duration::from_millis(1_500);

/// An agent that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPresence {
    /// Its name.
    pub name: String,
    /// Its description, unless it takes part in a run.
    pub facts: Option<AgentFacts>,
    /// The run that it takes part in.
    pub run: Option<RunId>,
}

/// A run that the bus keeps: it is under way, or its coordinator ended without a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRun {
    /// Its name.
    pub run: RunId,
    /// Begin of its load, in nanoseconds since 1970; none if it had not begun.
    pub begun_unix_ns: Option<u64>,
    /// Names of its agents.
    pub agents: Vec<String>,
}

/// Listens for a moment. Returns the agents by name, and the runs that the bus keeps: none for a
/// viewer.
///
/// # Errors
/// When the bus cannot be reached.
pub fn status(access: &BusAccess) -> Result<(Vec<AgentPresence>, Vec<KeptRun>)> {
    let (bus, messages) = Bus::connect(access, "reader", &FROM_AGENTS[..1])?;
    let agents = listen(&messages);
    if access.identity.as_ref().is_some_and(|identity| identity.role == Role::Viewer) {
        // It may ask the bus nothing.
        return Ok((agents, Vec::new()));
    }
    let kept = |run: String| {
        let begin: Option<BeginRecord> = begin_of(&bus, &run)?;
        let agents = begin.iter().flat_map(|begin| &begin.agents);
        let agents = agents.map(|agent| agent.name.clone()).collect();
        let begun_unix_ns = begin.as_ref().map(|begin| begin.unix_ns);
        Ok(KeptRun { run, begun_unix_ns, agents })
    };
    Ok((agents, bus.runs()?.into_iter().map(kept).collect::<Result<_>>()?))
}

fn listen(messages: &Receiver<BusMessage>) -> Vec<AgentPresence> {
    let mut agents = BTreeMap::new();
    let begun = Instant::now();
    while let Some(left) = LISTEN.checked_sub(begun.elapsed()) {
        let Ok(received) = messages.recv_timeout(left) else { break };
        let BusEvent::Received { subject, payload } = received.event else { continue };
        let Some((sender, message)) = opened::<FromAgent>(&subject, &payload) else { continue };
        let name = sender.agent;
        let (facts, run) = match message {
            FromAgent::Hello(facts) => (Some(facts), None),
            FromAgent::Clock { .. } | FromAgent::Claim => continue,
            FromAgent::Ready { run, .. }
            | FromAgent::Refused { run, .. }
            | FromAgent::Armed { run }
            | FromAgent::Working { run, .. }
            | FromAgent::Ended { run, .. } => (None, Some(run)),
        };
        agents.insert(name.clone(), AgentPresence { name, facts, run });
    }
    agents.into_values().collect()
}
