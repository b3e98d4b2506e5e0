//! Completions per second of one worker, in short spans of the window: the samples of wrk's
//! "Req/Sec" line. Spans without a completion count as well; otherwise a stall would not lower the
//! figure.

use weir_io::Nanos;
use weir_result::Histogram;

use crate::time::Timeline;

/// Length of a span, in nanoseconds.
const SPAN_NS: u64 = 100_000_000;

/// Takes a sample at the end of each span.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// Samples, in completions per second.
    pub(crate) rates: Histogram,
    /// Begin of the current span, and the completions of the window by then.
    from: Nanos,
    completed: u64,
}

impl Sampler {
    /// Returns the end of the current span; the last one ends with the window.
    pub(crate) fn due_at(&self, timeline: &Timeline) -> Nanos {
        if self.from >= timeline.t1 {
            return Nanos::MAX;
        }
        self.from.max(timeline.t0).after(SPAN_NS).min(timeline.t1)
    }

    /// Ends the span at `now`; `completed` is the count of the window so far.
    ///
    /// A worker that was held up takes its sample late. The time since its last sample then counts
    /// as several spans with the same rate. A last span of less than half the usual length is
    /// dropped, unless it is the only one.
    pub(crate) fn take(&mut self, now: Nanos, timeline: &Timeline, completed: u64) {
        let from = self.from.max(timeline.t0);
        let span_ns = now.min(timeline.t1).since(from);
        if span_ns > 0 && (2 * span_ns >= SPAN_NS || self.rates.is_empty()) {
            let count = u128::from(completed - self.completed) * 1_000_000_000;
            let rate = u64::try_from(count / u128::from(span_ns)).unwrap_or(u64::MAX);
            for _ in 0..((span_ns + SPAN_NS / 2) / SPAN_NS).max(1) {
                self.rates.record(rate);
            }
        }
        (self.from, self.completed) = (now, completed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(t1: u64) -> Timeline {
        Timeline { start: Nanos(0), t0: Nanos(50_000_000), t1: Nanos(t1), drain_end: Nanos(t1) }
    }

    fn samples(t1: u64, looks: &[(u64, u64)]) -> Vec<u64> {
        let mut sampler = Sampler::default();
        let timeline = timeline(t1);
        for (now, completed) in looks {
            assert!(sampler.due_at(&timeline) <= Nanos(*now), "at {now}");
            sampler.take(Nanos(*now), &timeline, *completed);
        }
        assert_eq!(sampler.due_at(&timeline), Nanos::MAX, "nothing is due after the window");
        let mut rates = Vec::new();
        for (bucket, count) in sampler.rates.buckets() {
            rates.extend((0..count).map(|_| weir_result::histogram::lowest_in(bucket)));
        }
        rates
    }

    #[test]
    fn idle_spans_count() {
        let looks = [(150_000_000, 100), (250_000_000, 100), (350_000_000, 150)];
        assert_eq!(samples(350_000_000, &looks), [0, 500, 1_000]);
    }

    #[test]
    fn a_late_look_divides_by_the_true_span() {
        assert_eq!(samples(250_000_000, &[(250_000_000, 100)]), [500, 500]);
        assert_eq!(samples(170_000_000, &[(170_000_000, 60)]), [500]);
    }

    #[test]
    fn a_short_window_has_one_sample() {
        assert_eq!(samples(60_000_000, &[(61_000_000, 3)]), [300]);
        let looks = [(150_000_000, 100), (160_000_000, 200)];
        assert_eq!(samples(160_000_000, &looks), [1_000], "the rest is too short to tell");
    }
}
