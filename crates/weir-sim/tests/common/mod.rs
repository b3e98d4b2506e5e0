//! A tiny scripted client: enough of one to drive a simulated world, and no more.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_io::{
    Backend, ConnId, Endpoint, EventKind, Nanos, Segment, SocketOptions, TemplateId, WaitPolicy,
};
use weir_sim::Sim;

/// A request.
pub(crate) const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: sim\r\n\r\n";

/// One finished exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// When it was due.
    pub(crate) due_at: Nanos,
    /// When it was sent.
    pub(crate) sent_at: Nanos,
    /// When its answer was complete.
    pub(crate) ended_at: Nanos,
}

/// Where the client connects to.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)))
}

/// A client that sends at given times on any free connection; its server must be well and must
/// answer with lengths.
pub(crate) struct Client<'a> {
    sim: &'a mut Sim,
    template: TemplateId,
    free: VecDeque<u32>,
    conns: Vec<Conn>,
    /// Finished exchanges, in order of their ends.
    pub(crate) done: Vec<Done>,
}

#[derive(Clone, Default)]
struct Conn {
    current: Option<(Nanos, Nanos)>,
    received: Vec<u8>,
}

impl Client<'_> {
    /// Opens so many connections.
    pub(crate) fn open(sim: &mut Sim, conns: u32) -> Client<'_> {
        let template = sim.template(Arc::from(REQUEST));
        for conn in 0..conns {
            sim.connect(ConnId(conn), &endpoint(), SocketOptions::default());
        }
        let conn_list = vec![Conn::default(); conns as usize];
        let mut client =
            Client { sim, template, free: VecDeque::new(), conns: conn_list, done: Vec::new() };
        while client.free.len() < conns as usize {
            client.harvest(Nanos::MAX);
        }
        client
    }

    /// Sends one request at each of these times, or as soon after as a connection is free, and
    /// awaits all answers.
    pub(crate) fn run(&mut self, due: &[Nanos]) {
        let mut next = 0;
        let target = self.done.len() + due.len();
        while self.done.len() < target {
            let now = self.sim.now();
            while next < due.len() && due[next] <= now {
                let Some(conn) = self.free.pop_front() else {
                    break;
                };
                let bytes = u32::try_from(REQUEST.len()).unwrap();
                self.sim.send(ConnId(conn), &[Segment::Template { id: self.template, bytes }]);
                self.conns[conn as usize].current = Some((due[next], now));
                next += 1;
            }
            let is_waiting_for_time = next < due.len() && !self.free.is_empty();
            self.harvest(if is_waiting_for_time { due[next] } else { Nanos::MAX });
        }
    }

    fn harvest(&mut self, until: Nanos) {
        self.sim.wait(until, WaitPolicy::Hybrid).unwrap();
        while let Some(event) = self.sim.next() {
            let conn = &mut self.conns[event.conn.index()];
            match event.kind {
                EventKind::Connected => self.free.push_back(event.conn.0),
                EventKind::Received { bytes, .. } => {
                    conn.received.extend_from_slice(bytes);
                    if is_whole(&conn.received) {
                        conn.received.clear();
                        let (due_at, sent_at) = conn.current.take().unwrap();
                        self.done.push(Done { due_at, sent_at, ended_at: event.at });
                        self.free.push_back(event.conn.0);
                    }
                }
                EventKind::Transmitted { .. } | EventKind::Discarded(_) => {}
                other => panic!("the server is well, but: {other:?}"),
            }
        }
    }
}

/// Whether an answer is complete, by its `content-length`.
fn is_whole(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let value = head.split("content-length: ").nth(1).expect("answers have lengths");
    let length: usize = value.split("\r\n").next().unwrap().parse().unwrap();
    body.len() == length
}
