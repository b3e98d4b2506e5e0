//! Messages on the bus: their subjects, and the process that a message is from or for.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::message::Sender;

/// Subjects of everything that agents say to the coordinator: what it needs, and their progress.
pub(crate) const FROM_AGENTS: [&str; 2] = ["weir.agent.*.out", "weir.agent.*.live"];

/// Subject of what one agent says.
pub(crate) fn from_agent(agent: &str) -> String {
    format!("weir.agent.{agent}.out")
}

/// Subject of the progress of one agent.
pub(crate) fn progress_of(agent: &str) -> String {
    format!("weir.agent.{agent}.live")
}

/// True if a message is about the progress of a load.
pub(crate) fn is_progress(subject: &str) -> bool {
    subject.ends_with(".live")
}

/// Subject of what is said to one agent.
pub(crate) fn to_agent(agent: &str) -> String {
    format!("weir.agent.{agent}.in")
}

/// A message, with the process of the agent.
#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    incarnation: u64,
    message: T,
}

pub(crate) fn sealed<T: Serialize>(incarnation: u64, message: T) -> Vec<u8> {
    serde_json::to_vec(&Envelope { incarnation, message }).unwrap_or_default()
}

/// Reads a message and the agent's process of its subject. `None`: it is none that this version
/// knows, and nothing depends on a single message.
pub(crate) fn opened<T: DeserializeOwned>(subject: &str, payload: &[u8]) -> Option<(Sender, T)> {
    let rest = subject.strip_prefix("weir.agent.")?;
    let (agent, _) = rest.rsplit_once('.')?;
    let Envelope { incarnation, message } = serde_json::from_slice(payload).ok()?;
    Some((Sender { agent: agent.to_owned(), incarnation }, message))
}
