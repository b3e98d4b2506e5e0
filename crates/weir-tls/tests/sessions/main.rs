//! Whole connections in memory, against the server side of rustls: what arrives in which pieces,
//! whom to trust, what is agreed on, and how connections end.

mod certificates;
mod server;

mod data;
mod endings;
mod negotiation;
mod trust;
