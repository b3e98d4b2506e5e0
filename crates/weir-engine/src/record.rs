//! The record of one worker: the outcomes of slots and connections, as counters and times. The
//! ledger is the door for exchanges. Behind it the recorder counts equal ones together, and the
//! observers see them one by one. This room may call exchanges, the job, live messages and time. It
//! has neither the state of connections nor protocols, and keeps no exchange.

mod connection_counts;
mod heartbeat;
mod judge;
mod ledger;
mod message_tally;
mod messages;
mod observers;
mod recorder;
mod stamps;

pub use heartbeat::{BEAT_NS, Heartbeat};
pub(crate) use ledger::{Ledger, Observed};
pub(crate) use messages::TimedMessage;
pub(crate) use recorder::{PlanFacts, Recorder};
pub(crate) use stamps::Stamping;
