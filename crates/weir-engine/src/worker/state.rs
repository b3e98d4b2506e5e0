//! State of the worker's loop: the progress of the run, the current turn.

use weir_io::Nanos;

use crate::time::Timeline;

/// Sends that share one time stamp. It is taken before all of them. So the latency of the last one
/// is overstated by the duration of the others (about 3 µs each on loopback).
pub(super) const SEND_BATCH: usize = 16;

/// The progress of the run.
#[derive(Debug, Default)]
pub(super) struct RunStage {
    /// True if the load ends with the window, as wrk's does.
    stops_at_t1: bool,
    /// True if more requests may be sent.
    pub(super) is_sending: bool,
    /// True if the stop request was handled.
    pub(super) is_stopped: bool,
    /// True if the stop request came before the window's end.
    pub(super) is_interrupted: bool,
    /// True if the window ended early, by a stop request or by the script.
    pub(super) is_cut: bool,
    /// True if a stop request set the end of a window that has none by plan: the load continues in
    /// the drain, as after any planned end.
    pub(super) is_ended: bool,
    /// True if the automatic warm-up reached its limit before the load was steady.
    pub(super) is_unsettled: bool,
}

/// One turn of the loop.
#[derive(Debug)]
pub(super) struct LoopTurn {
    /// Time at the end of the last turn.
    pub(super) now: Nanos,
    /// Time of the first event of this turn.
    pub(super) woken_at: Nanos,
    /// True if events may leave work: calls of the script, bodies that were kept, or bytes that the
    /// layers have to send.
    pub(super) has_pending: bool,
}

impl RunStage {
    /// Returns the state before the start of a load that ends with its window or not.
    pub(super) fn new(stops_at_t1: bool) -> RunStage {
        RunStage { stops_at_t1, ..RunStage::default() }
    }

    /// True if nothing more is sent: the drain has ended, or the load ends with the window.
    #[inline]
    pub(super) fn is_over(&self, timeline: &Timeline, now: Nanos) -> bool {
        let ends_at_t1 = self.is_cut || self.stops_at_t1;
        now >= timeline.drain_end || (now >= timeline.t1 && ends_at_t1)
    }
}
