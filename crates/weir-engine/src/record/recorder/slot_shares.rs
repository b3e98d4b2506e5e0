//! Shares of slices and of names that a slot belongs to, for what is measured beside its outcome.

use weir_io::Nanos;

use super::by_name::ByName;
use super::series::Series;
use super::slices::{SliceTally, Slices};
use crate::exchange::Exchange;
use crate::record::message_tally::MessageTally;
use crate::time::Timeline;

/// Where messages of slots are counted.
#[derive(Debug)]
pub(in crate::record) struct SlotShares<'r> {
    pub(in crate::record) timeline: &'r Timeline,
    pub(in crate::record) series: &'r mut Series,
    pub(super) slices: &'r mut Slices,
    /// Tallies by name, if there is a list.
    pub(super) names: Option<&'r mut ByName>,
}

impl SlotShares<'_> {
    /// Counts in the slice in which an event lies, and in its share of a name. An event after the
    /// window belongs to the last slice.
    pub(in crate::record) fn of_event(
        &mut self,
        name: u16,
        at: Nanos,
        count: impl Fn(&mut MessageTally),
    ) {
        let slice = match self.timeline.is_in_window(at) {
            true => self.slices.at_event(at),
            false => self.slices.slot(at),
        };
        of_slice(slice, self.names.as_deref_mut(), name, count);
    }

    /// Counts in the slice in which a slot was due, and in its share of a name.
    pub(in crate::record) fn of_slot(
        &mut self,
        exchange: &Exchange,
        count: impl Fn(&mut MessageTally),
    ) {
        let slice = self.slices.at(exchange.intended_at);
        of_slice(slice, self.names.as_deref_mut(), exchange.tag, count);
    }
}

fn of_slice(
    slice: &mut SliceTally,
    names: Option<&mut ByName>,
    name: u16,
    count: impl Fn(&mut MessageTally),
) {
    count(slice.messages());
    if let Some(names) = names {
        count(names.messages(name, slice));
    }
}
