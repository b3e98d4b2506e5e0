//! Documents and intervals that the agents of a run have left on the bus.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use weir_result::{Document, Interval};

use crate::bus::Bus;
use crate::interval_store::kept_intervals;
use crate::record::result_of;

/// The documents of the agents, and the intervals of those that left none.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) documents: Vec<Document>,
    /// By the agent's name, in order of time.
    pub(crate) intervals: BTreeMap<String, Vec<Interval>>,
}

impl Delivered {
    /// Reads what agents of these names have left.
    ///
    /// # Errors
    /// When the bus does not answer, or a document is damaged.
    pub(crate) fn of<'a>(
        bus: &Bus,
        run: &str,
        agents: impl Iterator<Item = &'a String>,
    ) -> Result<Delivered> {
        let mut delivered = Delivered::default();
        for agent in agents {
            match document(bus, run, agent)? {
                Some(document) => delivered.documents.push(document),
                None => {
                    let intervals = kept_intervals(bus, run, agent)?;
                    delivered.intervals.insert(agent.clone(), intervals);
                }
            }
        }
        Ok(delivered)
    }
}

/// Returns the document that an agent has kept on the bus, if it has.
fn document(bus: &Bus, run: &str, agent: &str) -> Result<Option<Document>> {
    let text = bus.kept(run, &result_of(agent))?;
    let document = text.map(|text| weir_verdict::from_json(text.as_slice())).transpose();
    document.with_context(|| format!("the document of agent {agent}"))
}
