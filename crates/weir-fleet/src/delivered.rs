//! Documents and intervals that the agents of a run have left on the bus.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use weir_result::{Document, Interval, Part};

use crate::bus::Bus;
use crate::envelope::result_of;
use crate::interval_store::kept_intervals;

/// Time until a document that an agent has sent is there.
const THERE_WITHIN: Duration = Duration::from_secs(3);

/// The documents of the agents, and what is there of those that left none.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) documents: Vec<Document>,
    /// Why an agent's document is missing, by its name.
    pub(crate) missing: BTreeMap<String, String>,
    /// By the agent's name, in order of time.
    pub(crate) intervals: BTreeMap<String, Vec<Interval>>,
}

impl Delivered {
    /// Reads what agents of these names have left of their parts. One whose document cannot be used
    /// costs no other its own.
    pub(crate) fn of<'a>(
        bus: &Bus,
        run: &str,
        agents: impl Iterator<Item = (&'a String, Part)>,
    ) -> Delivered {
        let mut delivered = Delivered::default();
        let until = Instant::now() + THERE_WITHIN;
        for (agent, part) in agents {
            match document(bus, run, agent, part, until) {
                Ok(document) => delivered.documents.push(document),
                Err(why) => {
                    let kept = bus.is_there().then(|| kept_intervals(bus, run, agent).ok());
                    let intervals = kept.flatten().unwrap_or_default();
                    delivered.intervals.insert(agent.clone(), intervals);
                    delivered.missing.insert(agent.clone(), format!("{why:#}"));
                }
            }
        }
        delivered
    }
}

/// Returns the document that an agent has kept on the bus, of its own part.
fn document(bus: &Bus, run: &str, agent: &str, part: Part, until: Instant) -> Result<Document> {
    let text = bus.delivered(run, &result_of(agent), until)?;
    let document = Document::from_json(text.as_slice());
    let document = document.context("its document cannot be read")?;
    ensure!(document.plan.part == Some(part), "its document is of another part");
    Ok(document)
}
