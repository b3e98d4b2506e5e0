//! A backend whose accepted connections carry plaintext: it decrypts the events of another backend
//! and encrypts the sends to it, so that the event loop is the same with and without TLS.
//! Independent of HTTP.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use weir_io::{
    Backend, Capabilities, Close, ConnId, Endpoint, Event, EventKind, Listener, Nanos, PooledId,
    Segment, SocketOptions, Submitted, TemplateId, WaitPolicy,
};

use super::session::{Received, Session, TlsFailure};
use crate::counters::add;
use crate::stats::Shared;

/// Puts TLS on a backend that has no connections yet. Handshakes are counted for worker number
/// `worker` of the server that `shared` belongs to.
pub(crate) fn secure<B: Backend>(
    backend: B,
    config: Arc<ServerConfig>,
    shared: Arc<Shared>,
    worker: usize,
) -> Secure<B> {
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
        lingering: VecDeque::new(),
        text: Vec::new(),
        records: Vec::new(),
    }
}

/// TLS on the connections that `B` accepts.
pub(crate) struct Secure<B> {
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
    /// Failed connections whose clients may still read the alert, with the time at which they are
    /// closed, in its order.
    lingering: VecDeque<(Nanos, ConnId)>,
    /// Plaintext to encrypt.
    text: Vec<u8>,
    /// Encrypted bytes to send.
    records: Vec<u8>,
}

/// Time that a client has to close a connection after an alert. Closing at once would reset the
/// connection under the bytes that the client still sends, and a reset may hide the alert from it.
const LINGER_NS: u64 = 1_000_000_000;

/// Plaintext that is encrypted at a time, so that a large response takes no second buffer of its
/// size.
const TEXT_BYTES: usize = 256 * 1024;

