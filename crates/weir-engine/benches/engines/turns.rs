//! Turns: a backend that lets its thread run only during its turns, and reports the cost and the
//! work of each. The client on it observes only that time passes.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use weir_io::{
    Backend, Capabilities, Close, ConnId, Endpoint, Event, Listener, Nanos, PooledId, Segment,
    SocketOptions, Submitted, TcpTally, TemplateId, WaitPolicy,
};
use weir_machine::sys;

/// The cost and the work of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) cpu_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) requests: u64,
}

/// A side's ends of the channels to the thread that assigns the turns.
pub(crate) struct Seat {
    pub(crate) granted: Receiver<()>,
    pub(crate) done: Sender<Turn>,
    pub(crate) turn_ns: u64,
    /// Length of one request, which the requests of a send are counted by.
    pub(crate) request_bytes: u32,
}

/// A backend with turns.
pub(crate) struct Turning<B> {
    backend: B,
    seat: Seat,
    /// Start of the current turn; `None` before the first.
    begun: Option<Begun>,
    requests: u64,
}

/// The start of a turn.
struct Begun {
    at: Nanos,
    cpu_ns: u64,
}

impl<B: Backend> Turning<B> {
    pub(crate) fn new(backend: B, seat: Seat) -> Turning<B> {
        Turning { backend, seat, begun: None, requests: 0 }
    }

    /// Ends the turn if its time is over, and waits for the next. Returns the end of the current
    /// turn.
    fn sit_out(&mut self) -> io::Result<Nanos> {
        let now = self.backend.now();
        if let Some(begun) = &self.begun {
            let end = begun.at.after(self.seat.turn_ns);
            if now < end {
                return Ok(end);
            }
            self.backend.submit();
            let turn = Turn {
                cpu_ns: cpu_ns()? - begun.cpu_ns,
                wall_ns: self.backend.now().since(begun.at),
                requests: std::mem::take(&mut self.requests),
            };
            self.seat.done.send(turn).map_err(io::Error::other)?;
        }
        self.seat.granted.recv().map_err(io::Error::other)?;
        let at = self.backend.now();
        self.begun = Some(Begun { at, cpu_ns: cpu_ns()? });
        Ok(at.after(self.seat.turn_ns))
    }
}

fn cpu_ns() -> io::Result<u64> {
    Ok(u64::try_from(sys::thread_cpu_time()?.total().as_nanos()).unwrap_or(u64::MAX))
}

impl<B: Backend> Backend for Turning<B> {
    const CAPABILITIES: Capabilities = Capabilities { usage: false, ..B::CAPABILITIES };

    fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.backend.template(bytes)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        self.backend.pool(bytes)
    }

    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        self.backend.connect(conn, to, options);
    }

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.backend.listen(listener)
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        for segment in segments {
            if let Segment::Template { bytes, .. } = segment {
                self.requests += u64::from(bytes / self.seat.request_bytes);
            }
        }
        self.backend.send(conn, segments);
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        self.backend.discard(conn, bytes);
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        self.backend.close(conn, how);
    }

    fn submit(&mut self) -> Submitted {
        self.backend.submit()
    }

    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()> {
        let end = self.sit_out()?;
        self.backend.wait(until.min(end), policy)
    }

    fn unsent_bytes(&mut self) -> u64 {
        self.backend.unsent_bytes()
    }

    fn tcp(&self) -> TcpTally {
        self.backend.tcp()
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        self.backend.next()
    }
}
