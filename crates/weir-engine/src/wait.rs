//! Waits: how long a worker sleeps, and for how many events. This room owns the receive strategy
//! and the trials by which `auto` adapts it. It may call the job alone, and reads no clock: the
//! worker waits.

mod attention;
mod gathering;
mod polling;
mod waiting;

pub(crate) use waiting::{Waiting, WakeUps};
