//! WebSocket: the client against a server that is this crate's own, hostile servers, and any bytes.

mod client;
mod corpus;
mod hostile;
