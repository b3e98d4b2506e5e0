//! Records of a run on the bus, from which another process can report it.

use std::sync::Arc;
use std::thread;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use weir_result::Part;

use crate::bus::Bus;

/// The way to the bus of a record: [`Bus::keep`], or [`Bus::deliver`] for an agent.
type Keeping = fn(&Bus, &str, &str, &[u8]) -> Result<()>;

/// Keeps a record without a wait: a bus that is away would hold up what depends on the clock. The
/// run is the same without it; only another process could not report it.
pub(crate) fn keep_aside(
    bus: &Arc<Bus>,
    keeping: Keeping,
    run: &str,
    name: String,
    record: &impl Serialize,
) {
    let bus = Arc::clone(bus);
    let run = run.to_owned();
    let Ok(text) = serde_json::to_vec(record) else { return };
    let keep = move || {
        let _lost = keeping(&bus, &run, &name, &text);
    };
    let _not_started = thread::Builder::new().name("weir-record".to_owned()).spawn(keep);
}

/// Name under which a [`BeginRecord`] is kept.
pub(crate) const BEGIN: &str = "begin";

/// The start of a load that all agents have agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BeginRecord {
    /// The start, in nanoseconds since 1970 by the coordinator's clock.
    pub(crate) unix_ns: u64,
    /// Longest time from the start to the end of the load, with the drain.
    pub(crate) load_ns: u64,
    /// The agents in the order of their parts.
    pub(crate) agents: Vec<AgentRecord>,
}

/// An agent of a [`BeginRecord`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentRecord {
    pub(crate) name: String,
    pub(crate) part: Part,
    /// Greatest error of its clock at the start, in nanoseconds.
    pub(crate) clock_error_ns: u64,
}
