//! TLS over a blocking connection, for the one request before the load.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use weir_tls::{Session, TlsConfig, TlsError};

use super::Stream;

/// A connection after its TLS handshake.
#[derive(Debug)]
pub(super) struct Secured {
    pub(super) stream: Stream,
    session: Session,
    /// Decrypted bytes, not yet read.
    plain: Vec<u8>,
}

/// The cause of a failed handshake.
pub(super) enum Refused {
    /// A TLS error.
    Tls(TlsError),
    /// A network error.
    Io(io::Error),
}

impl Secured {
    /// Performs the TLS handshake over `stream`, which ends at most `patience` after `started`.
    pub(super) fn shake_hands(
        stream: Stream,
        config: &TlsConfig,
        started: Instant,
        patience: Duration,
    ) -> Result<Secured, Refused> {
        let mut secured = Secured { stream, session: Session::new(config), plain: Vec::new() };
        loop {
            secured.send_output().map_err(Refused::Io)?;
            if !secured.session.is_handshaking() {
                return Ok(secured);
            }
            let left = patience.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
            let left = left.ok_or(Refused::Io(io::ErrorKind::TimedOut.into()))?;
            secured.stream.set_read_timeout(left).map_err(Refused::Io)?;
            let mut bytes = vec![0; 16 * 1024];
            let count = secured.stream.reader().read(&mut bytes).map_err(Refused::Io)?;
            if count == 0 {
                let text = "the connection was closed in the TLS handshake";
                return Err(Refused::Io(io::Error::other(text)));
            }
            let taken = secured.session.receive(&mut bytes[..count], &mut secured.plain);
            if let Err(error) = taken {
                // Sends the alert to the server, if the connection is still open.
                let _gone = secured.send_output();
                return Err(Refused::Tls(error));
            }
        }
    }

    fn send_output(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        self.session.take_output(&mut out);
        self.stream.writer().write_all(&out)
    }
}

impl Write for Secured {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        let mut out = Vec::new();
        self.session.send(plain, &mut out).map_err(io::Error::other)?;
        self.stream.writer().write_all(&out)?;
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.writer().flush()
    }
}

impl Read for Secured {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.plain.is_empty() && !self.session.is_closed() {
            let mut bytes = vec![0; 16 * 1024];
            let count = self.stream.reader().read(&mut bytes)?;
            if count == 0 {
                return Ok(0);
            }
            let taken = self.session.receive(&mut bytes[..count], &mut self.plain);
            taken.map_err(io::Error::other)?;
        }
        let count = self.plain.len().min(into.len());
        into[..count].copy_from_slice(&self.plain[..count]);
        self.plain.drain(..count);
        Ok(count)
    }
}
