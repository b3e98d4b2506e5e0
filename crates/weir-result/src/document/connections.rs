//! Connections of a run: number requested, number opened, and causes of the difference.

use std::collections::BTreeSet;

use super::rates::per_second;
use super::recorded::Recorded;
use super::{ConnectionsSection, DestinationSection, Phases};
use crate::counters::Connections;
use crate::failures::FailurePhase;
use crate::plan::Plan;

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
        Connections { connects: self.connects_of_load(), ..Connections::from(self) }
    }

    /// True if connections of the load were replaced. One that is being replaced is not open.
    pub fn were_renewed(&self) -> bool {
        self.renewed > 0 || self.closed_by_peer > 0
    }

    /// Connects of the load alone, without connects of the probe, the probe thread and handshakes.
    pub fn connects_of_load(&self) -> u64 {
        let beside = self
            .connects_probe
            .saturating_add(self.connects_witness)
            .saturating_add(self.connects_handshake);
        self.connects.saturating_sub(beside)
    }

    /// Returns the number of connections that ended during the load and were not closed by it. One
    /// that could be opened again is counted once.
    pub fn lost(&self) -> u64 {
        let planned = self.requested.saturating_add(self.renewed);
        let opened_again = self.connects_of_load().saturating_sub(planned);
        let failed = self.failures.iter().filter(|of| of.phase != FailurePhase::Connect);
        let failed: u64 = failed.map(|of| of.count).sum();
        opened_again.max(failed.saturating_add(self.closed_by_peer))
    }

    /// Makes the section; `window_ns` is the window's length.
    pub(super) fn of(plan: &Plan, recorded: &Recorded, window_ns: u64) -> ConnectionsSection {
        let measurements = &recorded.measurements;
        let connections = &measurements.connections;
        let connects_in_window = measurements.connect_window.count();
        let addresses = plan.connection.destinations.iter();
        let destinations = addresses.zip(&measurements.destinations);
        let connects_probe = recorded.beside.probe.connects;
        let connects_witness =
            recorded.beside.witness.as_ref().map_or(0, |witness| witness.connections.connects);
        let connects_handshake = recorded.beside.network.map_or(0, |network| network.handshakes);
        let connects_beside = connects_probe + connects_witness + connects_handshake;
        ConnectionsSection {
            connects: connections.connects + connects_beside,
            connects_probe,
            connects_witness,
            connects_handshake,
            failures: recorded.failures.clone(),
            goaways: recorded.goaways.clone(),
            setup_ns: setup_ns(&recorded.phases),
            connects_in_window,
            connects_per_second: per_second(connects_in_window, window_ns),
            destinations: destinations
                .map(|(address, counts)| DestinationSection {
                    address: address.clone(),
                    ..DestinationSection::from(counts)
                })
                .collect(),
            ..ConnectionsSection::from(connections)
        }
    }
}
