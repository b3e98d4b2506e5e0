//! A blocking connection to a status page, in the clear or over TLS. Every call has its limits. It
//! has no part in HTTP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use weir_tls::TlsConfig;

use crate::patience::{Over, Patience, text_of};
use crate::prepare::wire::Wire;

/// Bytes of one receive.
const CHUNK_BYTES: usize = 16 << 10;

/// A connection, which tells a peer of TLS when it ends.
#[derive(Debug)]
pub(super) struct Channel {
    stream: TcpStream,
    wire: Wire,
}

impl Channel {
    /// Connects, and performs the handshake of `tls`.
    ///
    /// # Errors
    /// When one of both fails or takes too long.
    pub(super) fn connect(
        address: &SocketAddr,
        tls: Option<&TlsConfig>,
        patience: &Patience,
    ) -> io::Result<Channel> {
        let mut stream = TcpStream::connect_timeout(address, patience.left().map_err(in_words)?)?;
        stream.set_nodelay(true)?;
        let Some(config) = tls else { return Ok(Channel { stream, wire: Wire::default() }) };
        // Nothing was requested yet, so that no data is a response.
        let wire = Wire::secured(config, &mut Vec::new(), |out, is_open| {
            write(&mut stream, out, patience)?;
            let mut bytes = vec![0; if is_open { CHUNK_BYTES } else { 0 }];
            let count = if is_open { read(&mut stream, &mut bytes, patience)? } else { 0 };
            bytes.truncate(count);
            Ok(bytes)
        })?;
        Ok(Channel { stream, wire })
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// When the connection fails, or the time is over.
    pub(super) fn send(&mut self, bytes: &[u8], patience: &Patience) -> io::Result<()> {
        write(&mut self.stream, &self.wire.seal(bytes)?, patience)
    }

    /// Appends the next bytes to `received`, and returns their number; 0 at the end of the stream.
    ///
    /// # Errors
    /// When the connection fails, ends within a record of TLS or without close_notify
    /// (RFC 8446 §6.1), or the time is over.
    pub(super) fn receive(
        &mut self,
        received: &mut Vec<u8>,
        patience: &Patience,
    ) -> io::Result<usize> {
        self.fill(received, |stream, bytes| read(stream, bytes, patience))
    }

    /// Returns an idle connection unless the server has closed it: a request on it would be lost.
    /// Session tickets that came late are no end.
    pub(super) fn if_open(mut self) -> Option<Channel> {
        let at_once = |stream: &mut TcpStream, bytes: &mut [u8]| stream.read(bytes);
        let received = self.stream.set_nonblocking(true);
        let received = received.and_then(|()| self.fill(&mut Vec::new(), at_once));
        let is_idle = received.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        (is_idle && self.stream.set_nonblocking(false).is_ok()).then_some(self)
    }

    fn fill(
        &mut self,
        received: &mut Vec<u8>,
        read: impl Fn(&mut TcpStream, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let before = received.len();
        let mut bytes = [0; CHUNK_BYTES];
        while received.len() == before && !self.wire.is_closed() {
            match read(&mut self.stream, &mut bytes)? {
                0 if self.wire.is_secured() => {
                    let text = "the connection ended without close_notify";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
                }
                0 => break,
                count => self.wire.open(&mut bytes[..count], received)?,
            }
        }
        Ok(received.len() - before)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        let out = self.wire.close();
        // The connection may have ended already, or the peer reads nothing.
        let _is_sent = self.stream.set_nonblocking(true).and_then(|()| self.stream.write_all(&out));
    }
}

/// Reads once, within the limits of `patience`.
fn read(stream: &mut TcpStream, bytes: &mut [u8], patience: &Patience) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(patience.slice().map_err(in_words)?))?;
        match stream.read(bytes) {
            Err(error) if is_unready(&error) => {}
            result => return result,
        }
    }
}

/// Writes all bytes, within the limits of `patience`.
fn write(stream: &mut TcpStream, mut bytes: &[u8], patience: &Patience) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(patience.slice().map_err(in_words)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_unready(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True if a socket's timeout has passed. A signal, or work of io_uring for this thread, interrupts
/// a receive with a timeout (signal(7)).
fn is_unready(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The error of an exchange that has reached a limit.
pub(super) fn in_words(over: Over) -> io::Error {
    io::Error::other(match over {
        Over::Late(limit) => format!("no complete response within {}", text_of(limit)),
        Over::Signal => over.to_string(),
    })
}
