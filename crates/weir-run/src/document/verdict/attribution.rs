//! How much of a percentile is the client's own: its lateness before the send, and the time for
//! which the answer lay in its socket buffer (METHOD 1.9, C1).
//!
//! Both are differences of percentiles of the same requests, with and without the client's part;
//! the second one is known of the stamped sample only.

use serde::{Deserialize, Serialize};

use super::super::Document;
use crate::plan::Load;

/// The percentiles that are attributed, in percent.
const ATTRIBUTED: [f64; 3] = [50.0, 99.0, 99.9];

/// The client's part of a percentile of the response time, over `ok` requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Attribution {
    /// In percent.
    pub p: f64,
    /// The percentile in nanoseconds.
    pub ns: u64,
    /// Of `ns`: the client's own.
    pub client_ns: u64,
    /// `client_ns` as a share of `ns`, 0 to 1.
    pub share: f64,
    /// The kernel's stamps tell too little at this percentile, so that what was lost after the
    /// answer had arrived is missing.
    pub is_partial: bool,
}

impl Attribution {
    pub(super) fn of_all(document: &Document) -> Vec<Attribution> {
        ATTRIBUTED.into_iter().filter_map(|p| Attribution::of(document, p)).collect()
    }

    /// Of percentile `p`; `None` where it is not listed, or nothing is known of the client's part.
    pub(super) fn of(document: &Document, p: f64) -> Option<Attribution> {
        let latency = &document.latency;
        let ns = latency.response_time.ok.percentile(p)?.ns;
        // A closed loop has no plan to be late for.
        let before = match (document.plan.load, &latency.unlagged) {
            (Load::ClosedLoop, _) => Some(0),
            (Load::OpenLoop { .. }, None) => None,
            (Load::OpenLoop { .. }, Some(unlagged)) => {
                unlagged.ok.percentile(p).map(|unlagged| ns.saturating_sub(unlagged.ns))
            }
        };
        let after = document.stamps.as_ref().and_then(|stamps| {
            let (unlagged, outside) = (&stamps.unlagged.ok, &stamps.outside.ok);
            Some(unlagged.percentile(p)?.ns.saturating_sub(outside.percentile(p)?.ns))
        });
        let is_closed = document.plan.load == Load::ClosedLoop;
        if before.is_none() || (is_closed && after.is_none()) {
            return None;
        }
        // The sample's part may be more than all there is where the two distributions differ.
        let client_ns = before.unwrap_or(0).saturating_add(after.unwrap_or(0)).min(ns);
        let share = if ns == 0 { 0.0 } else { client_ns as f64 / ns as f64 };
        Some(Attribution { p, ns, client_ns, share, is_partial: after.is_none() })
    }

    /// The percentile as a multiple of what it is without the client's part.
    pub(super) fn ratio(&self) -> f64 {
        let outside_ns = self.ns.saturating_sub(self.client_ns).max(1);
        self.ns as f64 / outside_ns as f64
    }
}
