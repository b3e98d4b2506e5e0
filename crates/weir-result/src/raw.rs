//! Slots one by one, for audit: a worker's data on each slot when it ended, and their transport
//! from workers to the writer. This module depends on no file and no format.

mod log;

pub use log::{RawLog, RawSink, RawSource};

use crate::counters::OutcomeClass;
use crate::failures::ErrorKind;

/// One slot, measured or not, with its time stamps (METHOD 1.2). Instants count in nanoseconds from
/// the run's epoch; [`RawRow::NEVER`] stands for one that did not occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRow {
    /// `T0`, its due time; in a closed loop the same as `sent_at`.
    pub intended_at: u64,
    /// Time at which the capacity that it uses became free.
    pub freed_at: u64,
    /// `Ts`, read before its bytes were passed to the kernel.
    pub sent_at: u64,
    /// `Kx`: time at which the kernel sent it, if it was stamped.
    pub tx_at: u64,
    /// `Tf`: time at which the first byte of the final response was read.
    pub first_byte_at: u64,
    /// `Ke`: time at which the kernel received the response's last byte, if it was stamped.
    pub rx_at: u64,
    /// `Te`, the time at which its outcome was known; for the three censored classes, the time at
    /// which it was abandoned.
    pub ended_at: u64,
    /// Kind of error, if it ended as a transport error.
    pub error: Option<ErrorKind>,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Number of the connection within the worker, from 0; [`RawRow::NO_CONNECTION`] if it was
    /// never sent.
    pub connection: u32,
    /// Messages within the response.
    pub messages: RowMessages,
    /// Status code of its response; 0 without one.
    pub status: u16,
    /// Index of its name among those of the plan's list; [`RawRow::NO_NAME`] without a list.
    pub name: u16,
    /// Part of the run that it belongs to.
    pub phase: SlotPhase,
    /// Class that it ended in.
    pub outcome: OutcomeClass,
}

impl RawRow {
    /// Instant that did not occur.
    pub const NEVER: u64 = u64::MAX;
    /// Connection of a slot that had none.
    pub const NO_CONNECTION: u32 = u32::MAX;

    /// Name of a slot that has none.
    pub const NO_NAME: u16 = u16::MAX;

    /// A measured slot that was never sent, due at the epoch and abandoned there: a base for other
    /// rows.
    pub const EMPTY: RawRow = RawRow {
        intended_at: 0,
        freed_at: RawRow::NEVER,
        sent_at: RawRow::NEVER,
        tx_at: RawRow::NEVER,
        first_byte_at: RawRow::NEVER,
        rx_at: RawRow::NEVER,
        ended_at: 0,
        error: None,
        worker: 0,
        connection: RawRow::NO_CONNECTION,
        messages: RowMessages::UNMEASURED,
        status: 0,
        name: RawRow::NO_NAME,
        phase: SlotPhase::Measured,
        outcome: OutcomeClass::NeverSent,
    };

    /// Returns the name of its error, as in the document's accounting.
    pub fn error_name(&self) -> Option<String> {
        self.error.as_ref().map(ErrorKind::name)
    }
}

/// Messages within the response of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMessages {
    /// Time at which the first one was read; [`RawRow::NEVER`] without one.
    pub first_at: u64,
    /// Their number, if they are measured.
    pub count: u32,
    /// Their bytes, without framing; at most the greatest number of 32 bits.
    pub bytes: u32,
}

impl RowMessages {
    /// Messages of a run that does not measure any. An `Option` would make each row 8 bytes longer.
    pub const UNMEASURED: RowMessages =
        RowMessages { first_at: RawRow::NEVER, count: u32::MAX, bytes: 0 };

    /// True if the run measures messages.
    pub fn is_measured(&self) -> bool {
        self.count != RowMessages::UNMEASURED.count
    }
}

// A row is written for every request while the load runs: it stays within two cache lines.
const _: () = assert!(size_of::<RawRow>() <= 112);

/// Part of a run that a slot belongs to, by its intended time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotPhase {
    /// The slot was due before t0.
    Warmup,
    /// The slot is a member of M.
    Measured,
    /// The slot was due after t1.
    Tail,
}

impl SlotPhase {
    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        match self {
            SlotPhase::Warmup => "warmup",
            SlotPhase::Measured => "measured",
            SlotPhase::Tail => "tail",
        }
    }
}
