//! The load: schedule, worker, connections, recorder.
//!
//! The engine turns a [`Job`] into [`weir_result::Measurements`]. It reads the clock and opens
//! sockets only through [`weir_io::Backend`], prints nothing and accesses no file. So the same code
//! runs on io_uring, on epoll and in virtual time.
#![forbid(unsafe_code)]

mod catch_up;
mod completion;
mod connection;
mod connections;
mod control;
mod curve;
mod deadlines;
mod departures;
mod exchange;
mod gathering;
mod goodput;
mod heartbeat;
mod job;
mod lane;
mod layers;
mod ledger;
mod listed;
mod live;
mod message_tally;
mod numbered;
mod observer;
mod observers;
mod occupancy;
mod open_queue;
mod pace;
mod partition;
mod polling;
mod pool;
mod presence;
mod random;
mod ready_queue;
mod repeated;
mod request_list;
mod request_queue;
mod response_checks;
mod row_feed;
mod run;
mod sampler;
mod schedule;
mod script;
mod series;
mod shed;
mod slices;
mod slot_source;
mod source;
mod stamps;
mod thread_stalls;
mod timeline;
mod tls;
mod turns;
mod waiting;
mod warmup;
mod worker;
mod worker_frame;

pub use completion::{Completion, ExchangeMessages, KernelTimes, Outcome, Response};
pub use control::{Control, ScriptFailure};
pub use exchange::{Exchange, SlotPhase};
pub use goodput::Goodput;
pub use heartbeat::{BEAT_NS, Heartbeat};
pub use job::{Ending, Extras, Job, MessageRules, planned_slots};
pub use live::{LiveMessage, LiveSender};
pub use observer::{ExchangeObserver, NeverSent, ObserverFactory};
pub use request_list::{
    BodyEncoder, ListRows, ListedRequest, NextRow, RequestList, RowCursor, RowSource, RowStream,
};
pub use response_checks::{CallChecks, ResponseChecks};
pub use run::{RunError, RunResults, run};
pub use worker::run_on;
pub use worker_frame::WorkerFrame;
