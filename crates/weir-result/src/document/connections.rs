//! Connections of a run: number requested, number opened, and causes of the difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Phases;
use super::accounting::is_zero;
use super::connection_failure::ConnectionFailure;
use super::recorded::Recorded;
use super::throughput::per_second;
use crate::measurements::{Connections, DestinationCounts};
use crate::plan::Plan;

/// Connections: requested, opened, renewed, failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionsSection {
    /// Connections requested.
    pub asked: u64,
    /// Of `asked`: open at t0.
    pub open_at_t0: u64,
    /// Greatest number open at once; with several workers the sum of each one's greatest.
    pub open_max: u64,
    /// Successful connects over the whole run: those of the load, renewals included, and those
    /// beside it.
    pub connects: u64,
    /// Of `connects`: by the one-connection probe; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connects_probe: u64,
    /// Of `connects`: by the probe thread; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connects_witness: u64,
    /// Of `connects`: to measure the round trip under load, without a request; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connects_handshake: u64,
    /// Connections that the peer closed, cleanly and outside a response.
    pub closed_by_peer: u64,
    /// Connections that weir closed by plan, to renew them; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renewed: u64,
    /// Connections that failed, attempts included, by phase and cause.
    pub failures: Vec<ConnectionFailure>,
    /// Time from the first worker's start until every connection was up or had failed once, in
    /// nanoseconds; of several parts the longest.
    #[serde(default)]
    pub setup_ns: u64,
    /// Of `connects`: up inside the window; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connects_in_window: u64,
    /// `connects_in_window` per second of the window.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub connects_per_second: f64,
    /// Outcomes of each destination's share, if there are several destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<DestinationSection>,
}

/// Outcomes of one destination's share of the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DestinationSection {
    /// Address: `1.2.3.4:80`, `[::1]:80`.
    pub address: String,
    /// Successful connects over the whole run, renewals included.
    pub connects: u64,
    /// Connects that failed.
    pub connects_failed: u64,
    /// Connections that failed after they were up.
    pub connections_failed: u64,
    /// Measured requests with a complete response that counts as success.
    pub ok: u64,
    /// Measured requests with a complete response that does not count as success.
    pub bad_response: u64,
    /// Measured requests that ended without a complete response.
    pub transport_error: u64,
    /// Measured requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Measured requests sent, and still without a response when the run ended.
    pub in_flight_at_end: u64,
}

impl DestinationSection {
    fn of(address: &str, counts: &DestinationCounts) -> DestinationSection {
        let DestinationCounts {
            connects,
            connects_failed,
            connections_failed,
            ok,
            bad_response,
            transport_error,
            timed_out,
            in_flight_at_end,
        } = *counts;
        DestinationSection {
            address: address.to_owned(),
            connects,
            connects_failed,
            connections_failed,
            ok,
            bad_response,
            transport_error,
            timed_out,
            in_flight_at_end,
        }
    }

    pub(super) fn to_counts(&self) -> DestinationCounts {
        DestinationCounts {
            connects: self.connects,
            connects_failed: self.connects_failed,
            connections_failed: self.connections_failed,
            ok: self.ok,
            bad_response: self.bad_response,
            transport_error: self.transport_error,
            timed_out: self.timed_out,
            in_flight_at_end: self.in_flight_at_end,
        }
    }
}

fn is_nothing(rate: &f64) -> bool {
    *rate == 0.0
}

/// Time until the connections of the slowest part were up; each part has its own epoch.
fn setup_ns(phases: &[Phases]) -> u64 {
    let setup_of = |part: u32| {
        let of_part = || phases.iter().filter(move |phases| phases.part == part);
        let from = of_part().map(|phases| phases.connect_ns).min().unwrap_or(0);
        let until = of_part().map(|phases| phases.connected_ns).max().unwrap_or(0);
        until.saturating_sub(from)
    };
    let parts: BTreeSet<u32> = phases.iter().map(|phases| phases.part).collect();
    parts.into_iter().map(setup_of).max().unwrap_or(0)
}

impl ConnectionsSection {
    /// Returns the counts that the section was made of, without the failures.
    pub(super) fn to_connections(&self) -> Connections {
        Connections {
            asked: self.asked,
            open_at_t0: self.open_at_t0,
            open_max: self.open_max,
            connects: self.connects_of_load(),
            closed_by_peer: self.closed_by_peer,
            renewed: self.renewed,
            failures: BTreeMap::new(),
        }
    }

    /// Connects of the load alone, without those of the probe, the probe thread and handshakes.
    pub fn connects_of_load(&self) -> u64 {
        let beside = self
            .connects_probe
            .saturating_add(self.connects_witness)
            .saturating_add(self.connects_handshake);
        self.connects.saturating_sub(beside)
    }

    /// Makes the section; `window_ns` is the window's length.
    pub(super) fn of(plan: &Plan, recorded: &Recorded, window_ns: u64) -> ConnectionsSection {
        let measurements = &recorded.measurements;
        let connections = &measurements.connections;
        let connects_in_window = measurements.connect_window.count();
        let addresses = plan.connection.destinations.iter();
        let destinations = addresses.zip(&measurements.destinations);
        let connects_probe = recorded.probe.connects;
        let connects_witness =
            recorded.witness.as_ref().map_or(0, |witness| witness.connections.connects);
        let connects_handshake = recorded.network.map_or(0, |network| network.handshakes);
        let connects_beside = connects_probe + connects_witness + connects_handshake;
        ConnectionsSection {
            asked: connections.asked,
            open_at_t0: connections.open_at_t0,
            open_max: connections.open_max,
            connects: connections.connects + connects_beside,
            connects_probe,
            connects_witness,
            connects_handshake,
            closed_by_peer: connections.closed_by_peer,
            renewed: connections.renewed,
            failures: recorded.failures.clone(),
            setup_ns: setup_ns(&recorded.phases),
            connects_in_window,
            connects_per_second: per_second(connects_in_window, window_ns),
            destinations: destinations
                .map(|(address, counts)| DestinationSection::of(address, counts))
                .collect(),
        }
    }
}
