//! Percent-encoding, and the escapes of JSON.

use std::borrow::Cow;

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

/// Returns a value as it stands within the quotes of a JSON string.
pub(super) fn json_escaped(value: &[u8]) -> Cow<'_, [u8]> {
    let needs_none = |byte: &u8| *byte >= 0x20 && !matches!(byte, b'"' | b'\\') && byte.is_ascii();
    if value.iter().all(needs_none) {
        return Cow::Borrowed(value);
    }
    let quoted = serde_json::Value::from(String::from_utf8_lossy(value)).to_string();
    Cow::Owned(quoted.as_bytes()[1..quoted.len() - 1].to_vec())
}
