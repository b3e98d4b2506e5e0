//! A successful TLS handshake, as the recorder counts it.

use weir_result::{HandshakeKind, TlsParameters};

/// A successful TLS handshake.
#[derive(Clone, Debug)]
pub(crate) struct CompletedHandshake {
    pub(crate) kind: HandshakeKind,
    pub(crate) parameters: TlsParameters,
    /// True if the connection was to resume the session of an earlier handshake.
    pub(crate) is_returning: bool,
}
