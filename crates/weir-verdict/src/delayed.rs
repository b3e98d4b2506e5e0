//! Requests that stops and late sends of the client delayed, and the most by which these raised
//! percentiles and means (METHOD 1.9).

use weir_result::{Document, Histogram, Load};

/// Longest stop with its catch-up, in multiples of the stop.
const CATCH_UP_MAX: f64 = 21.0;

/// Requests of the window that stops and late sends of the client delayed, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delayed {
    /// Number of requests.
    requests: u64,
    /// Greatest delay of one, in nanoseconds.
    most_ns: u64,
    /// True if the heartbeat found stops; else sends were late for another reason.
    pub(crate) is_by_stop: bool,
}

impl Delayed {
    /// Returns the requests that were sent during catch-ups, and those in flight at stops.
    pub(crate) fn of(document: &Document) -> Delayed {
        let usages = || document.phases.iter().map(|phases| phases.usage);
        let stops = document.health.and_then(|health| health.stops).unwrap_or_default();
        let in_flight = u64::from(stops.count).saturating_mul(in_flight_max(document));
        let caught_up: u64 = usages().map(|usage| usage.catch_up_requests).sum();
        let after_silence: u64 = usages().map(|usage| usage.after_silence_requests).sum();
        let due = document.throughput.offered_rps.unwrap_or(0.0) * stops.effective_ns as f64 / 1e9;
        // A stop makes no more requests late than come due in it and in the longest catch-up.
        let by_stops = after_silence.min((CATCH_UP_MAX * due).ceil() as u64);
        let lag_max_ns = usages().map(|usage| usage.catch_up_lag_ns).max().unwrap_or(0);
        Delayed {
            requests: caught_up.saturating_add(by_stops).saturating_add(in_flight),
            most_ns: lag_max_ns.max(stops.effective_ns).max(stops.longest_ns),
            is_by_stop: stops.count > 0,
        }
    }

    /// Returns the greatest time by which the delays raised percentile `p` of these times.
    pub(crate) fn percentile_ns(self, times: &Histogram, p: f64) -> u64 {
        let count = times.count();
        if self.requests == 0 || self.most_ns == 0 || count == 0 {
            return 0;
        }
        let rank = ((p / 100.0 * count as f64).ceil() as u64).clamp(1, count);
        let at = |rank: u64| times.value_at_rank(rank).unwrap_or(0);
        // Without the delayed ones at least this value was there, or the next higher one.
        let least_ns = match rank > self.requests {
            true => at(rank - self.requests),
            false => times.exact().min_ns,
        };
        at(rank).saturating_sub(least_ns).min(self.most_ns)
    }

    /// Returns the greatest time by which the delays raised the mean of `count` times, in
    /// nanoseconds.
    pub(crate) fn mean_ns(self, count: u64) -> f64 {
        let requests = self.requests.min(count);
        requests as f64 * self.most_ns as f64 / count.max(1) as f64
    }
}

/// Returns the greatest number of requests in flight at once that the document shows.
fn in_flight_max(document: &Document) -> u64 {
    let places = u64::from(document.covered_connections()) * u64::from(document.plan.depth());
    match document.plan.load {
        Load::ClosedLoop => places,
        Load::OpenLoop { .. } => {
            let slices = document.slices.iter().map(|slice| slice.in_flight);
            let window_ns = (document.throughput.window_s * 1e9).max(1.0);
            let mean = document.occupancy.map_or(0.0, |of| of.integral_ns as f64 / window_ns);
            slices.max().unwrap_or(0).max(mean.ceil() as u64).max(1).min(places.max(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delayed_requests_may_be_the_slowest_ones() {
        let mut times = Histogram::new();
        (1..=100u64).for_each(|us| times.record(us * 1_000));
        let delayed = |requests, most_us: u64| Delayed {
            requests,
            most_ns: most_us * 1_000,
            is_by_stop: true,
        };
        let check = |delayed: Delayed, p, expected_us: u64| {
            let found_us = (delayed.percentile_ns(&times, p) as f64 / 1e3).round() as u64;
            assert_eq!(found_us, expected_us, "{delayed:?} p{p}");
        };
        check(delayed(0, 50), 99.0, 0);
        check(delayed(5, 50), 99.0, 5);
        check(delayed(5, 3), 99.0, 3);
        check(delayed(60, 90), 50.0, 49);
        check(delayed(1_000, 90), 99.0, 90);
        assert_eq!(delayed(5, 50).percentile_ns(&Histogram::new(), 99.0), 0);
    }
}
