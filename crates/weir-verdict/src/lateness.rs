//! The client's lateness in the gaps between messages, and in the goodput (METHOD 1.26). A late
//! read lengthens one gap and shortens the next, so that a percentile may be too high or too low.

use weir_result::document::{Document, GoodputSection, Range, ShareRange};
use weir_result::quantile::{Bound, rank_of};
use weir_result::{GapDoubts, Histogram};

use crate::thresholds::{BEAT_NS, OVERHEAD_NS, OVERHEAD_SHARE};

/// True if a value that lies in `range` without the client's lateness is close to the measured
/// one: within 5% or 20 µs.
pub(crate) fn is_close(ns: u64, range: Range) -> bool {
    let most_ns = OVERHEAD_NS.max(OVERHEAD_SHARE * ns as f64);
    let below_ns = ns.saturating_sub(range.low_ns);
    below_ns.max(range.high_ns.saturating_sub(ns)) as f64 <= most_ns
}

/// Gaps of which the true length is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DoubtedGaps {
    /// Number of gaps.
    count: u64,
    /// Greatest difference between a gap and its true length, in nanoseconds.
    most_ns: u64,
}

impl DoubtedGaps {
    /// Returns the gaps that differ from their stamps, and those that stops of the client may have
    /// changed, if it was stopped or short of CPU time.
    pub(crate) fn of(document: &Document, doubts: &GapDoubts, is_contended: bool) -> DoubtedGaps {
        let possible = DoubtedGaps::possible(document, doubts, is_contended);
        DoubtedGaps {
            count: possible.count.saturating_add(doubts.late),
            most_ns: possible.most_ns.saturating_add(doubts.late_ns),
        }
    }

    /// Returns the gaps that stops of the client may have changed in spite of their stamps.
    fn possible(document: &Document, doubts: &GapDoubts, is_contended: bool) -> DoubtedGaps {
        let GapDoubts { possible: count, possible_ns, .. } = *doubts;
        let stops = document.health.and_then(|health| health.stops).unwrap_or_default();
        let beats_ns = u64::from(stops.count).saturating_mul(BEAT_NS);
        match (is_contended, stops.count) {
            (true, _) => DoubtedGaps { count, most_ns: possible_ns },
            (false, 0) => DoubtedGaps::default(),
            // No message waited for longer than the client was stopped.
            (false, _) => {
                let most_ns = possible_ns.min(stops.effective_ns.saturating_add(beats_ns));
                DoubtedGaps { count, most_ns }
            }
        }
    }

    /// Returns the range of percentile `p` of these gaps without the client's lateness: `count` of
    /// them may have any other rank, and none has another length by more than `most_ns`.
    pub(crate) fn range(self, gaps: &Histogram, p: f64) -> Option<Range> {
        let rank = rank_of(p, gaps.count());
        let ns = gaps.value_at_rank(rank)?;
        let below = rank.checked_sub(self.count).filter(|rank| *rank > 0);
        let low_ns = below.and_then(|rank| gaps.value_at_rank(rank)).unwrap_or(0);
        let above = rank.checked_add(self.count).filter(|rank| *rank <= gaps.count());
        let high_ns = above.and_then(|rank| gaps.value_at_rank(rank)).unwrap_or(u64::MAX);
        Some(Range {
            low_ns: low_ns.max(ns.saturating_sub(self.most_ns)),
            high_ns: high_ns.min(ns.saturating_add(self.most_ns)),
        })
    }

    /// Returns the greatest error of the mean of `gaps` gaps of `streams` streams, in nanoseconds:
    /// within a stream the errors cancel, but for the first and the last one.
    pub(crate) fn mean_ns(self, streams: u64, gaps: u64) -> f64 {
        let changes = self.count.min(streams.saturating_mul(2));
        changes as f64 * self.most_ns as f64 / gaps.max(1) as f64
    }
}

/// Returns the range of percentile `p` of all gaps of a run without the client's lateness.
pub(crate) fn of_run(
    document: &Document,
    gaps: &Histogram,
    p: f64,
    is_contended: bool,
) -> Option<Range> {
    let doubts = of_slices(document);
    let stamps = document.messages.as_ref().and_then(|messages| messages.stamps.as_ref());
    let Some(stamps) = stamps else {
        return DoubtedGaps::of(document, &doubts, is_contended).range(gaps, p);
    };
    let ns = gaps.percentile(p)?;
    let outside = &stamps.gap_outside.times.ok;
    let with_ns = stamps.gap.times.ok.percentile(p)?;
    let without_ns = outside.percentile(p)?;
    // If each gap has stamps, the gaps between these are the true ones, unless they are doubted.
    let (range, stamped_ns) = if outside.count() == gaps.count() {
        let possible = DoubtedGaps::possible(document, &doubts, is_contended);
        (possible.range(outside, p)?, without_ns)
    } else {
        let all = DoubtedGaps::of(document, &doubts, is_contended);
        let stamped_ns = ns.saturating_add(without_ns).saturating_sub(with_ns);
        (all.range(gaps, p)?, stamped_ns)
    };
    let low_ns = range.low_ns.min(stamped_ns).min(ns);
    Some(Range { low_ns, high_ns: range.high_ns.max(stamped_ns).max(ns) })
}

/// Returns the doubts about all gaps.
pub(crate) fn of_slices(document: &Document) -> GapDoubts {
    let mut sum = GapDoubts::default();
    let shares = document.slices.iter().filter_map(|slice| slice.messages.as_ref());
    shares.for_each(|share| sum.add(&share.doubts));
    sum
}

/// Returns the goodput with its bound: the outcome of each response that the client's lateness may
/// have changed counts as either.
pub(crate) fn of_goodput(
    document: &Document,
    goodput: &GoodputSection,
    is_contended: bool,
) -> GoodputSection {
    let was_stopped =
        document.health.and_then(|health| health.stops).is_some_and(|stops| stops.count > 0);
    let doubts = &goodput.doubts;
    let (losses, gains) = match is_contended || was_stopped {
        true => (doubts.good, doubts.missed),
        false => (doubts.late_good, doubts.late_missed),
    };
    let planned = document.results.planned.max(1) as f64;
    let share = |count: u64| count as f64 / planned;
    let good = goodput.good;
    let is_close = losses.max(gains) as f64 <= OVERHEAD_SHARE * good as f64;
    let bound = match (losses, gains) {
        _ if is_close => Bound::Exact,
        (0, _) => Bound::Lower,
        (_, 0) => Bound::Upper,
        _ => Bound::Unknown,
    };
    let low = share(good.saturating_sub(losses));
    let range = ShareRange { low, high: share(good.saturating_add(gains)) };
    let range = (bound != Bound::Exact).then_some(range);
    GoodputSection { bound, range, ..goodput.clone() }
}
