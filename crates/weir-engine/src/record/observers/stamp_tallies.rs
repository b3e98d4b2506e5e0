//! Times from kernel time stamps (METHOD 1.2), of the exchanges on stamped connections.

use weir_io::Nanos;
use weir_result::{Histogram, Measurements, Stamped, Tally};

use crate::exchange::{Completion, Exchange, ExchangeObserver, KernelTimes, Outcome, SlotPhase};
use crate::live::WorkerFrame;

/// The times of successful, measured exchanges on stamped connections.
#[derive(Debug, Default)]
pub(crate) struct StampTallies {
    /// Stamped connections.
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
    /// Returns empty tallies of a worker with `connections` stamped connections.
    pub(crate) fn new(connections: u32) -> StampTallies {
        StampTallies { connections, ..StampTallies::default() }
    }

    fn record(&mut self, exchange: &Exchange, at: Nanos, kernel: KernelTimes) {
        let Exchange { intended_at, sent_at, .. } = *exchange;
        let Some(received_at) = kernel.received_at.filter(|rx| (sent_at..=at).contains(rx)) else {
            self.missed += 1;
            return;
        };
        let response = at.since(intended_at);
        let rx_delay = at.since(received_at);
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

impl ExchangeObserver for StampTallies {
    fn sees_all(&self) -> bool {
        false
    }

    fn completed(&mut self, completion: &Completion) {
        let Completion { exchange, outcome, at, kernel, .. } = completion;
        if let (SlotPhase::Measured, Outcome::Ok(_), Some(kernel)) =
            (exchange.phase, outcome, kernel)
        {
            self.record(exchange, *at, *kernel);
        }
    }

    fn add_to_frame(&self, frame: &mut WorkerFrame) {
        frame.stamped = self.response.sparse(WorkerFrame::COARSENESS);
        frame.stamped_outside = self.outside.sparse(WorkerFrame::COARSENESS);
    }

    fn finish(self: Box<Self>, measurements: &mut Measurements) {
        measurements.stamped = Stamped {
            connections: self.connections,
            response: Histogram::from(&self.response),
            unlagged: Histogram::from(&self.unlagged),
            outside: Histogram::from(&self.outside),
            rx_delay: Histogram::from(&self.rx_delay),
            tx_delay: Histogram::from(&self.tx_delay),
            wire_time: Histogram::from(&self.wire_time),
            missed: self.missed,
        };
    }
}
