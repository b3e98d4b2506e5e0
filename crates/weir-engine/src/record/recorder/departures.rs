//! Departure counts per millisecond. They show whether the client kept to the planned arrival
//! process (`send-dispersion` to `send-rate`, METHOD 1.9).
//!
//! A send counts at `T0 + sched_lag`, the time at which the client alone would have made it. The
//! wait for a busy connection is the server's and leaves no trace.

use weir_io::Nanos;
use weir_result::{DepartureSpan, Departures};

use crate::exchange::Exchange;
use crate::time::Timeline;

const MILLISECOND_NS: u64 = 1_000_000;

/// Bins per span.
const SPAN_MS: u64 = 1000;

/// Most spans of one worker; longer windows are sampled for one second at a time.
const SPANS: u64 = 60;

/// Most spans of all workers together, 8 KB each.
const SPANS_OF_ALL: u64 = 2400;

/// A gap is displaced if it differs from its plan by more than this and by more than a twentieth of
/// the mean gap. Smaller differences, from timers and wake-ups, do not count as bursts.
const DISPLACED_MIN_NS: u64 = 50_000;

/// One worker's departures.
#[derive(Debug)]
pub(crate) struct DepartureCounts {
    t0: Nanos,
    /// Milliseconds between the starts of two spans.
    period_ms: u64,
    sent: Vec<u32>,
    planned: Vec<u32>,
    /// The last bin looked up, followed by its bounds. Times are nearly in order, so most look-ups
    /// hit it.
    bin: Option<usize>,
    bin_from: Nanos,
    bin_until: Nanos,
    tolerance_ns: u64,
    last_lag_ns: Option<u64>,
    displaced: u64,
    gaps: u64,
}

impl DepartureCounts {
    /// Returns empty counts for the window of `timeline`, for one of `workers` whose slots are
    /// `gap_ns` apart on average.
    pub(crate) fn new(timeline: &Timeline, workers: u32, gap_ns: u64) -> DepartureCounts {
        let most = SPANS.min(SPANS_OF_ALL / u64::from(workers.max(1))).max(1);
        let window_ms = match (timeline.t0, timeline.t1) {
            (Nanos::MAX, _) => 0,
            // The first spans of a window whose end is unknown.
            (_, Nanos::MAX) => most * SPAN_MS,
            (t0, t1) => t1.since(t0).div_ceil(MILLISECOND_NS),
        };
        let period_ms = window_ms.div_ceil(most).max(SPAN_MS);
        let bins = (window_ms.div_ceil(period_ms) * SPAN_MS) as usize;
        DepartureCounts {
            t0: timeline.t0,
            period_ms,
            // The allocator provides zeroed pages: pages never touched cost nothing.
            sent: vec![0; bins],
            planned: vec![0; bins],
            bin: None,
            bin_from: Nanos::MAX,
            bin_until: Nanos::ZERO,
            tolerance_ns: DISPLACED_MIN_NS.max(gap_ns / 20),
            last_lag_ns: None,
            displaced: 0,
            gaps: 0,
        }
    }

    /// Counts the send of a member of M.
    #[inline]
    pub(crate) fn count(&mut self, exchange: &Exchange, sched_lag_ns: u64) {
        if let Some(bin) = self.bin(exchange.intended_at) {
            self.planned[bin] += 1;
        }
        if let Some(bin) = self.bin(exchange.intended_at.after(sched_lag_ns)) {
            self.sent[bin] += 1;
        }
        if let Some(last) = self.last_lag_ns.replace(sched_lag_ns) {
            self.gaps += 1;
            self.displaced += u64::from(last.abs_diff(sched_lag_ns) > self.tolerance_ns);
        }
    }

    #[inline]
    fn bin(&mut self, at: Nanos) -> Option<usize> {
        if at < self.bin_from || at >= self.bin_until {
            self.look_up(at);
        }
        self.bin
    }

    fn look_up(&mut self, at: Nanos) {
        let ms = at.since(self.t0) / MILLISECOND_NS;
        let span = ms / self.period_ms;
        let within = ms % self.period_ms;
        let bin = (span * SPAN_MS + within) as usize;
        self.bin = (within < SPAN_MS && bin < self.sent.len()).then_some(bin);
        self.bin_from = self.t0.after(ms * MILLISECOND_NS);
        self.bin_until = self.bin_from.after(MILLISECOND_NS);
    }

