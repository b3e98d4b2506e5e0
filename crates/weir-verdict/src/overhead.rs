//! Client overhead: the part of a percentile that the client added, by sending late and by leaving
//! the response in its socket buffer (METHOD 1.9, `client-overhead`).
//!
//! Both parts are differences of percentiles of the same requests, with and without the client's
//! time; the second is known for the stamped sample only.

use crate::delayed::Delayed;
use crate::thresholds::{OVERHEAD_NS, OVERHEAD_SHARE};
use weir_result::Load;
use weir_result::document::{ClientOverhead, Document, Metric, PercentileValue};

/// Percentiles whose overhead the document lists, in percent.
const LISTED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Computes the overhead of every listed percentile for which it is known.
pub(crate) fn of_all(document: &Document) -> Vec<ClientOverhead> {
    LISTED.into_iter().filter_map(|p| of_response(document, p)).collect()
}

/// Computes the overhead of percentile `p` of the response time; `None` if the percentile is
/// not listed, or nothing is known.
pub(crate) fn of_response(document: &Document, p: f64) -> Option<ClientOverhead> {
    let before = match document.plan.load {
        // A closed loop has no plan, so that no send is late.
        Load::ClosedLoop => None,
        Load::OpenLoop { .. } => before_send(document, p),
    };
    of_metric(document, &document.latency.response_time, p, before)
}

/// Computes the overhead of percentile `p` of the service time, which the client can only delay
/// after the arrival, or by a stop.
pub(crate) fn of_service(document: &Document, p: f64) -> Option<ClientOverhead> {
    of_metric(document, &document.latency.service_time, p, None)
}

fn of_metric(
    document: &Document,
    metric: &Metric,
    p: f64,
    before: Option<u64>,
) -> Option<ClientOverhead> {
    let ns = metric.ok.percentile(p)?.ns;
    let delayed = Delayed::of(document);
    let delayed_ns = delayed.percentile_ns(&metric.times.ok, p);
    // The lateness of a send is part of both.
    let before_ns = before.unwrap_or(0).max(delayed_ns);
    let after = after_arrival(document, p);
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
    let latency = &document.latency;
    let (all, unlagged) = (&latency.response_time.ok, latency.unlagged.as_ref()?);
    let late_ns = all.percentile(p)?.ns.saturating_sub(unlagged.ok.percentile(p)?.ns);
    let of = |metric: &Metric, p: f64| metric.ok.percentile(p).map_or(0, |value| value.ns);
    let waited_ns = of(&latency.connection_wait, p).min(of(&latency.sched_lag, 100.0));
    Some(late_ns.saturating_add(waited_ns))
}

/// Time that the socket buffer of the client added to percentile `p` of the stamped sample.
fn after_arrival(document: &Document, p: f64) -> Option<u64> {
    let stamps = document.stamps.as_ref()?;
    let (unlagged, outside) = (&stamps.unlagged.ok, &stamps.outside.ok);
    Some(unlagged.percentile(p)?.ns.saturating_sub(outside.percentile(p)?.ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::quantile::Bound;

    fn overhead(value: &PercentileValue, client_ns: u64, stopped_ns: u64) -> ClientOverhead {
        let share = client_ns as f64 / value.ns as f64;
        let (p, ns) = (value.p, value.ns);
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
}
