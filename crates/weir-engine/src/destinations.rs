//! Several destinations: which connection goes where and comes from where, and what became of the
//! requests of each.

use weir_io::ConnId;
use weir_run::{DestinationCounts, FailurePhase};

use crate::deal::Deal;
use crate::exchange::{Exchange, Phase};
use crate::recorder::Ended;

/// What happened at each destination, where there are several.
#[derive(Debug)]
pub(crate) struct Destinations {
    deal: Deal,
    counts: Vec<DestinationCounts>,
}

impl Destinations {
    /// `destinations` of them, dealt over the connections of the run; `None` where there is one.
    pub(crate) fn new(deal: Deal, destinations: usize) -> Option<Destinations> {
        let counts = vec![DestinationCounts::default(); destinations];
        (destinations > 1).then_some(Destinations { deal, counts })
    }

    fn of(&mut self, conn: ConnId) -> &mut DestinationCounts {
        let index = self.deal.nth_connection(conn.0) as usize % self.counts.len();
        &mut self.counts[index]
    }

    /// A connection is up.
    pub(crate) fn connected(&mut self, conn: ConnId) {
        self.of(conn).connects += 1;
    }

    /// A connection failed.
    pub(crate) fn failed(&mut self, conn: ConnId, phase: FailurePhase) {
        let counts = self.of(conn);
        match phase {
            FailurePhase::Connect => counts.connects_failed += 1,
            FailurePhase::Idle | FailurePhase::InUse => counts.connections_failed += 1,
        }
    }

    /// A request ended; only members of M count.
    pub(crate) fn ended(&mut self, conn: ConnId, exchange: &Exchange, ended: Ended) {
        if exchange.phase != Phase::Measured {
            return;
        }
        let counts = self.of(conn);
        match ended {
            Ended::Answered { status, .. } if status < 400 => counts.ok += 1,
            Ended::Answered { .. } => counts.bad_response += 1,
            Ended::Failed(_) => counts.transport_error += 1,
            Ended::TimedOut => counts.timed_out += 1,
            Ended::InFlight => counts.in_flight_at_end += 1,
        }
    }

    /// The counts, in the order of the destinations.
    pub(crate) fn finish(self) -> Vec<DestinationCounts> {
        self.counts
    }
}
