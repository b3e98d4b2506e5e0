//! The client's clock in virtual time: what the client does takes time, and it may be stopped.

use weir_io::Nanos;

use crate::pause::Pauses;

/// The client's clock.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    now: Nanos,
    stops: Pauses,
    /// Time that the client takes before its next call, in nanoseconds.
    owed_ns: u64,
}

impl VirtualClock {
    /// Returns a clock at time zero of a client that is stopped in these spans.
    pub(crate) fn new(stops: Pauses) -> VirtualClock {
        VirtualClock { now: Nanos::ZERO, stops, owed_ns: 0 }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Moves forward; a client that is stopped then runs later.
    pub(crate) fn advance(&mut self, to: Nanos) {
        self.now = self.now.max(self.stops.resume(to));
    }

    /// Moves forward by the time that something takes.
    pub(crate) fn spend(&mut self, span_ns: u64) {
        self.advance(self.now.after(span_ns));
    }

    /// Notes the time that the client takes before its next call, in nanoseconds.
    pub(crate) fn owe(&mut self, span_ns: u64) {
        self.owed_ns = span_ns;
    }

    /// Lets the time pass that the client took since its last call.
    pub(crate) fn settle(&mut self) {
        let owed_ns = std::mem::take(&mut self.owed_ns);
        if owed_ns > 0 {
            self.spend(owed_ns);
        }
    }
}
