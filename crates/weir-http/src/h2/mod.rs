//! HTTP/2 (RFC 9113) without I/O, for both roles. Independent of sockets, TLS and the times at which
//! bytes arrive.

mod fault;
pub mod frame;
pub mod hpack;

pub use fault::ErrorCode;
