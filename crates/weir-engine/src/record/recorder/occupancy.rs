//! Little's law, counted twice (METHOD 1.7): the requests on the wire integrated over the window,
//! and the sum of the time each of them spent there. A request that is lost, or ends twice, or a
//! window that is not the same everywhere makes the two differ.

use weir_io::Nanos;
use weir_result::Occupancy;

use crate::time::Timeline;

/// One worker's count.
#[derive(Debug, Default)]
pub(crate) struct OccupancyCount {
    on_wire: Integral,
    sum_ns: u128,
}

/// A number that changes, integrated over the window.
#[derive(Debug, Default)]
pub(crate) struct Integral {
    number: i64,
    /// Time of the last change, in nanoseconds from t0, within the window.
    last_ns: u64,
    integral_ns: i128,
}

impl OccupancyCount {
    /// Adds `requests` requests to the wire.
    #[inline]
    pub(crate) fn enter(&mut self, timeline: &Timeline, at: Nanos, requests: u32) {
        self.on_wire.change(timeline, at, i64::from(requests));
    }

    /// Removes `requests` requests, which were sent at `sent_at`, from the wire.
    #[inline]
    pub(crate) fn leave(&mut self, timeline: &Timeline, sent_at: Nanos, at: Nanos, requests: u32) {
        self.on_wire.change(timeline, at, -i64::from(requests));
        let spent_ns = place(timeline, at).saturating_sub(place(timeline, sent_at));
        self.sum_ns += u128::from(spent_ns) * u128::from(requests);
    }

    /// Returns the two counts once the window is over.
    pub(crate) fn finish(self, timeline: &Timeline, end: Nanos) -> Occupancy {
        let integral_ns = self.on_wire.finish(timeline, end);
        Occupancy { integral_ns, sum_ns: self.sum_ns, ..Occupancy::default() }
    }
}

impl Integral {
    /// Adds `more` to the number.
    #[inline]
    pub(crate) fn change(&mut self, timeline: &Timeline, at: Nanos, more: i64) {
        self.step(timeline, at);
        self.number += more;
    }

    /// Integrates up to `at`. Events read together may be out of order: a step back in time
    /// subtracts the time counted too much.
    #[inline]
    fn step(&mut self, timeline: &Timeline, at: Nanos) {
        let now_ns = place(timeline, at);
        // Most events read together, and all of a batch, have the same time.
        if now_ns == self.last_ns {
            return;
        }
        self.integral_ns +=
            i128::from(self.number) * (i128::from(now_ns) - i128::from(self.last_ns));
        self.last_ns = now_ns;
    }

    /// Returns the integral, in nanoseconds, once the window is over.
    pub(crate) fn finish(mut self, timeline: &Timeline, end: Nanos) -> u128 {
        self.step(timeline, end);
        u128::try_from(self.integral_ns).unwrap_or(0)
    }
}

/// Returns an instant's position in the window, in nanoseconds from t0; outside it, the nearer end.
#[inline]
fn place(timeline: &Timeline, at: Nanos) -> u64 {
    at.min(timeline.t1).since(timeline.t0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        Timeline { start: Nanos(0), t0: Nanos(100), t1: Nanos(200), drain_end: Nanos(300) }
    }

    #[test]
    fn only_time_inside_the_window_counts() {
        let timeline = timeline();
        let mut count = OccupancyCount::default();
        count.enter(&timeline, Nanos(50), 1);
        count.enter(&timeline, Nanos(150), 3);
        count.leave(&timeline, Nanos(50), Nanos(160), 1);
        count.leave(&timeline, Nanos(150), Nanos(160), 2);
        count.leave(&timeline, Nanos(150), Nanos(250), 1);
        let occupancy = count.finish(&timeline, Nanos(300));
        assert_eq!((occupancy.integral_ns, occupancy.sum_ns), (60 + 20 + 50, 60 + 20 + 50));
    }

    #[test]
    fn the_order_within_a_batch_does_not_matter() {
        let timeline = timeline();
        let mut count = OccupancyCount::default();
        count.enter(&timeline, Nanos(110), 1);
        count.enter(&timeline, Nanos(130), 1);
        count.leave(&timeline, Nanos(110), Nanos(120), 1);
        count.leave(&timeline, Nanos(130), Nanos(140), 1);
        let occupancy = count.finish(&timeline, Nanos(200));
        assert_eq!((occupancy.integral_ns, occupancy.sum_ns), (20, 20));
    }

    #[test]
    fn a_lost_request_shows() {
        let timeline = timeline();
        let mut count = OccupancyCount::default();
        count.enter(&timeline, Nanos(110), 1);
        let occupancy = count.finish(&timeline, Nanos(200));
        assert_eq!((occupancy.integral_ns, occupancy.sum_ns), (90, 0));
    }
}
