//! One request and what became of it: the only thing the recorder is told.

use weir_io::Nanos;

/// Which part of the run a slot belongs to, by its intended time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before t0.
    Warmup,
    /// A member of M, the measured set.
    Measured,
    /// In the drain: keeps the load up until M is resolved. Also what is no longer measured.
    Tail,
}

/// A request on the wire, with its stamps (METHOD 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// `T0`; in a closed loop the same as `sent_at`. Requests that leave as one string share the
    /// first one's.
    pub(crate) intended_at: Nanos,
    /// When the capacity it uses became free.
    pub(crate) freed_at: Nanos,
    /// `Ts`; [`Nanos::MAX`] marks a place with no request in flight.
    pub(crate) sent_at: Nanos,
    /// The phase of its slot.
    pub(crate) phase: Phase,
    /// It was counted as overdue, and its answer is still awaited.
    pub(crate) is_overdue: bool,
    /// The run was over before its answer came, which is awaited and counts no more.
    pub(crate) is_resolved: bool,
}

impl Exchange {
    /// A place with no request in flight.
    pub(crate) const NONE: Exchange = Exchange {
        intended_at: Nanos::MAX,
        freed_at: Nanos::MAX,
        sent_at: Nanos::MAX,
        phase: Phase::Tail,
        is_overdue: false,
        is_resolved: false,
    };

    /// `connection_wait = max(0, freed_at − T0)`: the capacity it uses was free only after it was
    /// due.
    #[inline]
    pub(crate) fn connection_wait(&self) -> u64 {
        self.freed_at.since(self.intended_at)
    }

    /// `sched_lag = Ts − max(T0, freed_at)`: the client's own lateness.
    #[inline]
    pub(crate) fn sched_lag(&self) -> u64 {
        self.sent_at.since(self.intended_at.max(self.freed_at))
    }

    /// No request is in flight here any more.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.sent_at = Nanos::MAX;
    }

    /// Whether a request is in flight here.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        self.sent_at != Nanos::MAX
    }
}
