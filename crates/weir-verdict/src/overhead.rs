//! Client overhead: the part of a percentile that the client added, by sending late and by leaving
//! the response in its socket buffer (METHOD 1.9, `client-overhead`).
//!
//! Both parts are differences of percentiles of the same requests, with and without the client's
//! time; the second is known for the stamped sample only.

use weir_result::Histogram;
use weir_result::document::{ClientOverhead, Document, MessageStamps, Metric, PercentileValue};
use weir_result::quantile::rank_of;

use crate::thresholds::{OVERHEAD_NS, OVERHEAD_SHARE};

/// Percentiles whose overhead the document lists, in percent.
const LISTED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Computes the overhead of every listed percentile for which it is known.
pub(crate) fn of_all(document: &Document) -> Vec<ClientOverhead> {
    let response = &document.results.response_time;
    LISTED.into_iter().filter_map(|p| of_response(document, response, p)).collect()
}

/// Computes the overhead of percentile `p` of `metric`, the response time of the run or of one name
/// of its list; `None` if the percentile is not listed, or nothing is known. The client sends the
/// requests of all names alike: what late sends and late reads added is the run's at the same
/// percentile.
pub(crate) fn of_response(document: &Document, metric: &Metric, p: f64) -> Option<ClientOverhead> {
    let before = match document.plan.has_due_times() {
        // Without a due time no send is late.
        false => None,
        true => before_send(document, p),
    };
    of_metric(document, metric, p, before, after_arrival(document, p))
}

/// Computes the overhead of percentile `p` of `metric`, the service time of the run or of one name,
/// which the client can only delay after the arrival, or by a stop.
pub(crate) fn of_service(document: &Document, metric: &Metric, p: f64) -> Option<ClientOverhead> {
    of_metric(document, metric, p, None, after_arrival(document, p))
}

/// Computes the overhead of percentile `p` of `metric`, the time to the first message of the run or
/// of one name, at most: late sends, and late reads of stamped messages.
pub(crate) fn of_first_message(
    document: &Document,
    metric: &Metric,
    p: f64,
) -> Option<ClientOverhead> {
    let lags = &document.latency.sched_lag.times.ok;
    let before = (!lags.is_empty()).then(|| added_ns_of(&metric.times.ok, lags, p));
    let after = message_stamps(document)
        .and_then(|stamps| difference(&stamps.first, &stamps.first_outside, p));
    of_metric(document, metric, p, before, after)
}

fn message_stamps(document: &Document) -> Option<&MessageStamps> {
    document.messages.as_ref()?.stamps.as_ref()
}

/// Computes the overhead of percentile `p` of `metric`, the response time of one stage, at most:
/// `lags` are the client's late sends in the stage. `None` if nothing is known.
pub(crate) fn of_stage(
    document: &Document,
    metric: &Metric,
    lags: Option<&Histogram>,
    p: f64,
) -> Option<ClientOverhead> {
    let before = lags.map(|lags| added_ns_of(&metric.times.ok, lags, p));
    of_metric(document, metric, p, before, after_arrival(document, p))
}

/// Percentiles of late sends that an upper limit of their effect is tried with.
const TRIED: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

/// Returns the time that late sends added to percentile `p` of these response times, at most. If k
/// requests were sent more than x late, the time of rank r would have been at least that of rank
/// r − k, less x, without the lateness; the least over x counts.
fn added_ns_of(times: &Histogram, lags: &Histogram, p: f64) -> u64 {
    let rank = rank_of(p, times.count());
    let value_ns = times.value_at_rank(rank).unwrap_or(0);
    let tried = TRIED.into_iter().filter_map(|q| {
        let x_ns = lags.percentile(q)?;
        let later = lags.count() - rank_of(q, lags.count()).min(lags.count());
        let without_ns = match rank.checked_sub(later).filter(|rank| *rank > 0) {
            Some(rank) => times.value_at_rank(rank).unwrap_or(0),
            None => return None,
        };
        Some((value_ns - without_ns.min(value_ns)).saturating_add(x_ns))
    });
    tried.min().unwrap_or(value_ns).min(value_ns)
}

/// Computes the overhead from the time that the client added before the send, and that after the
/// arrival.
fn of_metric(
    document: &Document,
    metric: &Metric,
    p: f64,
    before: Option<u64>,
    after: Option<u64>,
) -> Option<ClientOverhead> {
    let ns = metric.ok.percentile(p)?.ns;
    let delayed = Delayed::of(document);
    let delayed_ns = delayed.percentile_ns(&metric.times.ok, p);
    // The lateness of a send is part of both.
    let before_ns = before.unwrap_or(0).max(delayed_ns);
    if before_ns == 0 && after.is_none() {
        return None;
    }
    // The sample's part may exceed the whole if the two distributions differ.
    let client_ns = before_ns.saturating_add(after.unwrap_or(0)).min(ns);
    let stopped_ns = if delayed.is_by_stop { delayed_ns } else { 0 };
    let share = if ns == 0 { 0.0 } else { client_ns as f64 / ns as f64 };
    Some(ClientOverhead { p, ns, client_ns, stopped_ns, share, is_partial: after.is_none() })
}

