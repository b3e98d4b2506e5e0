//! Whole connections in memory, against the server side of rustls: data in pieces, trust,
//! negotiation, the client's own certificate, and ends of connections.

mod certificates;
mod server;

mod data;
mod endings;
mod identities;
mod negotiation;
mod trust;
