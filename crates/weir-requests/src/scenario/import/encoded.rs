//! Percent-encoding of recorded texts, undone.

/// Decodes percent-encoding; `None` if a code is none, or the result is not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut pieces = text.split('%');
    let mut decoded = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).filter(|code| code.bytes().all(|it| it.is_ascii_hexdigit()))?;
        decoded.push(u8::from_str_radix(code, 16).ok()?);
        decoded.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(decoded).ok()
}

/// Decodes a name or a value of a urlencoded form; `None` as of [`percent_decoded`].
pub(super) fn form_decoded(text: &str) -> Option<String> {
    percent_decoded(&text.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded() {
        assert_eq!(percent_decoded("a%20b%C3%BC+").as_deref(), Some("a bü+"));
        assert_eq!(form_decoded("a+b%2B").as_deref(), Some("a b+"));
        for text in ["%", "%4", "%zz", "%+1", "%ff", "%ü"] {
            assert_eq!(percent_decoded(text), None, "{text}");
        }
    }
}
