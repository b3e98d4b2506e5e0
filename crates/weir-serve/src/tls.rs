//! Server side of TLS, on rustls: its configuration, and the state of one connection. Independent
//! of sockets, and of HTTP but for the protocols that ALPN offers.

mod config;
mod error;
mod identity;
mod session;

pub use config::{TlsConfig, TlsOptions, TlsVersion};
pub use error::TlsConfigError;
pub use identity::Identity;
pub(crate) use session::{Received, Session, TlsFailure};
