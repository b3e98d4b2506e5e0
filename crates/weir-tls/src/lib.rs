//! Client side of TLS without I/O: received bytes and plaintext in, plaintext and records out.
//!
//! This crate never opens a socket, starts a thread or waits. rustls alone reads a clock, for the
//! dates of certificates. Files are read only when a configuration is created. Its interface has no
//! type of rustls, so that another TLS library can replace rustls; only the feature `seeded` for
//! simulations has.

#![forbid(unsafe_code)]

mod config;
mod config_error;
mod session;

mod any_certificate;
mod cipher;
mod identity;
mod roots;
#[cfg(feature = "seeded")]
mod seeded;
mod version;

mod certificate;
mod der;
mod error;
mod given_certificates;

pub use certificate::Certificate;
pub use config::{TlsConfig, TlsOptions};
pub use config_error::TlsConfigError;
pub use error::TlsError;
pub use identity::{ClientIdentity, IdentityError};
pub use rustls::HandshakeKind;
#[cfg(feature = "seeded")]
pub use seeded::SeededRandom;
pub use session::{Negotiated, Session};
pub use version::TlsVersion;
