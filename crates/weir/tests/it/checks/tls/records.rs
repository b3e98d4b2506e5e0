//! Records of any bytes from a server without a key: results do not depend on the cuts.

use weir_tls::{Certificate, TlsError};

use super::{HELD_BYTES_MAX, client};

/// Position of the session id within the record of a ServerHello, after its length (RFC 8446
/// §4.1.3), and that within the record of a ClientHello.
const SESSION_ID_AT: usize = 44;
const SESSION_ID_BYTES: usize = 32;

/// Results that must not depend on the pieces.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    error: Option<TlsError>,
    plain: Vec<u8>,
    /// Bytes that the client sent.
    sent: usize,
    is_closed: bool,
    certificates: Vec<Certificate>,
}

/// Checks that a client's state is the same after these bytes, whole and in pieces.
pub(super) fn check(bytes: &[u8], piece_bytes: usize) {
    let pieces = received(bytes, piece_bytes);
    let whole = received(bytes, usize::MAX);
    // Of two malformed messages, rustls reports the one that it notices first: that depends on how
    // much had arrived, and so do its alert and what it had understood by then.
    if let (Some(TlsError::Protocol(_)), Some(TlsError::Protocol(_))) =
        (&pieces.error, &whole.error)
    {
        assert_eq!(pieces.is_closed, whole.is_closed);
        return;
    }
    assert_eq!(pieces, whole);
}

fn received(bytes: &[u8], piece_bytes: usize) -> Received {
    let mut client = client();
    let mut out = Vec::new();
    assert!(client.take_output(&mut out), "the ClientHello");
    let mut bytes = bytes.to_vec();
    echo_session_id(&mut bytes, &out[SESSION_ID_AT..][..SESSION_ID_BYTES]);
    let mut error = None;
    let mut plain = Vec::new();
    for piece in bytes.chunks_mut(piece_bytes) {
        let is_over = error.is_some() || client.is_closed();
        let result = client.receive(piece, &mut plain);
        client.take_output(&mut out);
        assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
        assert!(!is_over || result.is_ok(), "an error after the end");
        error = error.or(result.err());
    }
    assert!(client.is_handshaking() && client.negotiated().is_none(), "the server has no key");
    assert_eq!(plain, b"");
    client.close(&mut out);
    // The line that a server without TLS has sent is known as far as it has arrived.
    if let Some(TlsError::NotTls { first_line }) = &mut error {
        *first_line = None;
    }
    let sent = out.len();
    let is_closed = client.is_closed();
    Received { error, plain, sent, is_closed, certificates: client.certificates() }
}

/// Replaces the session id in each ServerHello by the client's, without which a client of TLS 1.3
/// accepts none (RFC 8446 §4.1.3).
fn echo_session_id(mut bytes: &mut [u8], id: &[u8]) {
    while let Some(&[kind, _, _, high, low]) = bytes.first_chunk() {
        let end = 5 + usize::from(u16::from_be_bytes([high, low]));
        let Some((record, rest)) = bytes.split_at_mut_checked(end) else { return };
        let is_hello = (kind, record.get(5)) == (0x16, Some(&2));
        let has_id = record.get(SESSION_ID_AT - 1) == Some(&(SESSION_ID_BYTES as u8));
        if is_hello && has_id && record.len() >= SESSION_ID_AT + SESSION_ID_BYTES {
            record[SESSION_ID_AT..][..SESSION_ID_BYTES].copy_from_slice(id);
        }
        bytes = rest;
    }
}
