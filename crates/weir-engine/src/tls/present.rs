//! Values of weir-tls in the document's terms.

use weir_result::document::Certificate;
use weir_result::{HandshakeKind, TlsParameters};
use weir_tls::Session;

use crate::handshake::CompletedHandshake;

/// Describes the handshake of `session`, which has ended. `is_returning`: the connection was to
/// resume a session.
pub(crate) fn handshake(session: &Session, is_returning: bool) -> CompletedHandshake {
    let kind = match session.handshake_kind().expect("the handshake has ended") {
        weir_tls::HandshakeKind::Full => HandshakeKind::Full,
        weir_tls::HandshakeKind::FullWithHelloRetryRequest => HandshakeKind::HelloRetryRequest,
        weir_tls::HandshakeKind::Resumed => HandshakeKind::Resumed,
    };
    let negotiated = session.negotiated().expect("the handshake has ended");
    let parameters = TlsParameters {
        version: negotiated.version.to_owned(),
        cipher: negotiated.cipher.to_owned(),
        group: negotiated.group.map(str::to_owned),
        alpn: negotiated.alpn.map(|alpn| String::from_utf8_lossy(&alpn).into_owned()),
        handshakes: 1,
    };
    CompletedHandshake { kind, parameters, is_returning }
}

/// Summarizes the server's certificates.
pub(crate) fn certificates(session: &Session) -> Vec<Certificate> {
    let summary = |certificate: weir_tls::Certificate| Certificate {
        subject: certificate.subject,
        issuer: certificate.issuer,
        names: certificate.names,
        not_before: certificate.not_before,
        not_after: certificate.not_after,
        key: certificate.key,
        sha256: certificate.sha256,
    };
    session.certificates().into_iter().map(summary).collect()
}
