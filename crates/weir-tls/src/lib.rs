//! The client side of TLS as values: received bytes and plaintext in, plaintext and records out.
//!
//! This crate never opens a socket, starts a thread or waits, and the only clock read is rustls's
//! own, for the dates of certificates. Files are read when a configuration is made, never later.
//! No type of rustls is in its interface: another stack may take its place.

#![forbid(unsafe_code)]

mod config;
mod session;

mod any_certificate;
mod roots;

mod error;
mod given_certificates;

pub use config::{TlsConfig, TlsConfigError, TlsOptions};
pub use error::TlsError;
pub use session::{Negotiated, Session};
