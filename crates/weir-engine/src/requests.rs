//! Requests to come: the slots that a worker has not taken, and the requests that they carry, the
//! same each time, those of a list, or those that a script makes. This room may call connections,
//! to see for which of them a request can be made, the shared control, the job and time. It sends
//! nothing.

mod batch;
mod form;
mod listed;
mod numbered;
mod repeated;
mod request_queue;
mod row_feed;
mod script;
mod slot_source;
mod slots;
mod source;

pub(crate) use batch::Batch;
pub(crate) use form::RequestForm;
pub(crate) use repeated::Repeated;
pub(crate) use row_feed::{Feeds, RowFeed};
pub(crate) use script::Script;
pub(crate) use slot_source::SlotSource;
pub(crate) use slots::Slots;
pub(crate) use source::{Demand, MAKING_TURN_NS, RequestSource};
