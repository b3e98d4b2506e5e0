//! The types of TLS in a server without the feature `tls`. There is no [`TlsConfig`], so that code
//! which has one compiles and is never reached.

use std::sync::Arc;

use weir_io::Backend;

use crate::http_version::HttpVersion;
use crate::stats::Shared;

/// A TLS configuration; this build has none.
#[derive(Clone, Debug)]
pub enum TlsConfig {}

/// A configuration that offers protocols; this build has none either.
#[derive(Debug)]
pub(crate) enum ServerConfig {}

impl TlsConfig {
    pub(crate) fn offering(&self, _: HttpVersion) -> Arc<ServerConfig> {
        match *self {}
    }
}

pub(crate) fn secure<B: Backend>(_: B, config: Arc<ServerConfig>, _: Arc<Shared>, _: usize) -> B {
    match *config {}
}
