//! Slots one by one, for audit: what a worker knew of each when it ended, and the way from workers
//! to whoever writes it down. Nothing here knows a file or its format.

mod log;

pub use log::{RawLog, RawSink, RawSource};

use crate::measurements::ErrorKind;

/// One slot, measured or not, with its stamps (METHOD 1.2). Instants count in nanoseconds from the
/// run's epoch; [`RawRow::NEVER`] stands for one that never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRow {
    /// `T0`, when it was due; in a closed loop the same as `sent_at`.
    pub intended_at: u64,
    /// When the capacity that it uses became free.
    pub freed_at: u64,
    /// `Ts`, read before its bytes were handed to the kernel.
    pub sent_at: u64,
    /// `Kx`: the kernel sent it, where the kernel was asked and told.
    pub tx_at: u64,
    /// `Tf`: the first byte of the final answer was read.
    pub first_byte_at: u64,
    /// `Ke`: the kernel received the answer's last byte, where it was asked and told.
    pub rx_at: u64,
    /// `Te`, when its outcome was known; for the three classes that are censored, when it was
    /// given up.
    pub ended_at: u64,
    /// Why it ended as a transport error.
    pub error: Option<ErrorKind>,
    /// The worker's number, from 0.
    pub worker: u32,
    /// The connection's number within the worker, from 0; [`RawRow::NO_CONNECTION`] when it was
    /// never sent.
    pub connection: u32,
    /// The status of its answer; 0 without one.
    pub status: u16,
    /// Which part of the run it belongs to.
    pub phase: RawPhase,
    /// What became of it.
    pub outcome: RawOutcome,
}

impl RawRow {
    /// The instant that never was.
    pub const NEVER: u64 = u64::MAX;
    /// The connection of a slot that had none.
    pub const NO_CONNECTION: u32 = u32::MAX;

    /// A measured slot that was never sent, due at the epoch and given up there: what others are
    /// made from.
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
        status: 0,
        phase: RawPhase::Measured,
        outcome: RawOutcome::NeverSent,
    };

    /// The name of its error, as in the document's accounting.
    pub fn error_name(&self) -> Option<String> {
        self.error.as_ref().map(ErrorKind::name)
    }
}

// A row is written for every request while the load runs: it stays within 1.5 cache lines.
const _: () = assert!(size_of::<RawRow>() <= 96);

/// The part of a run that a slot belongs to, by its intended time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawPhase {
    /// Before t0.
    Warmup,
    /// A member of M.
    Measured,
    /// After t1.
    Tail,
}

impl RawPhase {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            RawPhase::Warmup => "warmup",
            RawPhase::Measured => "measured",
            RawPhase::Tail => "tail",
        }
    }
}

/// The six classes (METHOD 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawOutcome {
    /// Complete answer with a status below 400.
    Ok,
    /// Complete answer with status 400 or above.
    BadResponse,
    /// Ended without a complete answer.
    TransportError,
    /// No complete answer within the timeout.
    TimedOut,
    /// Sent, and still unanswered when the run ended.
    InFlightAtEnd,
    /// Due, and never sent.
    NeverSent,
}

impl RawOutcome {
    /// Its name in files: the document's.
    pub fn name(self) -> &'static str {
        match self {
            RawOutcome::Ok => "ok",
            RawOutcome::BadResponse => "bad_response",
            RawOutcome::TransportError => "transport_error",
            RawOutcome::TimedOut => "timed_out",
            RawOutcome::InFlightAtEnd => "in_flight_at_end",
            RawOutcome::NeverSent => "never_sent",
        }
    }
}
