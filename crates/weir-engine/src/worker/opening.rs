//! Opening of connections: their times, sources and targets.

use weir_io::{Backend, Endpoint, Nanos, SocketOptions};

use super::Worker;
use crate::pace::ConnectPace;
use crate::script::Script;

/// Most sockets of one worker that connect at once: enough to hide a round trip, few enough not to
/// be a flood. A connect rate replaces this limit.
const CONNECTING_MAX: u32 = 512;

impl<B: Backend> Worker<'_, B> {
    /// Takes this worker's part of the run's connect rate. The slots of all workers count from the
    /// time at which the first of them began.
    pub(super) fn partition_connections(&mut self, now: Nanos) {
        let partition = self.job.partition(self.live.worker);
        let from = self.control.begin_connecting(now);
        let rate = self.job.plan.connection.rate;
        if let Some(rate) = rate {
            self.pool.open_queue.set_pace(ConnectPace::new(rate, partition, from));
        }
    }

    /// Opens the connections that are due.
    pub(super) fn open(&mut self, now: Nanos) {
        let most = if self.pool.open_queue.is_paced() { u32::MAX } else { CONNECTING_MAX };
        while self.pool.counts.connecting < most {
            let Some(conn) = self.pool.take_to_open(now) else { return };
            let number = self.job.partition(self.live.worker).nth_connection(conn.0);
            let options = SocketOptions {
                stamps: self.pool.stamping.request(conn),
                discard: self.pool.limits.discard,
                source: self.job.plan.connection.source(number),
            };
            match self.script.as_ref().and_then(Script::address) {
                Some(address) => self.backend.connect(conn, &Endpoint::Tcp(address), options),
                None => self.backend.connect(conn, self.job.destination(number), options),
            }
        }
    }
}
