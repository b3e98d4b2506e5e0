//! Text from outside in HTML.

use weir_text::{excerpt, printable};

/// Escapes text for an element or for an attribute in double quotes (HTML Living Standard, 13.3).
/// Control characters and marks of direction become `?`, and a long text is cut.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(&excerpt(text)).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes JSON for a script element, which ends at `</script` and has states that begin with
/// `<!--` and `<script` (HTML Living Standard, 4.12.1.3).
pub(super) fn escaped_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let hostile = "<script>\"'&\u{1b}[31m\u{202e}\0";
        assert_eq!(escaped(hostile), "&lt;script&gt;&quot;&#39;&amp;?[31m??");
        assert_eq!(escaped_json("{\"a\":\"</script><!--\"}"), r#"{"a":"\u003c/script>\u003c!--"}"#);
    }
}
