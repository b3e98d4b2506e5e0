//! Values in responses that later requests may send, each with its place.

use regex::bytes::Regex;

use crate::scenario::ValueSource;
use crate::scenario::import::html::{self, PageValue};
use crate::scenario::import::json_text::{JsonLeaf, JsonNode};
use crate::scenario::import::recorded::RecordedResponse;
use crate::scenario::import::template_text::identifier;

/// Header fields of responses whose values are no state of a user.
const COMMON_HEADERS: [&str; 22] = [
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-security-policy",
    "content-type",
    "date",
    "expires",
    "keep-alive",
    "last-modified",
    "location",
    "pragma",
    "server",
    "transfer-encoding",
    "vary",
    "via",
];

/// Least length of a value that is looked for, in bytes.
const VALUE_MIN_BYTES: usize = 8;

/// Least length of a value that may be one.
const SHORT_MIN_BYTES: usize = 4;

/// A value of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundValue {
    /// The value.
    pub(super) text: String,
    /// Name for a capture of it.
    pub(super) name: String,
    /// Its place, as scenario files have it.
    pub(super) source: String,
}

/// True if a value is long and varied enough to be recognised: equal ones are no accident.
pub(super) fn is_distinct(text: &str) -> bool {
    let has = |is_kind: fn(&char) -> bool| u8::from(text.chars().any(|c| is_kind(&c)));
    let letters = has(|c| c.is_alphabetic());
    let digits = has(|c| c.is_numeric());
    let others = has(|c| !c.is_alphanumeric());
    text.len() >= VALUE_MIN_BYTES && letters + digits + others >= 2
}

/// True if a value is too short or too plain to be recognised by itself, and may be an id.
pub(super) fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    has_digit && text.chars().all(is_word) && !is_distinct(text)
}

/// True for a plain value that hardly comes twice by accident.
pub(super) fn is_short(text: &str) -> bool {
    text.len() >= SHORT_MIN_BYTES && is_plain(text)
}

/// Returns the plain values of a response of JSON, and in the hidden fields of a page: each with a
/// pointer.
pub(super) fn plain_values(response: &RecordedResponse) -> Vec<(String, FoundValue)> {
    let Some(node) = JsonNode::parse(&response.body) else {
        let is_page = response.media_type.contains("html");
        let page = if is_page { html::values(&response.body) } else { Vec::new() };
        let value = |PageValue { name, value, expression }: PageValue| {
            let source = format!("body~{expression}");
            (format!("/{name}"), FoundValue { name: value_name(&name), source, text: value })
        };
        return page.into_iter().filter(|it| is_plain(&it.value)).map(value).collect();
    };
    let leaves = node.strings().into_iter().chain(node.numbers());
    let value = |JsonLeaf { pointer, name, value, .. }: JsonLeaf| {
        let source = format!("json:{pointer}");
        (pointer, FoundValue { name: value_name(&name), source, text: value })
    };
    leaves.filter(|leaf| is_plain(&leaf.value)).map(value).collect()
}

/// Returns the values of a response that may be paths or URLs: its `Location`, and the strings of
/// JSON outside of lists, of which users choose.
pub(super) fn references(response: &RecordedResponse) -> Vec<FoundValue> {
    let location = |(name, value): &(String, String)| {
        let name = name.eq_ignore_ascii_case("location").then_some("location")?;
        Some(FoundValue {
            text: value.clone(),
            name: name.to_owned(),
            source: "header:Location".to_owned(),
        })
    };
    let mut found: Vec<FoundValue> = response.headers.iter().filter_map(location).collect();
    let node = JsonNode::parse(&response.body);
    for JsonLeaf { pointer, name, value, .. } in node.iter().flat_map(JsonNode::strings) {
        let is_choice = pointer.split('/').any(|token| token.parse::<u32>().is_ok());
        let is_reference = value.starts_with('/') || value.contains("://");
        if is_reference && !is_choice {
            let source = format!("json:{pointer}");
            found.push(FoundValue { text: value, name: value_name(&name), source });
        }
    }
    found
}

/// Returns the parts of a response's `Location` that have digits and are ids or the like.
pub(super) fn location_parts(response: &RecordedResponse) -> impl Iterator<Item = &str> {
    let is_location = |name: &str| name.eq_ignore_ascii_case("location");
    let values = response.headers.iter().filter(move |(name, _)| is_location(name));
    let parts = values.flat_map(|(_, value)| value.split(['/', '?', '&', '=', '#', ':']));
    parts.filter(|part| is_short(part) || is_distinct(part) && part.contains(char::is_numeric))
}

