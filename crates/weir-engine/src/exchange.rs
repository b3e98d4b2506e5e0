//! A request in flight and its time stamps. This room owns the terms in which exchanges are
//! announced: their end, their messages, and the trait of those who observe them. It may call live
//! messages and time.

mod completion;
mod goodput;
mod observer;

use weir_io::{ConnId, Nanos};
pub use weir_result::SlotPhase;

pub use completion::{Completion, ExchangeMessages, KernelTimes, Outcome, Response};
pub use goodput::Goodput;
pub(crate) use goodput::{Arrival, Gap, MessageProgress, TimeReading};
pub(crate) use observer::DueStep;
pub use observer::{ExchangeObserver, NeverSent, ObserverFactory};

/// A request on the wire, with its stamps (METHOD 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Intended time (`T0`); in a closed loop equal to `sent_at`. Requests sent as one string share
    /// the first one's.
    pub intended_at: Nanos,
    /// Time at which the capacity it uses became free (`F`).
    pub freed_at: Nanos,
    /// Send time (`Ts`); [`Nanos::MAX`] marks a slot with no request in flight.
    pub sent_at: Nanos,
    /// Phase of the request's slot in the schedule.
    pub phase: SlotPhase,
    /// Identifies the request: its index in a script's string of several, the number of its name in
    /// a list, else 0.
    pub tag: u16,
    /// Index of the request in a list; 0 without one.
    pub row: u16,
    /// True if the request was counted as overdue and its response is still awaited.
    pub is_overdue: bool,
    /// True if the run ended before the response. The response is still awaited, and not counted.
    pub is_resolved: bool,
}

/// The place of an exchange in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExchangePlace {
    /// Connection that carries it.
    pub(crate) conn: ConnId,
    /// Id of its request on the connection; [`ExchangePlace::NO_ID`] if it is on none.
    pub(crate) id: u16,
}

impl ExchangePlace {
    /// The id of a request that its peer returned and that waits to be sent again.
    pub(crate) const NO_ID: u16 = u16::MAX;
}

impl Exchange {
    /// The value of a slot with no request in flight.
    pub(crate) const NONE: Exchange = Exchange {
        intended_at: Nanos::MAX,
        freed_at: Nanos::MAX,
        sent_at: Nanos::MAX,
        phase: SlotPhase::Tail,
        tag: 0,
        row: 0,
        is_overdue: false,
        is_resolved: false,
    };

    /// Returns `connection_wait = max(0, freed_at − T0)` in nanoseconds: the time from the slot's
    /// intended time until the capacity it uses became free.
    #[inline]
    pub fn connection_wait(&self) -> u64 {
        self.freed_at.since(self.intended_at)
    }

    /// Returns `sched_lag = Ts − max(T0, freed_at)` in nanoseconds: the client's own lateness.
    #[inline]
    pub fn sched_lag(&self) -> u64 {
        self.sent_at.since(self.intended_at.max(self.freed_at))
    }

    /// Marks the slot as free: no request is in flight.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.sent_at = Nanos::MAX;
    }

    /// True if a request is in flight.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        self.sent_at != Nanos::MAX
    }
}

/// Returns the send time of the oldest request in flight that is not overdue already.
pub(crate) fn oldest_sent_at(exchanges: &[Exchange]) -> Option<Nanos> {
    let waiting = exchanges.iter().filter(|exchange| exchange.is_live() && !exchange.is_overdue);
    waiting.map(|exchange| exchange.sent_at).min()
}

/// Removes and returns the oldest request in flight, with its id. Ids wrap around, so the time
/// stamps decide; a connection has few enough requests to scan them all.
pub(crate) fn take_oldest(exchanges: &mut [Exchange]) -> Option<(u16, Exchange)> {
    let live = (0..).zip(exchanges).filter(|(_, exchange)| exchange.is_live());
    let (id, oldest) = live.min_by_key(|(_, exchange)| exchange.sent_at)?;
    Some((id, std::mem::replace(oldest, Exchange::NONE)))
}
