//! Timer in the ring that outlives the sleep it was set for.
//!
//! A worker sleeps several times between two slots: a response wakes it, and it goes on waiting for
//! the same instant. A timer per sleep would be armed and cancelled every time, and on a virtual
//! machine each of these is an exit to the hypervisor.

use std::io;

use io_uring::opcode;
use io_uring::types::{TimeoutFlags, Timespec};

use super::kind;
use super::ring::{Ring, timespec};
use crate::token::Token;

/// State of the timer. It is never cancelled: if it is no longer needed, it ends a sleep early,
/// once.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// Expiry on `CLOCK_MONOTONIC`, in nanoseconds; `None` if it is not set.
    at_ns: Option<u64>,
    /// Memory that the submission points to.
    time: Timespec,
}

impl Alarm {
    /// Ensures a completion at this instant of `CLOCK_MONOTONIC` or before. The alarm must not move
    /// until the next enter has returned.
    pub(super) fn set(&mut self, instant_ns: u64, ring: &mut Ring) -> io::Result<()> {
        if self.at_ns.is_some_and(|at_ns| at_ns <= instant_ns) {
            return Ok(());
        }
        self.time = timespec(instant_ns);
        let time = &raw const self.time;
        let word = Token::pack(kind::ALARM, 0, 0);
        let is_set = self.at_ns.replace(instant_ns).is_some();
        let update = opcode::TimeoutUpdate::new(word, time).flags(TimeoutFlags::ABS).build();
        let timeout = opcode::Timeout::new(time).flags(TimeoutFlags::ABS).build();
        // If the timer expires right now, the update finds nothing, and the next sleep sets it
        // again.
        // SAFETY: the kernel copies the time when it takes the entry.
        unsafe {
            if is_set { ring.push_quiet(update) } else { ring.push(&timeout.user_data(word)) }
        }
    }

    /// Records the timer's completion.
    pub(super) fn rang(&mut self) {
        self.at_ns = None;
    }
}
