//! Outcomes and connection failures, per destination.

use weir_io::ConnId;
use weir_result::{DestinationCounts, FailurePhase, Measurements};

use crate::exchange::{Completion, ExchangeObserver, SlotPhase};
use crate::time::Partition;

/// Counts for each of several destinations.
#[derive(Debug)]
pub(crate) struct Destinations {
    partition: Partition,
    counts: Vec<DestinationCounts>,
}

impl Destinations {
    /// Returns counts for `destinations` destinations, partitioned over the run's connections;
    /// `None` if there is only one.
    pub(crate) fn new(partition: Partition, destinations: usize) -> Option<Destinations> {
        let counts = vec![DestinationCounts::default(); destinations];
        (destinations > 1).then_some(Destinations { partition, counts })
    }

    fn of(&mut self, conn: ConnId) -> &mut DestinationCounts {
        let index = self.partition.nth_connection(conn.0) as usize % self.counts.len();
        &mut self.counts[index]
    }
}

impl ExchangeObserver for Destinations {
    fn completed(&mut self, completion: &Completion) {
        if completion.exchange.phase != SlotPhase::Measured {
            return;
        }
        self.of(completion.conn).outcomes.count(completion.outcome.class(), 1);
    }

    fn connected(&mut self, conn: ConnId) {
        self.of(conn).connects += 1;
    }

    fn connection_failed(&mut self, conn: ConnId, phase: FailurePhase) {
        let counts = self.of(conn);
        match phase {
            FailurePhase::Connect => counts.connects_failed += 1,
            FailurePhase::Idle | FailurePhase::InUse => counts.connections_failed += 1,
        }
    }

    fn finish(self: Box<Self>, measurements: &mut Measurements) {
        measurements.destinations = self.counts;
    }
}
