//! Bytes from a TLS server, of any kind, and edits of a real server's bytes.

mod handshake;
mod records;

use weir_tls::{Session, TlsConfig, TlsOptions};

/// Most memory that a session may hold, in bytes: the largest handshake message and record that
/// rustls accepts, in a buffer that grows by doubling.
const HELD_BYTES_MAX: usize = 2 * ((64 << 10) + (18 << 10));

/// Feeds a client the bytes of a server. The first byte of an input chooses between bytes of any
/// kind and edits of real ones, the second is the length of the pieces.
pub(crate) fn tls_records(input: &[u8]) {
    let Some((&[kind, piece], bytes)) = input.split_first_chunk() else { return };
    let piece_bytes = if piece == 0 { usize::MAX } else { usize::from(piece) };
    match kind {
        0..0x80 => records::check(bytes, piece_bytes),
        0x80.. => handshake::check(kind & 0x7f, bytes, piece_bytes),
    }
}

/// Returns a client that accepts any certificate.
fn client() -> Session {
    let options = TlsOptions { verify: false, ..TlsOptions::new("localhost") };
    Session::new(&TlsConfig::new(&options).expect("the options are right"))
}
