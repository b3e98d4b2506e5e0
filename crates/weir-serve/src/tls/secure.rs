//! A backend whose accepted connections carry plaintext: it decrypts the events of another backend
//! and encrypts the sends to it, so that the event loop is the same with and without TLS.
//! Independent of HTTP.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use weir_io::{
    Backend, Capabilities, Close, ConnId, Endpoint, Event, EventKind, Listener, Nanos, PooledId,
    Segment, SocketOptions, Submitted, TcpTally, TemplateId, ThreadUsage, WaitPolicy,
};

use super::session::{Received, Session, TlsFailure};
use crate::stats::{Shared, add};

/// Puts TLS on a backend that has no connections yet. Handshakes are counted for worker number
/// `worker` of the server that `shared` belongs to.
pub(crate) fn secure<B: Backend>(
    backend: B,
    config: Arc<ServerConfig>,
    shared: Arc<Shared>,
    worker: usize,
) -> impl Backend {
    Secure::new(backend, config, shared, worker)
}

/// TLS on the connections that `B` accepts.
struct Secure<B> {
    backend: B,
    config: Arc<ServerConfig>,
    shared: Arc<Shared>,
    worker: usize,
    /// By connection number; none if it is closed.
    sessions: Vec<Option<Box<Session>>>,
    templates: Vec<Arc<[u8]>>,
    /// Plaintext of one send each, until it is sent.
    pooled: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// Plaintext of the event that was returned last.
    received: Vec<u8>,
    /// The connection, generation and time of that event, if the same bytes had a close_notify: its
    /// event is the next.
    closing: Option<(ConnId, u16, Nanos)>,
    /// Plaintext to encrypt.
    text: Vec<u8>,
    /// Encrypted bytes to send.
    records: Vec<u8>,
}

/// Plaintext that is encrypted at a time, so that a large response takes no second buffer of its
/// size.
const TEXT_BYTES: usize = 256 * 1024;

impl<B> fmt::Debug for Secure<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl<B: Backend> Secure<B> {
    fn new(backend: B, config: Arc<ServerConfig>, shared: Arc<Shared>, worker: usize) -> Secure<B> {
        Secure {
            backend,
            config,
            shared,
            worker,
            sessions: Vec::new(),
            templates: Vec::new(),
            pooled: Vec::new(),
            free: Vec::new(),
            received: Vec::new(),
            closing: None,
            text: Vec::new(),
            records: Vec::new(),
        }
    }

    fn accepted(&mut self, conn: ConnId) {
        if self.sessions.len() <= conn.index() {
            self.sessions.resize_with(conn.index() + 1, || None);
        }
        self.sessions[conn.index()] = Some(Box::new(Session::new(&self.config)));
    }

    fn session(&mut self, conn: ConnId) -> Option<&mut Session> {
        find(&mut self.sessions, conn)
    }

    /// Sends the answer of TLS to received bytes, and counts a handshake that has ended. Returns
    /// true if the client has closed with these bytes.
    fn after_receive(
        &mut self,
        conn: ConnId,
        result: Result<Received, TlsFailure>,
    ) -> Result<bool, TlsFailure> {
        let Received { handshake, is_closed } = result?;
        if let Some(session) = find(&mut self.sessions, conn) {
            session.take_output(&mut self.records);
        }
        self.send_records(conn);
        if let Some(is_resumed) = handshake {
            let counters = self.shared.counters(self.worker);
            add(&counters.tls_handshakes, 1);
            add(&counters.tls_resumed, is_resumed.into());
        }
        Ok(is_closed)
    }

    /// Counts a failure, sends the alert for the client, closes the connection, and returns the
    /// event of it.
    fn fail(&mut self, conn: ConnId, failure: &TlsFailure) -> EventKind<'static> {
        self.count_failure(failure);
        if let Some(mut session) = self.sessions[conn.index()].take() {
            session.take_output(&mut self.records);
            self.send_records(conn);
        }
        self.backend.close(conn, Close::Graceful);
        EventKind::Failed(io::Error::new(io::ErrorKind::InvalidData, failure.to_string()))
    }

    fn count_failure(&mut self, failure: &TlsFailure) {
        // First, so that a counted failure has its reason.
        self.shared.note_tls_error(failure.to_string());
        add(&self.shared.counters(self.worker).tls_failures, 1);
    }

    /// Encrypts the text and sends it; without effect on a closed connection.
    fn send_text(&mut self, conn: ConnId) {
        if let Some(session) = find(&mut self.sessions, conn) {
            session.send(&self.text, &mut self.records);
        }
        self.text.clear();
        self.send_records(conn);
    }

    fn send_records(&mut self, conn: ConnId) {
        if !self.records.is_empty() {
            let records = self.backend.pool(&self.records);
            self.backend.send(conn, &[Segment::Pooled(records)]);
            self.records.clear();
        }
    }
}

