//! Whole connections in memory, against the server side of rustls: data in pieces, trust,
//! negotiation, and ends of connections.

mod certificates;
mod server;

mod data;
mod endings;
mod negotiation;
mod trust;
