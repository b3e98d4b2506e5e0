//! Options of one connection's socket. Independent of the backend that applies them.

use std::net::IpAddr;

/// Options of one connection's socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Local address to connect from. The kernel chooses the port once it has the remote address
    /// (`IP_BIND_ADDRESS_NO_PORT`, ip(7)). `None` leaves both to the kernel. Without effect on Unix
    /// sockets. Without [`Capabilities::sources`](crate::Capabilities::sources) the connect fails
    /// by `EOPNOTSUPP`.
    pub source: Option<IpAddr>,
    /// Kernel time stamps to request on this connection.
    pub stamps: StampRequest,
    /// [`Backend::discard`](crate::Backend::discard) will be called: choose a receive mode that
    /// does not copy discarded bytes. Without effect on a stamped connection, as discarded bytes
    /// have no time stamp.
    pub discard: bool,
}

/// Kernel time stamps requested for the bytes that a connection receives (`rx_at`) and sends
/// (`Transmitted`). If the backend, the kernel or the type of socket does not support them, `rx_at`
/// is `None` and no `Transmitted` event occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampRequest {
    /// No time stamps.
    #[default]
    None,
    /// Every receive, and the first of every [`SAMPLE`](StampRequest::SAMPLE) sends, because
    /// transmit stamps are the expensive ones.
    Sample,
    /// Every receive and every send.
    All,
}

impl StampRequest {
    /// Sampling interval of `Sample`: one send in this many is stamped.
    pub const SAMPLE: u32 = 16;
}
