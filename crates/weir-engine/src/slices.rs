//! The window in equal parts by intended time: what intervals and trends are computed from
//! (METHOD 1.7).

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_run::{Histogram, Slice, Tally};

use crate::timeline::Timeline;

/// Parts of a window of known length.
const SLICES: u64 = 30;

/// One worker's slices.
#[derive(Debug)]
pub(crate) struct Slices {
    t0: Nanos,
    t1: Nanos,
    count: u64,
    slices: Vec<SliceTally>,
    /// The slice hit last and its bounds: intended times come nearly in order.
    last: usize,
    last_from: Nanos,
    last_until: Nanos,
}

/// Response times of the slots of one slice.
#[derive(Debug, Default)]
pub(crate) struct SliceTally {
    /// Of `ok` slots.
    pub(crate) ok: Tally,
    /// Of others: when they failed, or their age.
    pub(crate) not_ok: Tally,
}

impl Slices {
    /// The slices of a window; a single one when its end is not known beforehand.
    pub(crate) fn new(timeline: &Timeline) -> Slices {
        let is_known = timeline.t1 != Nanos::MAX;
        let span = timeline.t1.since(timeline.t0);
        let count = if is_known { SLICES.min(span.max(1)) } else { 1 };
        let mut slices = Slices {
            t0: timeline.t0,
            t1: timeline.t1,
            count,
            slices: (0..count).map(|_| SliceTally::default()).collect(),
            last: 0,
            last_from: Nanos::ZERO,
            last_until: Nanos::ZERO,
        };
        slices.last_until = slices.bound(1);
        slices.last_from = slices.bound(0);
        slices
    }

    /// Where slice `index` begins, and the one before it ends.
    fn bound(&self, index: u64) -> Nanos {
        let span = u128::from(self.t1.since(self.t0));
        let offset = span * u128::from(index) / u128::from(self.count);
        self.t0.after(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// The number of the slice that `at` lies in.
    pub(crate) fn index(&self, at: Nanos) -> usize {
        let span = u128::from(self.t1.since(self.t0)).max(1);
        let guess = u128::from(at.since(self.t0)) * u128::from(self.count) / span;
        let guess = u64::try_from(guess).unwrap_or(u64::MAX).min(self.count - 1);
        // Bounds are rounded down, so the guess may be one short.
        let index =
            if guess + 1 < self.count && self.bound(guess + 1) <= at { guess + 1 } else { guess };
        index as usize
    }

    /// The exclusive end of the slice that `at` lies in; t0 for times before the window.
    pub(crate) fn end_of(&self, at: Nanos) -> Nanos {
        if at < self.t0 { self.t0 } else { self.bound(self.index(at) as u64 + 1) }
    }

    /// The slice of a slot of M.
    #[inline]
    pub(crate) fn at(&mut self, intended_at: Nanos) -> &mut SliceTally {
        if intended_at < self.last_from || intended_at >= self.last_until {
            self.last = self.index(intended_at);
            self.last_from = self.bound(self.last as u64);
            self.last_until = self.bound(self.last as u64 + 1);
        }
        &mut self.slices[self.last]
    }

    /// The slices as measured: those that began before the window really ended.
    pub(crate) fn finish(
        &self,
        timeline: &Timeline,
        t1_observed_ns: u64,
        never_sent: &BTreeMap<usize, Histogram>,
    ) -> Vec<Slice> {
        let t1 = timeline.t1.min(Nanos(t1_observed_ns.max(timeline.t0.0)));
        let mut slices = Vec::new();
        for (index, tally) in self.slices.iter().enumerate() {
            let (from, until) = (self.bound(index as u64), self.bound(index as u64 + 1).min(t1));
            if from >= t1 && tally.ok.exact().count + tally.not_ok.exact().count == 0 {
                break;
            }
            let mut slice = Slice {
                start_ns: from.min(t1).since(self.t0),
                end_ns: until.since(self.t0),
                ..Slice::default()
            };
            slice.ok.add_tally(&tally.ok);
            slice.not_ok.add_tally(&tally.not_ok);
            if let Some(ages) = never_sent.get(&index) {
                slice.not_ok.add(ages);
            }
            slices.push(slice);
        }
        slices
    }
}
