//! The load: schedule, worker, connections, recorder.
//!
//! The engine turns a [`Job`] into [`weir_result::Measurements`]. It reads the clock and opens
//! sockets only through [`weir_io::Backend`], prints nothing and accesses no file. So the same code
//! runs on io_uring, on epoll and in virtual time.
#![forbid(unsafe_code)]

mod connections;
mod control;
mod exchange;
mod handler;
mod job;
mod lane;
mod live;
mod pool;
mod record;
mod requests;
mod run;
mod time;
mod tls;
mod users;
mod wait;
mod worker;

pub use control::{Control, ScriptFailure};
pub use exchange::{
    Completion, Exchange, ExchangeMessages, ExchangeObserver, Goodput, KernelTimes, NeverSent,
    ObserverFactory, Outcome, Response, SlotPhase,
};
pub use job::{
    BodyEncoder, CallChecks, Ending, Extras, Job, JobRequests, JobResponses, JobTarget, JobWorkers,
    ListRows, ListedRequest, MessageRules, NextRow, RequestList, ResponseChecks, RowCursor,
    RowSource, RowStream, SharedValues, UserPlan, planned_slots,
};
pub use live::{LiveMessage, LiveSender, WorkerFrame};
pub use record::{BEAT_NS, Heartbeat};
pub use run::{RunError, RunResults, run};
pub use worker::run_on;
