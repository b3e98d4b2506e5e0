//! Opening of connections: their sources and targets.

use weir_io::{Backend, Endpoint, Nanos, SocketOptions};

use super::Worker;
use crate::lane::Lane;
use crate::requests::Script;

impl<B: Backend, L: Lane> Worker<'_, B, L> {
    /// Opens the connections that are due, after queueing further ones for slots that lack one.
    #[inline(never)]
    pub(super) fn open(&mut self, now: Nanos) {
        let is_loading = self.stage.is_sending && !self.stage.is_over(&self.pool.timeline, now);
        if is_loading && !self.is_ready() && self.source.has_more() {
            self.pool.grow(&self.slots, now);
        }
        let partition = self.job.partition(self.live.worker);
        while let Some(conn) = self.pool.connections.take_to_open(now) {
            let number = partition.nth_connection(conn.0);
            let source = self.job.source(number);
            let options = SocketOptions { source, ..self.pool.socket_options(conn) };
            match self.source.script.as_ref().and_then(Script::address) {
                Some(address) => self.backend.connect(conn, &Endpoint::Tcp(address), options),
                None => self.backend.connect(conn, self.job.destination(number), options),
            }
        }
    }
}
