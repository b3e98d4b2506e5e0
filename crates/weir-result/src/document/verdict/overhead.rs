//! Client overhead: the part of a percentile that the client added, by sending late and by leaving
//! the response in its socket buffer (METHOD 1.9, `client-overhead`).
//!
//! Both parts are differences of percentiles of the same requests, with and without the client's
//! time; the second is known for the stamped sample only.

use serde::{Deserialize, Serialize};

use super::super::{Document, Metric, PercentileValue, Summary};
use super::thresholds::{OVERHEAD_NS, OVERHEAD_SHARE};
use crate::plan::Load;

/// Percentiles whose overhead the document lists, in percent.
const LISTED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Client overhead of a percentile of the response time, over `ok` requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientOverhead {
    /// Percentile in percent.
    pub p: f64,
    /// Value of the percentile in nanoseconds.
    pub ns: u64,
    /// Of `ns`: time added by the client, in nanoseconds.
    pub client_ns: u64,
    /// `client_ns` as a share of `ns`, 0 to 1.
    pub share: f64,
    /// True if kernel time stamps do not reach this percentile, so that the time after the response
    /// had arrived is missing.
    pub is_partial: bool,
}

impl ClientOverhead {
    /// Computes the overhead of every listed percentile for which it is known.
    pub(super) fn of_all(document: &Document) -> Vec<ClientOverhead> {
        LISTED.into_iter().filter_map(|p| ClientOverhead::of(document, p)).collect()
    }

    /// Computes the overhead of percentile `p` of the response time; `None` if the percentile is
    /// not listed, or nothing is known.
    pub(in super::super) fn of(document: &Document, p: f64) -> Option<ClientOverhead> {
        let summary = &document.latency.response_time.ok;
        let before = match document.plan.load {
            // A closed loop has no plan, so that no send is late.
            Load::ClosedLoop => Some(0),
            Load::OpenLoop { .. } => before_send(document, p),
        };
        ClientOverhead::of_parts(summary, p, before, after_arrival(document, p))
    }

    /// Computes the overhead of percentile `p` of the service time, which the client can only delay
    /// after the arrival.
    pub(in super::super) fn of_service(document: &Document, p: f64) -> Option<ClientOverhead> {
        let summary = &document.latency.service_time.ok;
        ClientOverhead::of_parts(summary, p, Some(0), after_arrival(document, p))
    }

    fn of_parts(
        summary: &Summary,
        p: f64,
        before: Option<u64>,
        after: Option<u64>,
    ) -> Option<ClientOverhead> {
        let ns = summary.percentile(p)?.ns;
        if before.unwrap_or(0) == 0 && after.is_none() {
            return None;
        }
        // The sample's part may exceed the whole if the two distributions differ.
        let client_ns = before.unwrap_or(0).saturating_add(after.unwrap_or(0)).min(ns);
        let share = if ns == 0 { 0.0 } else { client_ns as f64 / ns as f64 };
        Some(ClientOverhead { p, ns, client_ns, share, is_partial: after.is_none() })
    }

    /// True if the client inflated the percentile: its part is more than 5% of it, more than a
    /// wake-up takes, and more than the lower half of the percentile's own interval. That interval
    /// then does not hold the value without the client's part.
    pub(in super::super) fn inflates(&self, value: &PercentileValue) -> bool {
        let below_ns = value.low_ns.map_or(0, |low_ns| value.ns.saturating_sub(low_ns));
        let client_ns = self.client_ns as f64;
        self.share > OVERHEAD_SHARE && client_ns > OVERHEAD_NS.max(below_ns as f64)
    }
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
    use crate::quantile::Bound;

    #[test]
    fn an_interval_that_does_not_reach_the_target_is_inflated() {
        let inflates = |client_ns: u64, low_ns, high_ns| {
            let value = PercentileValue {
                low_ns,
                high_ns,
                ..PercentileValue::new(99.0, 1_000_000, Bound::Exact)
            };
            let share = client_ns as f64 / 1e6;
            let (p, ns) = (value.p, value.ns);
            ClientOverhead { p, ns, client_ns, share, is_partial: false }.inflates(&value)
        };
        // The upper end of the interval has no influence.
        assert!(inflates(200_001, Some(800_000), Some(3_000_000)));
        assert!(!inflates(200_000, Some(800_000), Some(1_000_001)));
        assert!(inflates(200_001, Some(800_000), None));
        // Below 5% no overhead counts.
        assert!(inflates(50_001, None, None) && !inflates(50_000, None, None));
    }
}
