//! Due times that are drawn one after the other: those of Poisson processes (METHOD 1.3).

use std::ops::Range;
use std::sync::Arc;

use weir_result::Rate;

use crate::time::curve::Curve;
use crate::time::partition::Partition;
use crate::time::random::Gaps;

/// The slots of a Poisson process, in order: their indices, and their offsets from S in whole
/// nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    /// Arrivals of the rate, or of rate 1 on a curve.
    gaps: Gaps,
    /// The rate if it changes, with Λ as the time of `gaps`.
    curve: Option<CurveSlots>,
}

/// Slots of arrivals on a curve, which may have several.
#[derive(Clone, Debug)]
struct CurveSlots {
    curve: Arc<Curve>,
    /// Offset of the last arrival, and its slots that are left.
    offset_ns: u64,
    left: u64,
    index: u64,
}

impl Drawn {
    /// Returns the slots of a constant rate.
    pub(super) fn constant(seed: u64, rate: Rate) -> Drawn {
        Drawn { gaps: Gaps::new(seed, rate), curve: None }
    }

    /// Returns the slots of a rate that changes.
    pub(super) fn on_curve(seed: u64, curve: Arc<Curve>) -> Drawn {
        let gaps = Gaps::new(seed, Rate { numerator: 1, denominator: 1 });
        Drawn { gaps, curve: Some(CurveSlots::new(curve)) }
    }

    /// Returns the same slots from the first one on.
    fn restarted(&self) -> Drawn {
        let curve = self.curve.as_ref().map(|slots| CurveSlots::new(Arc::clone(&slots.curve)));
        Drawn { gaps: self.gaps.restarted(), curve }
    }

    /// Returns the index and the offset of the next slot that a partition owns.
    #[inline]
    pub(super) fn next_owned(&mut self, partition: &Partition) -> (u64, u64) {
        self.find(|(index, _)| partition.owns(*index)).unwrap_or((u64::MAX, u64::MAX))
    }

    /// Returns the offset of the `nth` of the following slots that a partition owns, from 1.
    pub(super) fn nth_owned(&self, partition: &Partition, nth: u64) -> u64 {
        let mut owned = self.clone().filter(|(index, _)| partition.owns(*index));
        let before = usize::try_from(nth - 1).unwrap_or(usize::MAX);
        owned.nth(before).map_or(u64::MAX, |(_, offset_ns)| offset_ns)
    }

    /// Returns the number of slots in a span of offsets that a partition owns.
    pub(super) fn count_owned(&self, partition: &Partition, span: Range<u64>) -> u64 {
        let slots = self.restarted().take_while(|(_, offset)| *offset < span.end);
        let later = slots.skip_while(|(_, offset)| *offset < span.start);
        later.filter(|(index, _)| partition.owns(*index)).count() as u64
    }

    /// Returns the expected number of slots in a span of offsets.
    pub(super) fn expected(&self, span: Range<u64>) -> f64 {
        match &self.curve {
            None => (span.end - span.start) as f64 / self.gaps.mean_ns,
            Some(CurveSlots { curve, .. }) => {
                (curve.first_at(span.end) - curve.first_at(span.start)) as f64
            }
        }
    }
}

impl Iterator for Drawn {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        match &mut self.curve {
            None => self.gaps.next(),
            Some(slots) => slots.next(&mut self.gaps),
        }
    }
}

impl CurveSlots {
    fn new(curve: Arc<Curve>) -> CurveSlots {
        CurveSlots { curve, offset_ns: 0, left: 0, index: 0 }
    }

    /// Returns the next slot: another of the last arrival, or the first of the next one.
    fn next(&mut self, gaps: &mut Gaps) -> Option<(u64, u64)> {
        if self.left == 0 {
            let (_, billionths) = gaps.next()?;
            let (offset_ns, slots) = self.curve.offset_of(billionths);
            self.offset_ns = offset_ns;
            if offset_ns == u64::MAX {
                return None;
            }
            self.left = slots;
        }
        self.left -= 1;
        self.index += 1;
        Some((self.index - 1, self.offset_ns))
    }
}
