//! The report of a run whose coordinator is gone, from what the bus keeps.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use weir_machine::sys;
use weir_result::Document;

use crate::LEASE_NS;
use crate::bus::Bus;
use crate::clock::ClockSpan;
use crate::delivered::Delivered;
use crate::envelope::ending_of;
use crate::identity::BusAccess;
use crate::member::{MemberEnd, MemberResult};
use crate::merging::{FleetClock, merged};
use crate::message::Ending;
use crate::record::{AgentRecord, BEGIN, BeginRecord};

/// Time between two looks at what the bus keeps.
const TURN: Duration = Duration::from_millis(200);

/// Waits until the load of a run has ended on all its agents, or can be under way no more, and
/// returns its document. `is_stopped` ends the wait.
///
/// # Errors
/// When the bus keeps no such run, or no agent has delivered what it measured.
pub fn resume(bus: &BusAccess, run: &str, is_stopped: impl Fn() -> bool) -> Result<Document> {
    let (bus, _messages) = Bus::connect(bus, "reader", &[])?;
    let begin = begin_of(&bus, run)?
        .with_context(|| format!("the bus keeps no run {run} whose load began"))?;
    // An agent that hears no coordinator ends by itself, and then delivers.
    let until_ns = begin.unix_ns.saturating_add(begin.load_ns).saturating_add(2 * LEASE_NS);
    loop {
        let endings = endings(&bus, run, &begin.agents)?;
        let is_over = endings.iter().all(Option::is_some);
        if is_over || is_stopped() || sys::realtime_ns() > until_ns {
            return report(&bus, run, &begin, endings);
        }
        thread::sleep(TURN);
    }
}

fn report(
    bus: &Bus,
    run: &str,
    begin: &BeginRecord,
    endings: Vec<Option<Ending>>,
) -> Result<Document> {
    let delivered =
        Delivered::of(bus, run, begin.agents.iter().map(|agent| (&agent.name, agent.part)));
    let members = begin.agents.iter().zip(endings).map(|(agent, ending)| {
        let low_ns = begin.unix_ns.saturating_sub(agent.clock_error_ns);
        let high_ns = begin.unix_ns + agent.clock_error_ns;
        MemberResult {
            agent: agent.name.clone(),
            part: agent.part,
            end: ending.map_or(MemberEnd::Unknown, MemberEnd::Reported),
            begun_own_ns: None,
            begun: Some(ClockSpan { low_ns, high_ns }),
            drift: None,
            silences_ns: Vec::new(),
        }
    });
    let clock = FleetClock { begins_ns: begin.unix_ns, unix_ahead_ns: 0 };
    merged(delivered, &members.collect::<Vec<_>>(), clock)
}

fn endings(bus: &Bus, run: &str, agents: &[AgentRecord]) -> Result<Vec<Option<Ending>>> {
    agents.iter().map(|agent| record(bus, run, &ending_of(&agent.name))).collect()
}

/// Returns the start of a run's load, if it has begun.
pub(crate) fn begin_of(bus: &Bus, run: &str) -> Result<Option<BeginRecord>> {
    record(bus, run, BEGIN)
}

fn record<T: DeserializeOwned>(bus: &Bus, run: &str, name: &str) -> Result<Option<T>> {
    let text = bus.kept(run, name)?;
    let record = text.map(|text| serde_json::from_slice(&text)).transpose();
    record.with_context(|| format!("{name}, as the bus keeps it"))
}
