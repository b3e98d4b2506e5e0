//! Server side of TLS, on rustls: its configuration, the state of one connection, and a backend
//! with TLS on each; or, without the feature `tls`, a configuration that has no values. Independent
//! of sockets, and of HTTP but for the protocols that ALPN offers.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod config;
#[cfg(feature = "tls")]
mod error;
#[cfg(feature = "tls")]
mod identity;
#[cfg(feature = "tls")]
mod secure;
#[cfg(feature = "tls")]
mod session;

#[cfg(not(feature = "tls"))]
pub use absent::TlsConfig;
#[cfg(not(feature = "tls"))]
pub(crate) use absent::{ServerConfig, secure};
#[cfg(feature = "tls")]
pub use config::{TlsConfig, TlsOptions, TlsVersion};
#[cfg(feature = "tls")]
pub use error::TlsConfigError;
#[cfg(feature = "tls")]
pub use identity::Identity;
#[cfg(feature = "tls")]
pub(crate) use rustls::ServerConfig;
#[cfg(feature = "tls")]
pub(crate) use secure::secure;
