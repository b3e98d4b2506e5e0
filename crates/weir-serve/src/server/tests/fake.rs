//! A backend for tests: a script of connection events, virtual time, and a record of the sends and
//! closes with their times.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use weir_io::{
    Backend, Close, ConnId, Endpoint, Event, EventKind, Listener, Nanos, PooledId, Segment,
    SocketOptions, Submitted, TemplateId, WaitPolicy,
};

/// An event that the fake reports to the server.
#[derive(Clone, Debug)]
pub(crate) enum FakeEvent {
    Accepted,
    Received(Vec<u8>),
    Closed,
    Failed,
}

/// An operation of the server on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Sent(String),
    Closed(Close),
}

#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) now: Nanos,
    events: VecDeque<(Nanos, ConnId, FakeEvent)>,
    templates: Vec<Arc<[u8]>>,
    pooled: BTreeMap<u32, Vec<u8>>,
    event_bytes: Vec<u8>,
    pub(crate) done: Vec<(Nanos, ConnId, Done)>,
    /// All sends with their bytes.
    pub(crate) bytes: Vec<(Nanos, ConnId, Vec<u8>)>,
    pub(crate) sends: usize,
    /// Virtual time that each clock reading takes, in nanoseconds.
    pub(crate) tick_ns: u64,
}

impl Fake {
    /// Adds an event. Events must be added in the order of their times.
    pub(crate) fn will(&mut self, at: u64, conn: u32, event: FakeEvent) {
        self.events.push_back((Nanos(at), ConnId(conn), event));
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns all text sent on `conn`, concatenated.
    pub(crate) fn sent(&self, conn: u32) -> String {
        let sent = self.done.iter().filter(|(_, id, _)| id.0 == conn);
        let text = sent.filter_map(|(_, _, done)| match done {
            Done::Sent(text) => Some(&**text),
            Done::Closed(_) => None,
        });
        text.collect()
    }
}

impl Backend for Fake {
    fn now(&mut self) -> Nanos {
        self.now = self.now.after(self.tick_ns);
        self.now
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.templates.push(bytes);
        TemplateId(u32::try_from(self.templates.len() - 1).expect("few"))
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        let id = self.pooled.last_key_value().map_or(0, |(id, _)| id + 1);
        self.pooled.insert(id, bytes.to_vec());
        PooledId(id)
    }

    fn connect(&mut self, _: ConnId, _: &Endpoint, _: SocketOptions) {
        panic!("a server does not connect");
    }

    fn listen(&mut self, _: Listener) -> io::Result<()> {
        Ok(())
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let mut bytes = Vec::new();
        for segment in segments {
            match *segment {
                Segment::Template { id, bytes: count } => {
                    let template = &self.templates[id.0 as usize];
                    bytes.extend_from_slice(&template[..count as usize]);
                }
                Segment::Pooled(id) => {
                    bytes.extend(self.pooled.remove(&id.0).expect("lent once, sent once"));
                }
            }
        }
        self.sends += 1;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.done.push((self.now, conn, Done::Sent(text)));
        self.bytes.push((self.now, conn, bytes));
    }

    fn discard(&mut self, _: ConnId, _: u64) {}

    fn close(&mut self, conn: ConnId, how: Close) {
        self.done.push((self.now, conn, Done::Closed(how)));
    }

    fn submit(&mut self) -> Submitted {
        Submitted { before: self.now, after: self.now }
    }

    fn wait(&mut self, until: Nanos, _: WaitPolicy) -> io::Result<()> {
        assert!(self.pooled.is_empty(), "lent and not sent: {:?}", self.pooled);
        let next_at = self.events.front().map_or(Nanos::MAX, |(at, ..)| *at);
        let wake_at = until.min(next_at);
        if wake_at != Nanos::MAX {
            self.now = self.now.max(wake_at);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        let (at, ..) = self.events.front()?;
        if *at > self.now {
            return None;
        }
        let (_, conn, event) = self.events.pop_front()?;
        let kind = match event {
            FakeEvent::Accepted => EventKind::Accepted,
            FakeEvent::Closed => EventKind::Closed,
            FakeEvent::Failed => EventKind::Failed(io::ErrorKind::ConnectionReset.into()),
            FakeEvent::Received(bytes) => {
                self.event_bytes = bytes;
                EventKind::Received { bytes: &mut self.event_bytes[..], rx_at: None }
            }
        };
        Some(Event { conn, generation: 0, at: self.now, kind })
    }
}
