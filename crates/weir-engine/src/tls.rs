//! The types of weir-tls, or types without values in an engine without the feature `tls`.

#[cfg(not(feature = "tls"))]
mod absent;

#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Session, TlsConfig, TlsError};
#[cfg(feature = "tls")]
pub(crate) use weir_tls::{Session, TlsConfig, TlsError};