impl<B: Backend> Secure<B> {
    fn accepted(&mut self, conn: ConnId) {
        if self.sessions.len() <= conn.index() {
            self.sessions.resize_with(conn.index() + 1, || None);
        }
        self.sessions[conn.index()] = Some(Box::new(Session::new(&self.config)));
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
            let counters = &self.shared.counters(self.worker).tls;
            add(&counters.handshakes, 1);
            add(&counters.resumed, is_resumed.into());
        }
        Ok(is_closed)
    }

    /// Counts a failure, sends the alert for the client, leaves the client to close the connection,
    /// and returns the event of it.
    fn fail<T>(&mut self, conn: ConnId, at: Nanos, failure: &TlsFailure) -> EventKind<T> {
        self.count_failure(failure);
        if let Some(mut session) = self.sessions[conn.index()].take() {
            session.take_output(&mut self.records);
            self.send_records(conn);
        }
        self.lingering.push_back((at.after(LINGER_NS), conn));
        failed(failure)
    }

    /// Handles the end of the client's bytes. Returns the event of it, if there is one.
    fn ended<T>(&mut self, conn: ConnId) -> Option<EventKind<T>> {
        let Some(session) = find(&mut self.sessions, conn) else {
            if self.forget_lingering(conn) {
                self.backend.close(conn, Close::Graceful);
            }
            return None;
        };
        match session.end() {
            Ok(is_news) => is_news.then_some(EventKind::Closed),
            Err(failure) => {
                self.sessions[conn.index()] = None;
                self.backend.close(conn, Close::Graceful);
                self.count_failure(&failure);
                Some(failed(&failure))
            }
        }
    }

    /// Ends the wait for a client that closes a failed connection. Returns false if there is none.
    fn forget_lingering(&mut self, conn: ConnId) -> bool {
        let count = self.lingering.len();
        self.lingering.retain(|(_, other)| *other != conn);
        self.lingering.len() < count
    }

    /// Closes the failed connections that their clients have left open for too long.
    fn close_lingering(&mut self) {
        while let Some(&(end_at, conn)) = self.lingering.front()
            && end_at <= self.backend.now()
        {
            self.lingering.pop_front();
            self.backend.close(conn, Close::Graceful);
        }
    }

    fn count_failure(&mut self, failure: &TlsFailure) {
        // First, so that a counted failure has its reason.
        self.shared.note_tls_error(failure.to_string());
        add(&self.shared.counters(self.worker).tls.failures, 1);
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

/// Returns the event of a connection that failed.
fn failed<B>(failure: &TlsFailure) -> EventKind<B> {
    EventKind::Failed(io::Error::new(io::ErrorKind::InvalidData, failure.to_string()))
}

impl<B: Backend> Backend for Secure<B> {
    const CAPABILITIES: Capabilities = Capabilities { listen: true, ..Capabilities::NONE };

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
        let close_at = self.lingering.front().map_or(Nanos::MAX, |(end_at, _)| *end_at);
        self.backend.wait(until.min(close_at), policy)?;
        self.close_lingering();
        Ok(())
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        if let Some((conn, generation, at)) = self.closing.take()
            && find(&mut self.sessions, conn).is_some()
        {
            return Some(Event { conn, generation, at, kind: EventKind::Closed });
        }
        loop {
            let event = self.backend.next()?;
            let conn = event.conn;
            let generation = event.generation;
            let at = event.at;
            let kind = match event.kind {
                EventKind::Received { bytes, .. } => {
                    let sessions = &mut self.sessions;
                    let Some(session) = find(sessions, conn) else { continue };
                    self.received.clear();
                    let result = session.receive(bytes, &mut self.received);
                    match self.after_receive(conn, result) {
                        Err(failure) => self.fail(conn, at, &failure),
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
                EventKind::Closed => match self.ended(conn) {
                    Some(kind) => kind,
                    None => continue,
                },
                EventKind::Failed(error) => {
                    if self.forget_lingering(conn) {
                        continue;
                    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Behaviour;
    use crate::http_version::HttpVersion;
    use crate::server::tests::fake::{Done, Fake, FakeEvent};
    use crate::tls::{Identity, TlsConfig, TlsOptions};

    /// Reports what happens on one connection, and returns the alerts and closes with their times.
    fn run(events: &[(u64, FakeEvent)]) -> Vec<(u64, Done)> {
        let mut fake = Fake::default();
        fake.will(1, 0, FakeEvent::Accepted);
        events.iter().for_each(|(at, event)| fake.will(*at, 0, event.clone()));
        let (identity, _) = Identity::generate(&[]).expect("keys can be made");
        let config = TlsConfig::new(TlsOptions::new(identity)).expect("the options are right");
        let shared = Shared::new(Behaviour::default(), 0, 1);
        let mut secure = secure(fake, config.offering(HttpVersion::Auto), shared, 0);
        let mut failures = 0;
        while !secure.backend.is_exhausted() || !secure.lingering.is_empty() {
            secure.wait(Nanos::MAX, WaitPolicy::Sleep).expect("the fake never fails");
            while let Some(event) = secure.next() {
                failures += u32::from(matches!(event.kind, EventKind::Failed(_)));
                assert!(!matches!(event.kind, EventKind::Received { .. } | EventKind::Closed));
            }
        }
        assert_eq!(failures, 1);
        secure.backend.done.iter().map(|(at, _, done)| (at.0, done.clone())).collect()
    }

    #[test]
    fn a_client_may_read_the_alert_before_the_connection_is_closed() {
        let wrong = FakeEvent::Received(b"GET / HTTP/1.1\r\n\r\n".to_vec());
        let more = FakeEvent::Received(vec![7; 100]);
        let alert = Done::Sent("\x15\x03\x03\0\x02\x02\x32".to_owned());
        let closed = Done::Closed(Close::Graceful);
        let check = |then: &[(u64, FakeEvent)], closed_at: u64| {
            let first = [(2, wrong.clone()), (3, more.clone())];
            let done = run(&[&first, then].concat());
            assert_eq!(done, [(2, alert.clone()), (closed_at, closed.clone())]);
        };
        check(&[(5, FakeEvent::Closed)], 5);
        check(&[], 2 + LINGER_NS);
        let reset = run(&[(2, wrong.clone()), (5, FakeEvent::Failed)]);
        assert_eq!(reset, [(2, alert.clone())], "the backend has closed it");
    }
}
