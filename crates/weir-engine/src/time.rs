//! Time: when slots are due, and the phases of a run. This room owns the schedule, its partition
//! over workers, the timeline, the end of an automatic warm-up, and the times at which connections
//! are there or may be opened. All of it is arithmetic: it reads no clock and calls no other room.

mod curve;
mod pace;
mod partition;
mod presence;
mod random;
mod schedule;
mod timeline;
mod unsent;
mod warmup;

pub(crate) use pace::ConnectPace;
pub(crate) use partition::Partition;
pub(crate) use presence::Presence;
pub(crate) use schedule::Schedule;
pub(crate) use timeline::Timeline;
pub(crate) use unsent::{ShedSlots, UnsentSlots};
pub(crate) use warmup::{WarmupBoard, WarmupDetector};
