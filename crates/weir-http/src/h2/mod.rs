//! HTTP/2 (RFC 9113) without I/O: [`H2Client`] and [`server::H2Server`], and what both share.
//! Independent of sockets, TLS and the times at which bytes arrive.

mod cancelled;
mod fault;
mod fields;
pub mod frame;
pub mod hpack;
mod link;
mod options;
mod stream_table;
mod windows;

mod client;
pub mod server;

pub use client::H2Client;
pub use fault::ErrorCode;
pub use options::H2Options;
