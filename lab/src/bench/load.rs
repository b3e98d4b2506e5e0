//! Loads for clients. This module depends on no client and no server.

use std::fmt;

use crate::rig::Server;

/// A closed loop: every connection sends again as soon as it has its responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClosedLoad {
    pub(super) connections: u32,
    /// Requests in flight on each connection.
    pub(super) depth: u32,
    /// True for HTTP/2, whose requests in flight are streams.
    pub(super) http2: bool,
    /// Length of the responses' bodies, or the server's default.
    pub(super) body_bytes: Option<u32>,
    pub(super) is_closing: bool,
}

impl ClosedLoad {
    /// Returns a load with one request at a time on each connection, which stays open.
    pub(super) const fn of(connections: u32) -> ClosedLoad {
        ClosedLoad { connections, depth: 1, http2: false, body_bytes: None, is_closing: false }
    }

    pub(super) const fn pipelined(self, depth: u32) -> ClosedLoad {
        ClosedLoad { depth, ..self }
    }

    /// Returns the load over HTTP/2 with this many streams on each connection.
    pub(super) const fn streams(self, depth: u32) -> ClosedLoad {
        ClosedLoad { depth, http2: true, ..self }
    }

    pub(super) const fn with_body(self, bytes: u32) -> ClosedLoad {
        ClosedLoad { body_bytes: Some(bytes), ..self }
    }

    pub(super) const fn closing(self) -> ClosedLoad {
        ClosedLoad { is_closing: true, ..self }
    }

    pub(super) fn url(&self, server: &Server) -> String {
        self.body_bytes.map_or_else(|| server.url.clone(), |bytes| server.url_of_body(bytes))
    }
}

impl fmt::Display for ClosedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} conn.", self.connections)?;
        match (self.http2, self.depth) {
            (true, 1) => f.write_str(" × 1 stream")?,
            (true, depth) => write!(f, " × {depth} streams")?,
            (false, 1) => {}
            (false, depth) => write!(f, " × {depth}")?,
        }
        match self.body_bytes {
            Some(bytes) if bytes >= 1 << 20 => write!(f, ", {} MiB", bytes >> 20)?,
            Some(bytes) => write!(f, ", {} KiB", bytes >> 10)?,
            None => {}
        }
        f.write_str(if self.is_closing { ", one request each" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_names() {
        let check = |load: ClosedLoad, expected: &str| assert_eq!(load.to_string(), expected);
        check(ClosedLoad::of(1), "1 conn.");
        check(ClosedLoad::of(20).pipelined(16), "20 conn. × 16");
        check(ClosedLoad::of(20).streams(100), "20 conn. × 100 streams");
        check(ClosedLoad::of(20).with_body(128 << 10), "20 conn., 128 KiB");
        check(ClosedLoad::of(20).with_body(1 << 20).closing(), "20 conn., 1 MiB, one request each");
    }
}
