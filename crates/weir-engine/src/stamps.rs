//! Kernel time stamps (METHOD 1.2): the connections that request them, the transmit stamps that
//! have come, and the times that follow from them.

use weir_io::{ConnId, Nanos, StampRequest};
use weir_run::{Histogram, Measurements, Plan, StampChoice, Stamped, Tally};

use crate::completion::{Completion, KernelTimes, Outcome};
use crate::exchange::{Exchange, Phase};
use crate::observer::{Observer, RunEnd, Scope};

/// One connection in so many of each worker is stamped by default, and at least one, and of what it
/// sends a sample (METHOD B.2).
const SAMPLE: u32 = 64;

/// Sampling interval: one in N connections is stamped. Holds their last transmit stamps.
#[derive(Debug)]
pub(crate) struct Stamping {
    every: u32,
    /// What stamped connections ask for.
    request: StampRequest,
    /// Stamped connections have none of these bits.
    unstamped_bits: u32,
    transmitted_at: Vec<Option<Nanos>>,
}

impl Stamping {
    /// As the plan says, for a worker with so many connections.
    pub(crate) fn new(plan: &Plan, connections: u32) -> Stamping {
        let (every, request) = match plan.stamps {
            StampChoice::None => (0, StampRequest::None),
            StampChoice::Sample => (SAMPLE, StampRequest::Sample),
            StampChoice::All => (1, StampRequest::All),
        };
        let stamped = if every == 0 { 0 } else { connections.div_ceil(every) };
        debug_assert!(every == 0 || every.is_power_of_two());
        Stamping {
            every,
            request,
            unstamped_bits: every.wrapping_sub(1),
            transmitted_at: vec![None; stamped as usize],
        }
    }

    /// What `conn` asks for.
    pub(crate) fn request(&self, conn: ConnId) -> StampRequest {
        if self.covers(conn) { self.request } else { StampRequest::None }
    }

    /// Whether `conn` asks for stamps.
    #[inline]
    pub(crate) fn covers(&self, conn: ConnId) -> bool {
        conn.0 & self.unstamped_bits == 0 && self.every != 0
    }

    /// How many connections do.
    pub(crate) fn connections(&self) -> u32 {
        u32::try_from(self.transmitted_at.len()).unwrap_or(u32::MAX)
    }

    /// The kernel has sent the last byte so far of `conn`.
    pub(crate) fn transmitted(&mut self, conn: ConnId, at: Nanos) {
        if self.covers(conn) {
            self.transmitted_at[(conn.0 / self.every) as usize] = Some(at);
        }
    }

    /// When the kernel sent something on `conn` since it was last asked, the latest; `None` where
    /// it has not told, or is not asked.
    pub(crate) fn take_transmitted(&mut self, conn: ConnId) -> Option<Nanos> {
        if !self.covers(conn) {
            return None;
        }
        self.transmitted_at[(conn.0 / self.every) as usize].take()
    }
}

/// The times of successful, measured exchanges on stamped connections.
#[derive(Debug, Default)]
pub(crate) struct StampTallies {
    /// Connections that are stamped.
    connections: u32,
    response: Tally,
    unlagged: Tally,
    outside: Tally,
    rx_delay: Tally,
    tx_delay: Tally,
    wire_time: Tally,
    missed: u64,
}

impl StampTallies {
    /// Tallies for a worker with so many stamped connections.
    pub(crate) fn new(connections: u32) -> StampTallies {
        StampTallies { connections, ..StampTallies::default() }
    }

    fn record(&mut self, exchange: &Exchange, at: Nanos, kernel: KernelTimes) {
        let Exchange { intended_at, sent_at, .. } = *exchange;
        let Some(received_at) = kernel.received_at.filter(|rx| (sent_at..=at).contains(rx)) else {
            self.missed += 1;
            return;
        };
        let (response, rx_delay) = (at.since(intended_at), at.since(received_at));
        let unlagged = response - exchange.sched_lag();
        self.response.record(response);
        self.unlagged.record(unlagged);
        self.outside.record(unlagged - rx_delay);
        self.rx_delay.record(rx_delay);
        if let Some(transmitted_at) = kernel.transmitted_at
            && (sent_at..=received_at).contains(&transmitted_at)
        {
            self.tx_delay.record(transmitted_at.since(sent_at));
            self.wire_time.record(received_at.since(transmitted_at));
        }
    }
}

impl Observer for StampTallies {
    fn scope(&self) -> Scope {
        Scope::StampedConnections
    }

    fn completed(&mut self, completion: &Completion) {
        let Completion { exchange, outcome, at, kernel, .. } = completion;
        if let (Phase::Measured, Outcome::Ok(_), Some(kernel)) = (exchange.phase, outcome, kernel) {
            self.record(exchange, *at, *kernel);
        }
    }

    fn finish(self: Box<Self>, _end: &RunEnd<'_>, measurements: &mut Measurements) {
        let histogram = |tally: &Tally| {
            let mut histogram = Histogram::new();
            histogram.add_tally(tally);
            histogram
        };
        measurements.stamped = Stamped {
            connections: self.connections,
            response: histogram(&self.response),
            unlagged: histogram(&self.unlagged),
            outside: histogram(&self.outside),
            rx_delay: histogram(&self.rx_delay),
            tx_delay: histogram(&self.tx_delay),
            wire_time: histogram(&self.wire_time),
            missed: self.missed,
        };
    }
}
