//! WebSocket servers of a few lines, for behaviour that `weir serve` has not.

use std::collections::VecDeque;
use std::io::{self, Read};

use weir_http::ws::handshake::push_acceptance;
use weir_http::ws::{CloseCode, Opcode, UpgradeKey, WsEvent, WsServer};

use super::raw::{Peer, Raw};

/// One connection after its upgrade.
#[derive(Debug)]
pub(crate) struct Socket<'a> {
    pub(crate) peer: &'a mut Peer,
    server: WsServer,
    messages: VecDeque<String>,
}

/// Serves each connection by `serve`, after an upgrade with further fields in the response.
pub(crate) fn start(
    fields: &'static [(&'static str, &'static str)],
    serve: impl Fn(&mut Socket<'_>) -> io::Result<()> + Send + Sync + 'static,
) -> Raw {
    Raw::start(move |peer| {
        let Some(head) = peer.read_request()? else { return Ok(()) };
        let (_, key) = head.split_once("Sec-WebSocket-Key: ").expect("an upgrade");
        let key = UpgradeKey::parse(&key.as_bytes()[..24]).expect("a key");
        let mut out = Vec::new();
        push_acceptance(&mut out, &key, fields);
        peer.write(&out)?;
        let mut socket = Socket { peer, server: WsServer::new(1 << 20), messages: VecDeque::new() };
        serve(&mut socket)?;
        // The client answers a Close frame, and closes.
        while socket.next()?.is_some() {}
        Ok(())
    })
}

impl Socket<'_> {
    /// Returns the next message; `None` after the client's end.
    pub(crate) fn next(&mut self) -> io::Result<Option<String>> {
        while self.messages.is_empty() {
            let mut chunk = [0; 4096];
            let count = self.peer.stream()?.read(&mut chunk)?;
            if count == 0 || self.server.is_closed() {
                return Ok(None);
            }
            let messages = &mut self.messages;
            let read = self.server.receive(&chunk[..count], |event| {
                if let WsEvent::Message { content, .. } = event {
                    messages.push_back(String::from_utf8_lossy(content).into_owned());
                }
            });
            read.map_err(io::Error::other)?;
            self.flush()?;
        }
        Ok(self.messages.pop_front())
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, text: &str) -> io::Result<()> {
        self.server.send(Opcode::TEXT, text.as_bytes());
        self.flush()
    }

    /// Sends a Close frame.
    pub(crate) fn close(&mut self, code: CloseCode, reason: &str) -> io::Result<()> {
        let payload = [&code.0.to_be_bytes()[..], reason.as_bytes()].concat();
        self.server.send(Opcode::CLOSE, &payload);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        self.server.poll_transmit(&mut out);
        self.peer.write(&out)
    }
}
