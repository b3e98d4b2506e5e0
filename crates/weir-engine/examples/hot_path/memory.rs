//! A backend in memory: every request gets the same response, a fixed time after it was sent. It
//! costs next to nothing itself, so that the counted instructions are the engine's.

mod http2;

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;

use weir_io::{
    Backend, Capabilities, Close, ConnId, Endpoint, Event, EventKind, Nanos, PooledId, Segment,
    SocketOptions, StampRequest, Submitted, TemplateId, WaitPolicy,
};

use crate::scenario::Scenario;

/// Duration of a reading of the clock, in nanoseconds.
const READING_NS: u64 = 30;

/// Time from a request to its response, in nanoseconds.
const RESPONSE_NS: u64 = 50_000;

/// Requests that were sent together, and the time of their responses.
#[derive(Clone, Copy, Debug)]
struct Sent {
    conn: ConnId,
    /// Offset of the responses, and their length.
    from: u32,
    bytes: u32,
    due_at: Nanos,
}

/// The backend in memory.
#[derive(Debug)]
pub(crate) struct Memory {
    now: Nanos,
    request_bytes: usize,
    /// Responses to as many requests as can be in flight on a connection.
    responses: Vec<u8>,
    response_bytes: usize,
    /// Offsets and lengths of the responses to the requests of a list, in its order; empty without
    /// one.
    listed: Vec<(u32, u32)>,
    templates: u32,
    piece_bytes: usize,
    connecting: VecDeque<ConnId>,
    sent: VecDeque<Sent>,
    /// Bytes received of the responses to the oldest of `sent`.
    received: usize,
    is_stamped: Vec<bool>,
    /// Server of HTTP/2; `None` with HTTP/1.
    http2: Option<Box<http2::Server>>,
}

impl Memory {
    /// Returns the backend of a scenario whose request has `request_bytes` bytes.
    pub(crate) fn new(scenario: &Scenario, request_bytes: usize) -> Memory {
        let responses = scenario.responses();
        let mut end = 0;
        let listed = responses.iter().map(|response| {
            end += response.len();
            ((end - response.len()) as u32, response.len() as u32)
        });
        Memory {
            listed: listed.take(scenario.rows).collect(),
            templates: 0,
            now: Nanos(1_000),
            request_bytes,
            responses: responses.concat(),
            response_bytes: responses[0].len(),
            piece_bytes: scenario.piece_bytes,
            connecting: VecDeque::new(),
            sent: VecDeque::new(),
            received: 0,
            is_stamped: vec![false; scenario.connections as usize],
            http2: scenario.http2.then(|| http2::Server::new(scenario.connections)),
        }
    }
}

impl Memory {
    /// Returns the response to a request of a list.
    #[inline]
    fn listed_response(&self, conn: ConnId, segments: &[Segment], due_at: Nanos) -> Sent {
        let row = match segments {
            [Segment::Template { id: TemplateId(row), .. }] => *row as usize,
            [Segment::Pooled(_)] => 0, // a request with fields, of which there is one
            _ => panic!("a request of a list is one segment"),
        };
        let (from, bytes) = self.listed[row];
        Sent { conn, from, bytes, due_at }
    }
}

impl Backend for Memory {
    const CAPABILITIES: Capabilities = Capabilities { stamps: true, ..Capabilities::NONE };

    fn now(&mut self) -> Nanos {
        self.now = self.now.after(READING_NS);
        self.now
    }

    fn template(&mut self, _: Arc<[u8]>) -> TemplateId {
        self.templates += 1;
        TemplateId(self.templates - 1)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        if let Some(server) = &mut self.http2 {
            server.receive(bytes);
        }
        PooledId(0)
    }

    fn connect(&mut self, conn: ConnId, _: &Endpoint, options: SocketOptions) {
        self.is_stamped[conn.index()] = options.stamps != StampRequest::None;
        self.connecting.push_back(conn);
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let due_at = self.now.after(RESPONSE_NS);
        let sent = if self.listed.is_empty() {
            let bytes = segments.iter().map(|segment| match segment {
                Segment::Template { bytes, .. } => *bytes as usize,
                Segment::Pooled(_) => 0,
            });
            let requests = bytes.sum::<usize>() / self.request_bytes;
            Sent { conn, from: 0, bytes: (requests * self.response_bytes) as u32, due_at }
        } else {
            self.listed_response(conn, segments, due_at)
        };
        self.sent.push_back(sent);
        if let Some(server) = &mut self.http2 {
            server.respond(conn.index());
        }
    }

    fn close(&mut self, _: ConnId, _: Close) {}

    fn submit(&mut self) -> Submitted {
        Submitted { before: self.now(), after: self.now() }
    }

    fn wait(&mut self, until: Nanos, _: WaitPolicy) -> io::Result<()> {
        if self.connecting.is_empty() {
            let responded_at = self.sent.front().map_or(Nanos::MAX, |sent| sent.due_at);
            self.now = self.now.max(until.min(responded_at));
        }
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        let at = self.now;
        if let Some(conn) = self.connecting.pop_front() {
            return Some(Event { conn, generation: 0, at, kind: EventKind::Connected });
        }
        let &Sent { conn, from: begin, bytes, .. } =
            self.sent.front().filter(|sent| sent.due_at <= at)?;
        if let Some(server) = &mut self.http2 {
            self.sent.pop_front();
            let kind = EventKind::Received { bytes: server.next_response(), rx_at: None };
            return Some(Event { conn, generation: 0, at, kind });
        }
        let begin = begin as usize;
        let bytes = bytes as usize;
        let from = self.received;
        let until = bytes.min(from + self.piece_bytes);
        self.received = until;
        if until == bytes {
            self.sent.pop_front();
            mem::take(&mut self.received);
        }
        let rx_at = self.is_stamped[conn.index()].then_some(at);
        let kind =
            EventKind::Received { bytes: &mut self.responses[begin + from..begin + until], rx_at };
        Some(Event { conn, generation: 0, at, kind })
    }
}
