//! Optional parts of the [`Backend`](crate::Backend) trait that a backend has or lacks.

/// Optional parts of a backend. A part that is lacking has no effect or returns its default, as its
/// documentation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// [`Backend::listen`](crate::Backend::listen) accepts connections.
    pub listen: bool,
    /// [`SocketOptions::source`](crate::SocketOptions::source) chooses the local address.
    pub sources: bool,
    /// [`SocketOptions::stamps`](crate::SocketOptions::stamps) requests time stamps.
    pub stamps: bool,
    /// [`Backend::tcp`](crate::Backend::tcp) returns the kernel's counters.
    pub tcp: bool,
    /// [`Backend::unsent_bytes`](crate::Backend::unsent_bytes) counts the bytes of failed sends.
    pub unsent_bytes: bool,
    /// [`Backend::usage`](crate::Backend::usage) returns the thread's CPU time.
    pub usage: bool,
}

impl Capabilities {
    /// None of them.
    pub const NONE: Capabilities = Capabilities {
        listen: false,
        sources: false,
        stamps: false,
        tcp: false,
        unsent_bytes: false,
        usage: false,
    };
}
