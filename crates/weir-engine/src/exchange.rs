//! A request in flight and its time stamps.

use weir_io::Nanos;

/// The part of the run a slot belongs to, by its intended time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before t0.
    Warmup,
    /// A member of M, the measured set.
    Measured,
    /// In the drain: keeps the load up until M is resolved. Also what is no longer measured.
    Tail,
}

/// A request on the wire, with its stamps (METHOD 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// `T0`; in a closed loop the same as `sent_at`. Requests that leave as one string share the
    /// first one's.
    pub intended_at: Nanos,
    /// When the capacity it uses became free.
    pub freed_at: Nanos,
    /// `Ts`; [`Nanos::MAX`] marks a place with no request in flight.
    pub sent_at: Nanos,
    /// The phase of its slot.
    pub phase: Phase,
    /// Names the request: its index in a script's string of several, else 0.
    pub tag: u16,
    /// It was counted as overdue, and its answer is still awaited.
    pub is_overdue: bool,
    /// The run was over before its answer came, which is awaited and counts no more.
    pub is_resolved: bool,
}

impl Exchange {
    /// A place with no request in flight.
    pub(crate) const NONE: Exchange = Exchange {
        intended_at: Nanos::MAX,
        freed_at: Nanos::MAX,
        sent_at: Nanos::MAX,
        phase: Phase::Tail,
        tag: 0,
        is_overdue: false,
        is_resolved: false,
    };

    /// Returns `connection_wait = max(0, freed_at − T0)` in nanoseconds: how long the slot was due
    /// before the capacity it uses became free.
    #[inline]
    pub fn connection_wait(&self) -> u64 {
        self.freed_at.since(self.intended_at)
    }

    /// Returns `sched_lag = Ts − max(T0, freed_at)` in nanoseconds: the client's own lateness.
    #[inline]
    pub fn sched_lag(&self) -> u64 {
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
