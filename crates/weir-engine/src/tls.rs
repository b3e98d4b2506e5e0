//! The types of weir-tls, or types without values in an engine without the feature `tls`.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod present;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Session, TlsConfig, TlsError, certificates, handshake};
#[cfg(feature = "tls")]
pub(crate) use present::{certificates, handshake};
#[cfg(feature = "tls")]
pub(crate) use weir_tls::{Session, TlsConfig, TlsError};
