//! Messages between coordinator and agents. They are small; documents and large inputs take another
//! way.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_result::Part;
use weir_runner::HttpChoice;

/// Version of the messages. Both sides need the same.
pub const PROTOCOL: u32 = 3;

/// Name of a run, unique on its bus.
pub type RunId = String;

/// The process of an agent: it sends to the coordinator, or is addressed by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sender {
    /// Name of the agent.
    pub agent: String,
    /// Random number of its process: another one after a restart.
    pub incarnation: u64,
}

/// The description of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// Its [`PROTOCOL`].
    pub protocol: u32,
    /// Version of weir.
    pub version: String,
    /// Number of CPUs it may use.
    pub cpus: u32,
    /// Name of its CLOCK_MONOTONIC: equal for processes with one boot id and time namespace, whose
    /// clock is the same.
    pub clock: String,
}

/// Why the load of an agent has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// As planned.
    Planned,
    /// The coordinator stopped it.
    Stopped,
    /// The coordinator was not heard for the time of the lease.
    LeaseExpired,
    /// A signal, with its name.
    Signal(String),
    /// The run failed; a message for the user.
    Failed(String),
}

/// The work of a run, which is the same for all its agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWork {
    /// SHA-256 of the specification, which the bus keeps, in hexadecimal.
    pub specification: String,
    /// File to which each agent writes the rows of its requests, on its machine and with its name.
    pub rows: Option<PathBuf>,
}

/// The request to carry out a part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The run.
    pub run: RunId,
    /// The agent's part.
    pub part: Part,
    /// HTTP version of the run, which the first agent has found when it looked at the target; none
    /// for that agent.
    pub http: Option<HttpChoice>,
    /// The work.
    pub work: RunWork,
    /// Signature of all of it for one agent; none on a bus without identities.
    pub signature: Option<OrderSignature>,
}

/// The signature of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderSignature {
    /// Public key of the coordinator, in base64.
    pub key: String,
    /// End of its validity, in seconds since 1970.
    pub expires_unix_s: u64,
    /// The signature by Ed25519 (RFC 8032), in base64.
    pub bytes: String,
}

/// A message of the coordinator. Each may come twice, late, or never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToAgent {
    /// Prepare this part of a run, whose specification is at another place. The answer is `Ready`
    /// or `Refused`.
    Prepare(Order),
    /// Read the clock.
    Probe {
        /// The coordinator's time.
        sent_ns: u64,
    },
    /// Be ready to begin at a time of the agent's clock. The answer is `Armed`.
    Arm {
        /// The run.
        run: RunId,
        /// Begin of the load.
        at_ns: u64,
    },
    /// All agents are armed: begin at the time. An agent that does not receive it does not begin.
    Commit {
        /// The run.
        run: RunId,
    },
    /// The coordinator is there: this renews the lease.
    Alive {
        /// The run.
        run: RunId,
    },
    /// End the load now, or give up what was prepared.
    Stop {
        /// The run.
        run: RunId,
    },
    /// The result has arrived: the agent is free.
    Release {
        /// The run.
        run: RunId,
    },
}

/// A message of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromAgent {
    /// Its process has started, and will say hello unless another one of its name answers.
    Claim,
    /// It is there, and takes part in no run.
    Hello(AgentFacts),
    /// It is prepared: connections are open, and nothing of the load is sent.
    Ready {
        /// The run.
        run: RunId,
        /// Its HTTP version.
        http: HttpChoice,
    },
    /// It cannot carry out its part; a message for the user.
    Refused {
        /// The run.
        run: RunId,
        /// The reason.
        reason: String,
    },
    /// The answer to `Probe`.
    Clock {
        /// The coordinator's time in the probe.
        sent_ns: u64,
        /// The agent's clock when the probe came.
        received_ns: u64,
        /// The agent's clock at this message.
        replied_ns: u64,
    },
    /// It will begin at the time if all do.
    Armed {
        /// The run.
        run: RunId,
    },
    /// It is at work, and was heard.
    Working {
        /// The run.
        run: RunId,
        /// When its load began, on its clock; none before.
        begun_ns: Option<u64>,
    },
    /// Its load has ended, or never began. Repeated until `Release`.
    Ended {
        /// The run.
        run: RunId,
        /// When its load began, on its clock; none if it never did.
        begun_ns: Option<u64>,
        /// Why it ended.
        ending: Ending,
    },
}

impl ToAgent {
    /// Returns the message as it is when it is sent at this time of the coordinator's clock.
    pub(crate) fn sent_at(self, now_ns: u64) -> ToAgent {
        match self {
            ToAgent::Probe { .. } => ToAgent::Probe { sent_ns: now_ns },
            other => other,
        }
    }
}

impl FromAgent {
    /// Returns the run that the agent takes part in; none for one that is free.
    pub(crate) fn run(&self) -> Option<&RunId> {
        match self {
            FromAgent::Claim
            | FromAgent::Hello(_)
            | FromAgent::Clock { .. }
            | FromAgent::Refused { .. } => None,
            FromAgent::Ready { run, .. }
            | FromAgent::Armed { run }
            | FromAgent::Working { run, .. }
            | FromAgent::Ended { run, .. } => Some(run),
        }
    }

    /// Returns the message as it is when it is sent at this time of the agent's clock.
    pub(crate) fn sent_at(self, now_ns: u64) -> FromAgent {
        match self {
            FromAgent::Clock { sent_ns, received_ns, .. } => {
                FromAgent::Clock { sent_ns, received_ns, replied_ns: now_ns }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_as_they_were_written() {
        let prepare = ToAgent::Prepare(Order {
            run: "a".to_owned(),
            part: Part::new(2, 3).expect("it exists"),
            http: Some(HttpChoice::Http2),
            work: RunWork::default(),
            signature: None,
        });
        let text = serde_json::to_string(&prepare).expect("text");
        assert_eq!(serde_json::from_str::<ToAgent>(&text).expect("a message"), prepare);
        let ended = FromAgent::Ended {
            run: "a".to_owned(),
            begun_ns: Some(u64::MAX),
            ending: Ending::Signal("SIGTERM".to_owned()),
        };
        let text = serde_json::to_string(&ended).expect("text");
        assert_eq!(serde_json::from_str::<FromAgent>(&text).expect("a message"), ended);
    }
}
