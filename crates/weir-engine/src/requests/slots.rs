//! Slots as they are taken: identical ones together.

use weir_io::Nanos;

use crate::exchange::{Exchange, SlotPhase};

/// Identical slots that are dispatched together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// Intended time (`T0`).
    pub(crate) intended_at: Nanos,
    pub(crate) phase: SlotPhase,
    /// Number of slots, at least 1.
    pub(crate) count: u16,
    /// Identifies their request.
    pub(crate) tag: u16,
    /// Index of their request in a list; 0 without one.
    pub(crate) row: u16,
}

impl Slots {
    /// Returns the exchange of each of them, sent `now` on a connection that became free at
    /// `freed_at`.
    #[inline(always)]
    pub(crate) fn exchange(&self, freed_at: Nanos, now: Nanos) -> Exchange {
        let Slots { intended_at, phase, tag, row, .. } = *self;
        Exchange { intended_at, freed_at, sent_at: now, phase, tag, row, ..Exchange::NONE }
    }
}
