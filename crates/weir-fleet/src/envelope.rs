//! Messages on the bus: their subjects, and the process that a message is from or for.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::message::Sender;

/// Subjects of everything that agents say to the coordinator: what it needs, and their progress.
pub(crate) const FROM_AGENTS: [&str; 2] = ["weir.agent.*.out", "weir.agent.*.live"];

/// Longest message, and longest one about progress, in bytes: it has histograms.
const MESSAGE_MAX: usize = 64 << 10;
const PROGRESS_MAX: usize = 1 << 20;

/// Subject of what one agent says.
pub(crate) fn from_agent(agent: &str) -> String {
    format!("weir.agent.{agent}.out")
}

/// Subject of the progress of one agent.
pub(crate) fn progress_of(agent: &str) -> String {
    format!("weir.agent.{agent}.live")
}

/// Subjects on which agents request the specification, and that of one agent.
pub(crate) const FROM_ASKING: &str = "weir.agent.*.ask";

pub(crate) fn asking_of(agent: &str) -> String {
    format!("weir.agent.{agent}.ask")
}

/// Returns the agent of a subject.
pub(crate) fn sender_in(subject: &str) -> Option<&str> {
    Some(subject.strip_prefix("weir.agent.")?.rsplit_once('.')?.0)
}

/// True if a message is about the progress of a load.
pub(crate) fn is_progress(subject: &str) -> bool {
    subject.ends_with(".live")
}

/// Length of the longest message of a subject, in bytes. A longer one is lost.
pub(crate) fn longest(subject: &str) -> usize {
    if is_progress(subject) { PROGRESS_MAX } else { MESSAGE_MAX }
}

/// Subject of what is said to one agent.
pub(crate) fn to_agent(agent: &str) -> String {
    format!("weir.agent.{agent}.in")
}

/// Subjects of all that an agent leaves on the bus in a run, or in any (`*`): the names below.
pub(crate) fn left_by(agent: &str, run: &str) -> String {
    format!("weir.run.{run}.*.{agent}.>")
}

/// Name under which the document of an agent is kept.
pub(crate) fn result_of(agent: &str) -> String {
    format!("result.{agent}")
}

/// Name under which the [`Ending`](crate::message::Ending) of an agent's load is kept.
pub(crate) fn ending_of(agent: &str) -> String {
    format!("ending.{agent}")
}

/// Name under which the intervals of an agent are kept, each with its number from 0.
pub(crate) fn intervals_of(agent: &str) -> String {
    format!("interval.{agent}")
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
    let agent = sender_in(subject)?;
    let Envelope { incarnation, message } = serde_json::from_slice(payload).ok()?;
    Some((Sender { agent: agent.to_owned(), incarnation }, message))
}
