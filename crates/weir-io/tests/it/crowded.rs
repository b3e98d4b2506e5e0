//! The io_uring backend in a process with so many connections that receives are polled for, with
//! the smallest queues and buffers.

use std::io;
use std::sync::Arc;

use weir_io::{
    Backend, BackendOptions, Capabilities, Close, ConnId, Endpoint, Event, Listener, Nanos,
    PooledId, Segment, SocketOptions, Submitted, TcpTally, TemplateId, ThreadUsage, Uring,
    WaitPolicy,
};

use crate::driver::Machine;

/// One of very many rings.
pub(crate) struct Polled(Uring);

impl Machine for Polled {
    fn make(options: BackendOptions) -> io::Result<Polled> {
        Uring::make(BackendOptions { backends: 1_000_000, ..options }).map(Polled)
    }

    fn probe() -> io::Result<()> {
        Uring::probe()
    }
}

impl Backend for Polled {
    const CAPABILITIES: Capabilities = Uring::CAPABILITIES;

    fn now(&mut self) -> Nanos {
        self.0.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.0.template(bytes)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        self.0.pool(bytes)
    }

    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        self.0.connect(conn, to, options);
    }

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.0.listen(listener)
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        self.0.send(conn, segments);
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        self.0.discard(conn, bytes);
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.0.close(conn, how);
    }

    fn submit(&mut self) -> Submitted {
        self.0.submit()
    }

    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()> {
        self.0.wait(until, policy)
    }

    fn usage(&mut self) -> ThreadUsage {
        self.0.usage()
    }

    fn unsent_bytes(&mut self) -> u64 {
        self.0.unsent_bytes()
    }

    fn tcp(&self) -> TcpTally {
        self.0.tcp()
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        self.0.next()
    }
}
