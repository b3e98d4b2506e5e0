//! The places of credentials in bodies and messages: members of JSON and elements of XML. The text
//! need not be valid: it may have fields of templates, or several messages one after the other.

use std::ops::Range;

/// Returns the places of the values whose name is a credential's, strings with their quotes. A
/// field of a template is none.
pub(super) fn secret_values(text: &str, is_secret: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['"', '<']) {
        let open = at + next;
        let value = match text.as_bytes()[open] {
            b'"' => member(text, open, &is_secret),
            _ => element(text, open, &is_secret),
        };
        at = match value {
            Ok(value) => {
                let end = value.end;
                let is_field = is_field(text[value.clone()].trim_matches('"'));
                found.extend((!is_field && !value.is_empty()).then_some(value));
                end
            }
            Err(end) => end,
        };
    }
    found
}

/// True for a text that is nothing but a field of a template.
pub(super) fn is_field(text: &str) -> bool {
    text.starts_with("{{") && text.ends_with("}}")
}

/// Returns the value of the member whose name begins at a quote; `Err`: the end of the string, if
/// it is no name of a credential.
fn member(
    text: &str,
    open: usize,
    is_secret: impl Fn(&str) -> bool,
) -> Result<Range<usize>, usize> {
    let close = end_of_string(text, open);
    let name = text[open..close].trim_matches('"');
    let behind = text[close..].trim_start();
    let Some(value) = behind.strip_prefix(':').filter(|_| is_secret(name)) else {
        return Err(close);
    };
    let start = text.len() - value.trim_start().len();
    let end = match text.as_bytes().get(start) {
        Some(b'"') => end_of_string(text, start),
        Some(b'{' | b'[') => end_of_brackets(text, start),
        _ => {
            let is_end = |c: char| ",}]".contains(c) || c.is_whitespace();
            text[start..].find(is_end).map_or(text.len(), |length| start + length)
        }
    };
    let is_nothing = ["null", "true", "false", "\"\""].contains(&&text[start..end]);
    if is_nothing { Err(end) } else { Ok(start..end) }
}

/// Returns the text of the element that begins at an angle bracket; `Err`: where to go on, if it
/// has no name of a credential.
fn element(
    text: &str,
    open: usize,
    is_secret: impl Fn(&str) -> bool,
) -> Result<Range<usize>, usize> {
    let inner = &text[open + 1..];
    let name = inner.split([' ', '\t', '\r', '\n', '>', '/', '<', '"']).next().unwrap_or_default();
    let local = name.rsplit(':').next().unwrap_or_default();
    let Some(end) = inner.find('>').filter(|_| is_secret(local)) else { return Err(open + 1) };
    let start = open + 1 + end + 1;
    Ok(start..text[start..].find('<').map_or(text.len(), |length| start + length))
}

/// Returns the end of the string that begins at a quote, behind its last quote.
fn end_of_string(text: &str, open: usize) -> usize {
    let mut is_escaped = false;
    let quote = text[open + 1..].bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    quote.map_or(text.len(), |at| open + 1 + at + 1)
}

/// Returns the end of the object or array that begins here, behind its last bracket.
fn end_of_brackets(text: &str, open: usize) -> usize {
    let mut at = open;
    let mut depth = 0_usize;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at = end_of_string(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::credentials;

    #[test]
    fn values_of_secret_names_are_found_in_any_text() {
        for (text, expected) in [
            (r#"{"user": "me", "password": "SECRET"}"#, vec![r#""SECRET""#]),
            // Several messages, and a field that is no JSON.
            (r#"{"id":{{seq}},"token":"a"} {"token":"b\"c"}"#, vec![r#""a""#, r#""b\"c""#]),
            (
                r#"{"token": ["x", {"y": "]"}], "api_key": 712, "n": 1}"#,
                vec![r#"["x", {"y": "]"}]"#, "712"],
            ),
            (r#"{"password": "{{csv:pw}}", "token": {{csv:token}}}"#, vec![]),
            (r#"{"token": null, "secret": "", "password": false}"#, vec![]),
            (r#"["password", "SECRET"]"#, vec![]),
            (r#"{"password": "cut"#, vec![r#""cut"#]),
            (r#"{"password":"#, vec![]),
            ("<a><wsse:Password Type=\"x\">SECRET</wsse:Password><b/></a>", vec!["SECRET"]),
            ("<Password/>", vec![]),
            ("1 < 2", vec![]),
            ("", vec![]),
        ] {
            let found = secret_values(text, credentials::is_name);
            let found: Vec<&str> = found.into_iter().map(|place| &text[place]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