/// True if the client inflated the percentile: its part is more than 5% of it, more than a
/// wake-up takes, and more than the lower half of the percentile's own interval. That interval
/// then does not hold the value without the client's part. The cause of a stop is known, so
/// the interval, which takes it for chance, does not excuse it.
pub(crate) fn inflates(overhead: &ClientOverhead, value: &PercentileValue) -> bool {
    let below_ns = value.low_ns.map_or(0, |low_ns| value.ns.saturating_sub(low_ns));
    let least_ns = OVERHEAD_NS.max(OVERHEAD_SHARE * overhead.ns as f64);
    let is_beyond = |ns: u64, least_ns: f64| ns as f64 > least_ns;
    is_beyond(overhead.client_ns, least_ns.max(below_ns as f64))
        || is_beyond(overhead.stopped_ns, least_ns)
}

/// Time that late sends added to percentile `p` of an open loop's response: their lateness, and the
/// waiting for connections that they may have caused. Requests that came due while the client was
/// stopped wait for each other's connections for about as long as it was stopped.
fn before_send(document: &Document, p: f64) -> Option<u64> {
    let results = &document.results;
    let latency = &document.latency;
    let all = &results.response_time.ok;
    let unlagged = latency.unlagged.as_ref()?;
    let late_ns = all.percentile(p)?.ns.saturating_sub(unlagged.ok.percentile(p)?.ns);
    let of = |metric: &Metric, p: f64| metric.ok.percentile(p).map_or(0, |value| value.ns);
    let waited_ns = of(&latency.connection_wait, p).min(of(&latency.sched_lag, 100.0));
    Some(late_ns.saturating_add(waited_ns))
}

/// Time that the socket buffer of the client added to percentile `p` of the stamped sample.
fn after_arrival(document: &Document, p: f64) -> Option<u64> {
    let stamps = document.stamps.as_ref()?;
    difference(&stamps.unlagged, &stamps.outside, p)
}

/// Difference of percentile `p` of two times of one sample, with and without the client's part.
fn difference(with: &Metric, without: &Metric, p: f64) -> Option<u64> {
    Some(with.ok.percentile(p)?.ns.saturating_sub(without.ok.percentile(p)?.ns))
}

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
    match document.plan.load.is_open_loop() {
        false => places,
        true => {
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
    use weir_result::quantile::Bound;

    fn overhead(value: &PercentileValue, client_ns: u64, stopped_ns: u64) -> ClientOverhead {
        let share = client_ns as f64 / value.ns as f64;
        let p = value.p;
        let ns = value.ns;
        ClientOverhead { p, ns, client_ns, stopped_ns, share, is_partial: false }
    }

    #[test]
    fn an_interval_does_not_excuse_a_stop() {
        let value = PercentileValue::new(99.0, 1_000_000, Bound::Exact);
        let value = PercentileValue { low_ns: Some(1), high_ns: Some(2_000_000), ..value };
        assert!(inflates(&overhead(&value, 50_001, 50_001), &value));
        assert!(!inflates(&overhead(&value, 50_000, 50_000), &value));
    }

    #[test]
    fn an_interval_that_does_not_reach_the_target_is_inflated() {
        let is_inflated = |client_ns: u64, low_ns, high_ns| {
            let value = PercentileValue {
                low_ns,
                high_ns,
                ..PercentileValue::new(99.0, 1_000_000, Bound::Exact)
            };
            inflates(&overhead(&value, client_ns, 0), &value)
        };
        // The upper end of the interval has no influence.
        assert!(is_inflated(200_001, Some(800_000), Some(3_000_000)));
        assert!(!is_inflated(200_000, Some(800_000), Some(1_000_001)));
        assert!(is_inflated(200_001, Some(800_000), None));
        // Below 5% no overhead counts.
        assert!(is_inflated(50_001, None, None) && !is_inflated(50_000, None, None));
    }

    /// Random times and late sends: what these added to a percentile is never more than the limit
    /// of it.
    #[test]
    fn late_sends_add_no_more_than_their_limit() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
            (state >> 33) % below
        };
        let mut loose = 0;
        for round in 0..200 {
            let late_every = 1 + random(40);
            let requests: Vec<(u64, u64)> = (0..500)
                .map(|_| {
                    let lag =
                        if random(late_every) == 0 { random(5_000_000) } else { random(9_000) };
                    (300_000 + random(2_000_000), lag)
                })
                .collect();
            let histogram = |of: &dyn Fn(&(u64, u64)) -> u64| {
                let mut histogram = Histogram::new();
                requests.iter().for_each(|request| histogram.record(of(request)));
                histogram
            };
            let response = histogram(&|(service, lag)| service + lag);
            let service = histogram(&|of| of.0);
            let lags = histogram(&|of| of.1);
            for p in [50.0, 90.0, 99.0, 100.0] {
                let of = |times: &Histogram| times.percentile(p).expect("times");
                let added_ns = of(&response) - of(&service);
                // Buckets are a thousandth wide.
                let limit_ns = added_ns_of(&response, &lags, p) + of(&response) / 500;
                assert!(added_ns <= limit_ns, "round {round}, p{p}: {added_ns} > {limit_ns}");
                loose += u64::from(limit_ns >= of(&response));
            }
        }
        assert!(loose < 400, "in half of the cases the limit says something: {loose}");
    }

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
