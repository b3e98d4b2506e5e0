//! Percent-encoding.

/// Returns bytes with all but unreserved characters percent-encoded (RFC 3986 §2.3), as
/// `--data-urlencode` does.
pub fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Encodes a value of a urlencoded form, where a blank is a plus sign (WHATWG URL §5.2).
pub fn form_encoded(bytes: &[u8]) -> String {
    percent_encoded(bytes).replace("%20", "+")
}