impl<B: Backend> Backend for Secure<B> {
    const CAPABILITIES: Capabilities = B::CAPABILITIES;

    fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.templates.push(bytes);
        TemplateId(u32::try_from(self.templates.len() - 1).expect("few"))
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.pooled.push(Vec::new());
            u32::try_from(self.pooled.len() - 1).expect("one send has few")
        });
        let pooled = &mut self.pooled[place as usize];
        pooled.clear();
        pooled.extend_from_slice(bytes);
        PooledId(place)
    }

    fn connect(&mut self, _: ConnId, _: &Endpoint, _: SocketOptions) {
        panic!("a server does not connect");
    }

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        self.backend.listen(listener)
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        for segment in segments {
            match *segment {
                Segment::Template { id, bytes } => {
                    let template = Arc::clone(&self.templates[id.0 as usize]);
                    for part in template[..bytes as usize].chunks(TEXT_BYTES) {
                        self.text.extend_from_slice(part);
                        if self.text.len() >= TEXT_BYTES {
                            self.send_text(conn);
                        }
                    }
                }
                Segment::Pooled(id) => {
                    self.text.extend_from_slice(&self.pooled[id.0 as usize]);
                    self.free.push(id.0);
                }
            }
        }
        self.send_text(conn);
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        let session = self.sessions.get_mut(conn.index()).and_then(Option::take);
        if let (Some(mut session), Close::Graceful) = (session, how) {
            session.close(&mut self.records);
            self.send_records(conn);
        }
        self.backend.close(conn, how);
    }

    fn submit(&mut self) -> Submitted {
        self.backend.submit()
    }

    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()> {
        self.backend.wait(until, policy)
    }

    fn usage(&mut self) -> ThreadUsage {
        self.backend.usage()
    }

    fn unsent_bytes(&mut self) -> u64 {
        self.backend.unsent_bytes()
    }

    fn tcp(&self) -> TcpTally {
        self.backend.tcp()
    }

    fn next(&mut self) -> Option<Event<'_>> {
        if let Some((conn, generation, at)) = self.closing.take()
            && self.session(conn).is_some()
        {
            return Some(Event { conn, generation, at, kind: EventKind::Closed });
        }
        loop {
            let event = self.backend.next()?;
            let (conn, generation, at) = (event.conn, event.generation, event.at);
            let kind = match event.kind {
                EventKind::Received { bytes, .. } => {
                    let sessions = &mut self.sessions;
                    let Some(session) = find(sessions, conn) else { continue };
                    self.received.clear();
                    let result = session.receive(bytes, &mut self.received);
                    match self.after_receive(conn, result) {
                        Err(failure) => self.fail(conn, &failure),
                        Ok(is_closed) if !self.received.is_empty() => {
                            self.closing = is_closed.then_some((conn, generation, at));
                            let bytes = &mut self.received[..];
                            let kind = EventKind::Received { bytes, rx_at: None };
                            return Some(Event { conn, generation, at, kind });
                        }
                        Ok(true) => EventKind::Closed,
                        Ok(false) => continue,
                    }
                }
                EventKind::Accepted => {
                    self.accepted(conn);
                    EventKind::Accepted
                }
                EventKind::Closed => match self.session(conn).map(Session::end) {
                    Some(Ok(true)) => EventKind::Closed,
                    Some(Ok(false)) | None => continue,
                    Some(Err(failure)) => self.fail(conn, &failure),
                },
                EventKind::Failed(error) => {
                    let session = self.sessions.get_mut(conn.index()).and_then(Option::take);
                    if let Some(Err(failure)) = session.map(|mut session| session.end()) {
                        self.count_failure(&failure);
                    }
                    EventKind::Failed(error)
                }
                EventKind::Connected => EventKind::Connected,
                EventKind::Discarded(bytes) => EventKind::Discarded(bytes),
                EventKind::Transmitted { tx_at } => EventKind::Transmitted { tx_at },
            };
            return Some(Event { conn, generation, at, kind });
        }
    }
}

/// Returns the session of a connection, unless it is closed.
fn find(sessions: &mut [Option<Box<Session>>], conn: ConnId) -> Option<&mut Session> {
    sessions.get_mut(conn.index())?.as_deref_mut()
}
