//! Values of weir-tls in the document's terms.

use weir_result::document::Certificate;
use weir_result::{HandshakeKind, TlsParameters};
use weir_tls::Session;

/// Describes the handshake of `session`, which has ended.
pub(crate) fn handshake(session: &Session) -> (HandshakeKind, TlsParameters) {
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
    (kind, parameters)
}

/// Summarizes the server's certificates.
pub(crate) fn certificates(session: &Session) -> Vec<Certificate> {
    let summary = |certificate| {
        let weir_tls::Certificate { subject, issuer, names, not_before, not_after, key, sha256 } =
            certificate;
        Certificate { subject, issuer, names, not_before, not_after, key, sha256 }
    };
    session.certificates().into_iter().map(summary).collect()
}