    /// Returns the counts of the spans that lie wholly in the window, which ended at `t1`.
    pub(crate) fn finish(mut self, t1: Nanos) -> Departures {
        let window_ms = t1.since(self.t0) / MILLISECOND_NS;
        let mut spans = Vec::new();
        let mut bins = 0;
        for start_ms in (0..window_ms).step_by(self.period_ms as usize) {
            let length = SPAN_MS.min(window_ms - start_ms);
            if bins + length as usize > self.sent.len() {
                break;
            }
            spans.push(DepartureSpan { start_ms, bins: length as u32 });
            bins += length as usize;
        }
        self.sent.truncate(bins);
        self.planned.truncate(bins);
        let DepartureCounts { sent, planned, displaced, gaps, .. } = self;
        Departures { spans, sent, planned, displaced, gaps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::SlotPhase;

    const SECOND_NS: u64 = 1_000_000_000;

    fn counts(window_ms: u64, lags_ns: &[(u64, u64)]) -> Departures {
        let t1 = Nanos(5_000 + window_ms * MILLISECOND_NS);
        let timeline = Timeline { start: Nanos(0), t0: Nanos(5_000), t1, drain_end: t1 };
        let mut counts = DepartureCounts::new(&timeline, 2, 1_000_000);
        for (offset_ns, lag_ns) in lags_ns {
            let intended_at = timeline.t0.after(*offset_ns);
            let exchange = Exchange { intended_at, phase: SlotPhase::Measured, ..Exchange::NONE };
            counts.count(&exchange, *lag_ns);
        }
        counts.finish(t1)
    }

    #[test]
    fn a_window_of_unknown_end_is_counted_in_its_first_minute() {
        let timeline =
            Timeline { start: Nanos(0), t0: Nanos(0), t1: Nanos::MAX, drain_end: Nanos::MAX };
        let mut counts = DepartureCounts::new(&timeline, 1, SECOND_NS);
        for second in 0..100 {
            let intended_at = Nanos(second * SECOND_NS);
            counts
                .count(&Exchange { intended_at, phase: SlotPhase::Measured, ..Exchange::NONE }, 0);
        }
        let departures = counts.finish(Nanos(100 * SECOND_NS));
        assert_eq!(departures.spans.len() as u64, SPANS);
        assert_eq!(departures.sent.iter().sum::<u32>(), SPANS as u32);
        assert_eq!(departures.gaps, 99, "all sends have gaps");
    }

    #[test]
    fn a_send_counts_when_the_client_made_it() {
        let departures = counts(3, &[(0, 0), (500_000, 600_000), (1_200_000, 2_000_000)]);
        assert_eq!(departures.planned, [2, 1, 0]);
        assert_eq!(departures.sent, [1, 1, 0], "the last one left after the window");
        assert_eq!((departures.displaced, departures.gaps), (2, 2));
    }

    #[test]
    fn small_displacements_are_none() {
        let departures = counts(3, &[(0, 0), (1_000_000, 49_000), (2_000_000, 0)]);
        assert_eq!((departures.displaced, departures.gaps), (0, 2));
    }

    #[test]
    fn a_long_window_is_looked_at_for_seconds_at_a_time() {
        let hour_ms = 3_600_000;
        let departures = counts(hour_ms, &[(0, 0), (2 * SECOND_NS, 0), (60 * SECOND_NS, 0)]);
        assert_eq!(departures.spans.len(), 60);
        assert_eq!(departures.spans[1], DepartureSpan { start_ms: 60_000, bins: 1000 });
        assert_eq!(departures.sent.len(), 60_000);
        assert_eq!(departures.sent.iter().sum::<u32>(), 2, "2 s lies between two spans");
        assert_eq!(departures.sent[1000], 1);
    }

    #[test]
    fn the_last_span_may_be_short() {
        let departures = counts(2_500, &[]);
        let lengths: Vec<u32> = departures.spans.iter().map(|span| span.bins).collect();
        assert_eq!(lengths, [1000, 1000, 500]);
        assert_eq!(departures.planned.len(), 2_500);
    }
}
