//! A timer in the ring that outlives the sleep for which it was set.
//!
//! Between two slots a worker sleeps more than once: an answer wakes it, and it goes on waiting for
//! the same instant. A timer of each sleep's own would be programmed and taken back every time,
//! and on a virtual machine each of these is an exit to the hypervisor.

use std::io;

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};

use super::kind;
use super::ring::{Ring, timespec};
use crate::token::Token;

/// When the timer rings. It is never taken back: where it is not needed any more, it ends a sleep
/// early, once.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// An instant of `CLOCK_MONOTONIC`.
    at_ns: Option<u64>,
    /// What the submission points to.
    time: Timespec,
}

impl Alarm {
    /// Sees to it that a completion comes at this instant of `CLOCK_MONOTONIC` or before. The alarm
    /// must stay where it is until the next enter has returned.
    pub(super) fn set(&mut self, instant_ns: u64, ring: &mut Ring) -> io::Result<()> {
        if self.at_ns.is_some_and(|at_ns| at_ns <= instant_ns) {
            return Ok(());
        }
        self.time = timespec(instant_ns);
        let (time, word) = (&raw const self.time, Token::new(kind::ALARM, 0, 0).pack());
        let entry = match self.at_ns.replace(instant_ns) {
            None => opcode::Timeout::new(time).flags(TimeoutFlags::ABS).build().user_data(word),
            // It may be ringing right now: then this finds nothing, and the next sleep sets it.
            Some(_) => opcode::TimeoutUpdate::new(word, time)
                .flags(TimeoutFlags::ABS)
                .build()
                .user_data(Token::new(kind::QUIET, 0, 0).pack())
                .flags(squeue::Flags::SKIP_SUCCESS),
        };
        // SAFETY: the kernel copies the time when it takes the entry.
        unsafe { ring.push(&entry) }
    }

    /// Its completion has come.
    pub(super) fn rang(&mut self) {
        self.at_ns = None;
    }
}
