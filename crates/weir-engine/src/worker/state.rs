//! State of the worker's loop: requests to hand over, the progress of the run, the current turn.

use weir_io::{ConnId, Nanos, Segment};

use super::dispatch::SEND_BATCH;

/// Requests that were dispatched and not yet handed to the backend.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Connections with such requests.
    pub(super) dirty: Vec<ConnId>,
    /// Buffers reused from send to send.
    pub(super) segments: Vec<Segment>,
    pub(super) sealed: Vec<u8>,
    /// Bytes of the last encrypted or scripted send, and its number of requests.
    pub(super) last_send: (usize, usize),
}

/// The progress of the run.
#[derive(Debug)]
pub(super) struct Stage {
    /// Requests of M not yet dispatched, in a closed loop with a number of requests.
    pub(super) quota: Option<u64>,
    /// True if more requests may be sent.
    pub(super) is_sending: bool,
    /// True if the stop request was handled.
    pub(super) is_stopped: bool,
    /// True if the stop request came before the window's end.
    pub(super) is_interrupted: bool,
    /// True if the window ended early, by a stop request or by the script.
    pub(super) is_cut: bool,
    /// True if the automatic warm-up reached its limit before the load was steady.
    pub(super) is_unsettled: bool,
}

/// One turn of the loop.
#[derive(Debug)]
pub(super) struct Turn {
    /// Time at the end of the last turn.
    pub(super) now: Nanos,
    /// Time of the first event of this turn.
    pub(super) woken_at: Nanos,
    /// True if connections could take more requests than the script made in its share of the last
    /// turn.
    pub(super) is_behind: bool,
    /// True if events may leave work: calls of the script, or bytes that the layers have to send.
    pub(super) has_pending: bool,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox {
            dirty: Vec::with_capacity(SEND_BATCH),
            segments: Vec::new(),
            sealed: Vec::new(),
            last_send: (0, 1),
        }
    }
}

impl Stage {
    /// Returns the state before the start. `quota`: requests to measure, if limited.
    pub(super) fn new(quota: Option<u64>) -> Stage {
        Stage {
            quota,
            is_sending: false,
            is_stopped: false,
            is_interrupted: false,
            is_cut: false,
            is_unsettled: false,
        }
    }
}

impl Turn {
    /// Returns the state before the first turn.
    pub(super) fn new(has_pending: bool) -> Turn {
        Turn { now: Nanos::ZERO, woken_at: Nanos::MAX, is_behind: false, has_pending }
    }
}
