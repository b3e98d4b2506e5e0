//! Kernel time stamps of the requests on stamped connections (METHOD 1.2). The histograms are kept
//! whole: the client overhead of a percentile is the difference of two of these times, over all
//! parts of a run.

use serde::{Deserialize, Serialize};

use super::latency::Metric;
use crate::evidence::Stamped;

/// Times of a sample of the `ok` requests, from kernel time stamps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StampsSection {
    /// Connections whose requests were stamped.
    pub connections: u32,
    /// Requests whose time stamp is missing or impossible, for example after a step of the wall
    /// clock; they are in none of the times.
    pub missed: u64,
    /// Time that the response spent in the client's socket buffer.
    pub rx_delay: Metric,
    /// Time from the send to the transmission by the kernel, if it was stamped.
    pub tx_delay: Metric,
    /// Time from the transmission of the request to the reception of the response, both in the
    /// kernel, if both were stamped.
    pub wire_time: Metric,
    /// Response time of the sampled requests.
    pub response: Metric,
    /// Response time of the sampled requests without the client's scheduling lag.
    pub unlagged: Metric,
    /// Response time of the sampled requests without scheduling lag and rx delay: the part that the
    /// client did not add.
    pub outside: Metric,
}

impl StampsSection {
    pub(super) fn of(stamped: &Stamped) -> Option<StampsSection> {
        if stamped.connections == 0 && stamped.response.is_empty() && stamped.missed == 0 {
            return None;
        }
        Some(StampsSection {
            connections: stamped.connections,
            missed: stamped.missed,
            rx_delay: Metric::of_one(&stamped.rx_delay),
            tx_delay: Metric::of_one(&stamped.tx_delay),
            wire_time: Metric::of_one(&stamped.wire_time),
            response: Metric::of_one(&stamped.response),
            unlagged: Metric::of_one(&stamped.unlagged),
            outside: Metric::of_one(&stamped.outside),
        })
    }

    pub(super) fn to_stamped(&self) -> Result<Stamped, String> {
        let alone = |name: &str, metric: &Metric| metric.alone(&format!("stamps.{name}"));
        Ok(Stamped {
            connections: self.connections,
            missed: self.missed,
            rx_delay: alone("rx_delay", &self.rx_delay)?,
            tx_delay: alone("tx_delay", &self.tx_delay)?,
            wire_time: alone("wire_time", &self.wire_time)?,
            response: alone("response", &self.response)?,
            unlagged: alone("unlagged", &self.unlagged)?,
            outside: alone("outside", &self.outside)?,
        })
    }
}
