//! Due times that follow from a slot's index: nothing adds up, so nothing drifts (METHOD 1.3).

use std::sync::Arc;

use weir_result::Rate;

use crate::time::curve::Curve;

/// Nanoseconds in a second.
const SECOND_NS: u128 = 1_000_000_000;

/// The due times of all slots of a plan, as offsets from S.
#[derive(Clone, Debug)]
pub(super) enum IndexedTimes {
    /// A constant rate.
    Uniform(Rate),
    /// A rate that changes.
    Curve(Arc<Curve>),
    /// Recorded times, ascending.
    Times(Arc<[u64]>),
}

impl IndexedTimes {
    /// Returns the due time of a slot; `u64::MAX` if there is no such slot.
    #[inline(always)]
    pub(super) fn offset(&self, index: u64) -> u64 {
        match self {
            IndexedTimes::Uniform(rate) => uniform_offset(*rate, index),
            IndexedTimes::Curve(curve) => curve.offset(index),
            IndexedTimes::Times(times) => {
                let time = usize::try_from(index).ok().and_then(|index| times.get(index));
                time.copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns the least index whose due time is at least `ns`.
    pub(super) fn first_at(&self, ns: u64) -> u64 {
        match self {
            IndexedTimes::Uniform(rate) => uniform_first_at(*rate, ns),
            IndexedTimes::Curve(curve) => curve.first_at(ns),
            IndexedTimes::Times(times) => times.partition_point(|time| *time < ns) as u64,
        }
    }
}

/// Returns the offset at which `requests` slots of a constant rate after `from_ns` have passed.
pub(super) fn end_of_uniform(rate: Rate, from_ns: u64, requests: u64) -> u64 {
    // The slots lie half a gap inside the window, so n of them take exactly n gaps.
    let span = u128::from(requests) * u128::from(rate.denominator) * SECOND_NS
        / u128::from(rate.numerator);
    let first = uniform_first_at(rate, from_ns);
    let last = uniform_offset(rate, first + requests.max(1) - 1);
    saturate(u128::from(from_ns) + span).max(last + 1)
}

/// Returns `floor((2i + 1) · den · 10⁹ / (2 · num))` (METHOD 1.3).
#[inline]
fn uniform_offset(rate: Rate, index: u64) -> u64 {
    // 64 bits hold the product in any run of a sane length, and divide several times faster.
    let short = (2 * index + 1)
        .checked_mul(rate.denominator)
        .and_then(|product| product.checked_mul(1_000_000_000));
    match (short, rate.numerator.checked_mul(2)) {
        (Some(product), Some(divisor)) => product / divisor,
        _ => saturate(
            (2 * u128::from(index) + 1) * u128::from(rate.denominator) * SECOND_NS
                / (2 * u128::from(rate.numerator)),
        ),
    }
}

/// Returns the least index whose offset is at least `ns`.
fn uniform_first_at(rate: Rate, ns: u64) -> u64 {
    // offset(i) ≥ ns  ⇔  (2i + 1) · den · 10⁹ ≥ 2 · num · ns, since ns is whole.
    let right = 2 * u128::from(rate.numerator) * u128::from(ns);
    let halves = right.div_ceil(u128::from(rate.denominator) * SECOND_NS);
    saturate(halves / 2)
}

/// Returns the sum of the offsets of slots of a constant rate whose indices add up to `indices`.
pub(super) fn sum_ns(rate: Rate, slots: u64, indices: u128) -> u128 {
    let halves = 2 * indices + u128::from(slots);
    let per = u128::from(rate.denominator) * SECOND_NS;
    let divisor = 2 * u128::from(rate.numerator);
    // Split so that the product fits in 128 bits for any number of slots.
    halves / divisor * per + halves % divisor * per / divisor
}

fn saturate(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}
