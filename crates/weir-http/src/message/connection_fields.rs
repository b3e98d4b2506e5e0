//! Fields that belong to one HTTP/1 connection or to the framing of its messages.

/// True if a field belongs to one HTTP/1 connection or to the framing of its messages, so that
/// HTTP/2 has no such field (RFC 9113 §8.2.2). `name` is in lower case.
#[inline]
pub fn is_of_connection(name: &[u8], value: &[u8]) -> bool {
    match name.len() {
        2 => name == b"te" && value != b"trailers",
        7 => name == b"upgrade",
        10 => name == b"connection" || name == b"keep-alive",
        16 => name == b"proxy-connection",
        17 => name == b"transfer-encoding",
        _ => false,
    }
}
