//! Tests of HTTP/2 (RFC 9113) and its header compression (RFC 7541).

mod client;
mod corpus;
mod hostile;
mod hpack;
mod kept;
mod pair;
mod raw;
mod server;
