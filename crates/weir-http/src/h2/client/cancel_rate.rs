//! The share of cancelled streams, by which a client recognises a peer that hardly responds.
//! Independent of frames.

/// Least number of cancelled streams that counts. Servers with a limit on resets accept more of
/// them at once (decision 0036), and a few timeouts are no reason to give up what other streams
/// share.
const CANCELLED_MIN: u64 = 10;

/// Length of a period in which streams are counted.
const PERIOD_NS: u64 = 1_000_000_000;

/// Shares of cancelled streams in this second and the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CancelRate {
    /// End of this period.
    ends_at_ns: u64,
    now: StreamEnds,
    last: StreamEnds,
}

/// Ends of streams within a period.
#[derive(Clone, Copy, Debug, Default)]
struct StreamEnds {
    cancelled: u64,
    others: u64,
}

impl CancelRate {
    /// Counts a cancelled stream. Returns true if more than half of the streams were cancelled, and
    /// these are many: the peer hardly responds, and may take more of them for an attack.
    pub(super) fn cancelled(&mut self, now_ns: u64) -> bool {
        self.turn(now_ns);
        self.now.cancelled += 1;
        let cancelled = self.now.cancelled + self.last.cancelled;
        cancelled >= CANCELLED_MIN && cancelled > self.now.others + self.last.others
    }

    /// Counts a stream that ended otherwise.
    #[inline]
    pub(super) fn ended(&mut self, now_ns: u64) {
        self.turn(now_ns);
        self.now.others += 1;
    }

    #[inline]
    fn turn(&mut self, now_ns: u64) {
        if now_ns >= self.ends_at_ns {
            let is_next = now_ns < self.ends_at_ns.saturating_add(PERIOD_NS);
            self.last = if is_next { self.now } else { StreamEnds::default() };
            self.now = StreamEnds::default();
            self.ends_at_ns = now_ns - now_ns % PERIOD_NS + PERIOD_NS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_counts_within_two_seconds() {
        let mut rate = CancelRate::default();
        (0..10).for_each(|_| rate.ended(5 * PERIOD_NS));
        // Ten of each.
        assert!(!(0..10).any(|_| rate.cancelled(6 * PERIOD_NS)));
        assert!(rate.cancelled(6 * PERIOD_NS));
        // The ten in the second before no longer count.
        (0..10).for_each(|_| rate.ended(8 * PERIOD_NS));
        assert!(!(0..10).any(|_| rate.cancelled(8 * PERIOD_NS)));
        assert!(rate.cancelled(8 * PERIOD_NS));
    }

    #[test]
    fn a_few_are_no_reason() {
        let mut rate = CancelRate::default();
        assert!(!(1..CANCELLED_MIN).any(|_| rate.cancelled(0)));
        assert!(rate.cancelled(0));
        // One per second and a half, whatever its share.
        assert!(!(10..100).any(|nth| rate.cancelled(nth * PERIOD_NS * 3 / 2)));
    }
}
