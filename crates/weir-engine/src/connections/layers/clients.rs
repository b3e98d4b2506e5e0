//! TLS clients of the connections: the same new client for all, or one for each connection, which
//! keeps its sessions and returns with them.

use weir_io::ConnId;

use crate::tls::TlsConfig;

/// The TLS clients of one worker.
#[derive(Debug)]
pub(super) struct Clients {
    shared: TlsConfig,
    /// Clients that resume their sessions, by connection; empty if none does.
    returning: Vec<Option<Box<Returning>>>,
}

/// A client that resumes its sessions.
#[derive(Debug)]
struct Returning {
    config: TlsConfig,
    /// True if it has made a handshake.
    has_met_server: bool,
}

impl Clients {
    /// Returns the clients of `connections` connections.
    pub(super) fn new(shared: TlsConfig, connections: usize) -> Clients {
        let clients = if shared.returning_client().is_some() { connections } else { 0 };
        Clients { shared, returning: (0..clients).map(|_| None).collect() }
    }

    /// Returns the configuration of the client of `conn`.
    pub(super) fn config(&mut self, conn: ConnId) -> &TlsConfig {
        let Clients { shared, returning } = self;
        let Some(place) = returning.get_mut(conn.index()) else { return shared };
        if place.is_none() {
            let client = shared.returning_client();
            *place = client.map(|config| Box::new(Returning { config, has_met_server: false }));
        }
        place.as_ref().map_or(shared, |client| &client.config)
    }

    /// Records a handshake of `conn`. Returns true if its client had made one before and was to
    /// resume its session.
    pub(super) fn met_server(&mut self, conn: ConnId) -> bool {
        let client = self.returning.get_mut(conn.index()).and_then(Option::as_mut);
        client.is_some_and(|client| std::mem::replace(&mut client.has_met_server, true))
    }
}