/// Returns the distinct values of a response, each place once.
pub(super) fn values(response: &RecordedResponse) -> Vec<FoundValue> {
    let mut found: Vec<FoundValue> = Vec::new();
    let mut add = |text: &str, name: &str, source: String| {
        if is_distinct(text) {
            found.push(FoundValue { text: text.to_owned(), name: value_name(name), source });
        }
    };
    for (name, value) in &response.headers {
        let is_common = |known: &str| name.eq_ignore_ascii_case(known);
        if !COMMON_HEADERS.iter().any(|known| is_common(known)) {
            add(value, name, format!("header:{name}"));
        }
    }
    for (name, value) in &response.cookies {
        add(value, name, format!("cookie:{name}"));
    }
    if let Some(node) = JsonNode::parse(&response.body) {
        for string in node.strings() {
            add(&string.value, &string.name, format!("json:{}", string.pointer));
        }
    } else if response.media_type.contains("html") {
        for value in html::values(&response.body) {
            add(&value.value, &value.name, format!("body~{}", value.expression));
        }
    }
    found.sort_by(|a, b| (&a.text, &a.source).cmp(&(&b.text, &b.source)));
    found.dedup();
    found
}

/// Returns the name of a capture for the value of a field.
fn value_name(field: &str) -> String {
    let field = field.strip_prefix("X-").or(field.strip_prefix("x-")).unwrap_or(field);
    let is_header = field.contains('-') || !field.contains(char::is_lowercase);
    let name = identifier(field);
    match (name.is_empty(), is_header) {
        (true, _) => "value".to_owned(),
        (false, true) => name.to_ascii_lowercase(),
        (false, false) => name,
    }
}

/// True if weir takes the value from this response.
pub(super) fn is_captured(found: &FoundValue, response: &RecordedResponse) -> bool {
    let Ok(source) = found.source.parse::<ValueSource>() else { return false };
    let value = match &source {
        ValueSource::Json(pointer) => pointer.value(response.body.as_bytes()),
        ValueSource::Body(regex) => first_group(regex, &response.body),
        ValueSource::Header(name) => {
            let mut fields = response.headers.iter();
            let first = fields.find(|(own, _)| own.eq_ignore_ascii_case(name));
            first.map(|(_, value)| value.clone())
        }
        ValueSource::Cookie(name) => {
            let last = response.cookies.iter().rfind(|(own, _)| own == name);
            last.map(|(_, value)| value.clone())
        }
        // No recording is searched for pieces of a stream.
        ValueSource::Stream(_) => None,
    };
    value.as_deref() == Some(&found.text)
}

fn first_group(regex: &Regex, body: &str) -> Option<String> {
    let group = regex.captures(body.as_bytes())?.get(1)?;
    Some(String::from_utf8_lossy(group.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_distinct_if_they_are_long_and_varied() {
        for (text, expected) in [
            ("abc12345", true),
            ("two words", true),
            ("abcdefghijk", false),
            ("1234567890", false),
            ("a1b2c3", false),
            ("", false),
        ] {
            assert_eq!(is_distinct(text), expected, "{text}");
        }
    }

    #[test]
    fn each_kind_of_place_is_found_and_read_again() {
        let response = RecordedResponse {
            headers: vec![
                ("X-CSRF-Token".to_owned(), "h-123456".to_owned()),
                ("Date".to_owned(), "Sun, 29 Nov 2026 18:00:00 GMT".to_owned()),
            ],
            cookies: vec![("session".to_owned(), "c-123456".to_owned())],
            body: r#"{"data": [{"id": "j-123456", "name": "ab"}]}"#.to_owned(),
            ..RecordedResponse::default()
        };
        let found = values(&response);
        let shown: Vec<_> = found.iter().map(|it| (&*it.name, &*it.source)).collect();
        assert_eq!(
            shown,
            [
                ("session", "cookie:session"),
                ("csrf_token", "header:X-CSRF-Token"),
                ("id", "json:/data/0/id"),
            ]
        );
        assert!(found.iter().all(|value| is_captured(value, &response)));
        let page =
            "<meta name='a' content='m-1234567'><input type='hidden' name='f' value='f-1234567'>";
        let response = RecordedResponse {
            body: page.to_owned(),
            media_type: "text/html".to_owned(),
            ..RecordedResponse::default()
        };
        let found = values(&response);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|value| is_captured(value, &response)));
    }
}
