//! Opening of connections: their sources and targets.

use weir_io::{Backend, Endpoint, Nanos, SocketOptions};

use super::Worker;
use crate::connections::CONNECTING_MAX;
use crate::lane::Lane;
use crate::requests::Script;

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// Opens the connections that are due, after queueing further ones for slots that lack one.
    #[inline(never)]
    pub(super) fn open(&mut self, now: Nanos) {
        let is_loading =
            self.stage.is_sending && !self.stage.is_over(&self.pool.shared.timeline, now);
        if is_loading && !self.is_ready() && self.source.has_more() {
            self.pool.grow(&self.slots, now);
        }
        let is_paced = self.pool.shared.connections.open_queue.pace.is_some();
        let most = if is_paced { u32::MAX } else { CONNECTING_MAX };
        while self.pool.shared.connections.counts.connecting < most {
            let Some(conn) = self.pool.shared.connections.take_to_open(now) else { break };
            let number = self.job.partition(self.live.worker).nth_connection(conn.0);
            let options = SocketOptions {
                stamps: self.pool.shared.ledger.stamping.request(conn),
                discard: self.pool.shared.connections.limits.discard,
                source: self.job.plan.connection.source(number),
            };
            match self.source.script.as_ref().and_then(Script::address) {
                Some(address) => self.backend.connect(conn, &Endpoint::Tcp(address), options),
                None => self.backend.connect(conn, self.job.destination(number), options),
            }
        }
        self.pool.shared.connections.have_opened();
    }
}
