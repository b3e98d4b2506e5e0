//! Values that a step keeps of its response.

use std::fmt;
use std::str::FromStr;

use regex::bytes::Regex;
use weir_http::ReceivedResponse;
use weir_http::sse::EventSplitter;
use weir_result::MissKind;

use crate::expect::{BodyDecoder, JsonPointer, plain_text, regex};
use crate::scenario::redirect::target_within;
use crate::scenario::{CookieJar, SiteOrigin};

/// Greatest length of a captured value, in bytes.
const VALUE_MAX_BYTES: usize = 1 << 20;

/// A value that a step keeps.
#[derive(Clone, Debug)]
pub struct CaptureRule {
    /// Number of the value among those of all scenarios.
    pub value: usize,
    /// Where it stands.
    pub source: ValueSource,
    /// Where it is sent.
    pub sent_in: SentIn,
}

/// The part of requests in which a captured value is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SentIn {
    /// Where every text can be escaped.
    #[default]
    Escaped,
    /// In a header field, where control characters cannot stand.
    Header,
    /// Behind the first `/` of URLs: it is a path or a URL, resolved against that of the response.
    Url,
}

/// The request whose response has a value.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest<'a> {
    /// Its bytes as HTTP/1, the first line at least.
    pub line: &'a [u8],
    /// The origin of the load.
    pub origin: &'a SiteOrigin,
}

/// The reason for which a value is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// Nothing stands at its place.
    Absent,
    /// It is empty.
    Empty,
    /// It is `null`.
    Null,
    /// It is an array or an object.
    Compound,
    /// The body is no JSON.
    NotJson,
    /// It is too long.
    TooLong,
    /// It has a control character, and is sent in a header field.
    Control,
    /// It begins a URL, and is one of another origin.
    Elsewhere,
    /// The body cannot be read, for a reason of its own kind.
    Unread(MissKind),
}

/// Where a captured value stands.
#[derive(Clone, Debug)]
pub enum ValueSource {
    /// `json:/pointer`: a string, a number or a boolean of the decoded body (RFC 6901).
    Json(JsonPointer),
    /// `header:NAME`: value of the first header field with this name.
    Header(String),
    /// `cookie:NAME`: value of the user's cookie with this name, after the response.
    Cookie(String),
    /// `body~REGEX`: first group of the first match in the decoded body, or the match if there is
    /// no group.
    Body(Regex),
    /// `stream:json:/pointer`: the values there of all events of an event stream, joined. Events
    /// without one are passed over.
    Stream(JsonPointer),
}

impl ValueSource {
    /// Returns where the value of a capture with this name stands.
    ///
    /// # Errors
    /// If the name or the place is none.
    pub(super) fn named(name: &str, source: &str) -> Result<ValueSource, String> {
        let is_name = |one: char| one.is_alphanumeric() || one == '_' || one == '-';
        match !name.is_empty() && name.chars().all(is_name) {
            true => source.parse(),
            false => Err("a name has letters, digits, _ and -".to_owned()),
        }
    }

    /// True if it reads the body.
    pub fn reads_body(&self) -> bool {
        matches!(self, ValueSource::Json(_) | ValueSource::Body(_) | ValueSource::Stream(_))
    }

    /// Returns the value in a response, whose cookies are in the user's jar already.
    ///
    /// # Errors
    /// If it is not there, is too long, or the body cannot be read.
    pub fn value(
        &self,
        response: &ReceivedResponse<'_>,
        jar: &CookieJar,
        decoder: &mut BodyDecoder,
    ) -> Result<Vec<u8>, NoValue> {
        let value = self.find(response, jar, decoder)?.ok_or(NoValue::Absent)?;
        if value.len() > VALUE_MAX_BYTES { Err(NoValue::TooLong) } else { Ok(value) }
    }

    fn find(
        &self,
        response: &ReceivedResponse<'_>,
        jar: &CookieJar,
        decoder: &mut BodyDecoder,
    ) -> Result<Option<Vec<u8>>, NoValue> {
        Ok(match self {
            ValueSource::Header(name) => {
                let mut fields = response.fields();
                let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name.as_bytes()));
                found.map(|(_, value)| value.to_vec())
            }
            ValueSource::Cookie(name) => jar.value(name.as_bytes()).map(<[u8]>::to_vec),
            ValueSource::Json(pointer) => {
                let raw = pointer.raw(body(response, decoder)?).map_err(|_| NoValue::NotJson)?;
                let Some(raw) = raw else { return Ok(None) };
                let text = plain_text(raw);
                let why = if raw == "null" { NoValue::Null } else { NoValue::Compound };
                Some(text.ok_or(why)?.into_bytes())
            }
            ValueSource::Body(regex) => {
                let groups = regex.captures(body(response, decoder)?);
                let place = usize::from(regex.captures_len() > 1);
                let found = groups.and_then(|groups| groups.get(place));
                found.map(|found| found.as_bytes().to_vec())
            }
            ValueSource::Stream(pointer) => joined(pointer, body(response, decoder)?),
        })
    }
}

/// Returns the values at a place in the events of a stream, joined; `None` if no event has one, or
/// one is longer than what is read of it.
fn joined(pointer: &JsonPointer, stream: &[u8]) -> Option<Vec<u8>> {
    let mut text: Option<Vec<u8>> = None;
    let mut is_whole = true;
    EventSplitter::new().receive(stream, |event| {
        is_whole &= event.data.len() as u64 == event.data_bytes;
        if let Some(piece) = pointer.value(event.data) {
            text.get_or_insert_default().extend_from_slice(piece.as_bytes());
        }
    });
    text.filter(|_| is_whole)
}

/// Returns the decoded body of a response.
fn body<'a>(
    response: &ReceivedResponse<'a>,
    decoder: &'a mut BodyDecoder,
) -> Result<&'a [u8], NoValue> {
    decoder.read(response).map_err(|error| NoValue::Unread(error.miss_kind()))?;
    Ok(decoder.decoded(response.body))
}

impl NoValue {
    /// Returns the kind of the miss.
    pub fn kind(self) -> MissKind {
        match self {
            NoValue::Unread(kind) => kind,
            _ => MissKind::Capture,
        }
    }
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoValue::Absent => "nothing there",
            NoValue::Empty => "an empty value",
            NoValue::Null => "null",
            NoValue::Compound => "an array or an object",
            NoValue::NotJson => "no JSON",
            NoValue::TooLong => "more than 1 MiB",
            NoValue::Control => "a control character, which no header field can have",
            NoValue::Elsewhere => "a URL of another origin",
            NoValue::Unread(MissKind::BodyTooLarge) => "a body that is too long to be read",
            NoValue::Unread(_) => "a body that cannot be decoded",
        })
    }
}

impl CaptureRule {
    /// Returns the value in a response, whose cookies are in the user's jar already.
    ///
    /// # Errors
    /// If it is not there or empty, cannot be sent where it is used, or the body cannot be read.
    pub fn capture(
        &self,
        request: AnsweredRequest<'_>,
        response: &ReceivedResponse<'_>,
        jar: &CookieJar,
        decoder: &mut BodyDecoder,
    ) -> Result<Box<[u8]>, NoValue> {
        let value = self.source.value(response, jar, decoder)?;
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        match (&value[..], self.sent_in) {
            ([], _) => Err(NoValue::Empty),
            (_, SentIn::Escaped) => Ok(value.into()),
            (text, _) if text.iter().any(is_control) => Err(NoValue::Control),
            (_, SentIn::Header) => Ok(value.into()),
            (text, SentIn::Url) => {
                let target = target_within(text, request.line, request.origin);
                Ok(target.ok_or(NoValue::Elsewhere)?[1..].into())
            }
        }
    }
}

impl FromStr for ValueSource {
    type Err = String;

    fn from_str(text: &str) -> Result<ValueSource, String> {
        let text = text.trim();
        let named = |name: &str, what: &str| match name.trim() {
            "" => Err(format!("{text:?} has no name of a {what}")),
            name => Ok(name.to_owned()),
        };
        let pointer = |text: &str| text.parse::<JsonPointer>().map_err(|error| format!("{error}"));
        if let Some(text) = text.strip_prefix("json:") {
            return pointer(text).map(ValueSource::Json);
        }
        if let Some(text) = text.strip_prefix("stream:json:") {
            return pointer(text).map(ValueSource::Stream);
        }
        if let Some(name) = text.strip_prefix("header:") {
            return named(name, "header").map(ValueSource::Header);
        }
        if let Some(name) = text.strip_prefix("cookie:") {
            return named(name, "cookie").map(ValueSource::Cookie);
        }
        if let Some(expression) = text.strip_prefix("body~") {
            return regex(expression).map(ValueSource::Body).map_err(|error| error.to_string());
        }
        Err(format!(
            "{text:?} is no place of a value: give json:/POINTER, header:NAME, cookie:NAME, \
             body~REGEX or stream:json:/POINTER"
        ))
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueSource::Json(pointer) => write!(f, "json:{pointer}"),
            ValueSource::Header(name) => write!(f, "header:{name}"),
            ValueSource::Cookie(name) => write!(f, "cookie:{name}"),
            ValueSource::Body(regex) => write!(f, "body~{regex}"),
            ValueSource::Stream(pointer) => write!(f, "stream:json:{pointer}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captures a value of a response, for this part of requests.
    fn captured_for(source: &str, body: &str, sent_in: SentIn) -> Result<String, NoValue> {
        let response = ReceivedResponse {
            head: HEAD,
            body: body.as_bytes(),
            ..ReceivedResponse::of_status(200)
        };
        let mut jar = CookieJar::default();
        let origin = SiteOrigin { host: "h".to_owned(), port: 80, is_secure: false };
        jar.store(b"session=s7; Path=/", b"/", &origin, 0);
        let source: ValueSource = source.parse().expect(source);
        assert_eq!(
            source.to_string().parse::<ValueSource>().map(|it| it.to_string()),
            Ok(source.to_string())
        );
        let rule = CaptureRule { value: 0, source, sent_in };
        let request = AnsweredRequest { line: b"GET /a/b?c HTTP/1.1", origin: &origin };
        let value = rule.capture(request, &response, &jar, &mut BodyDecoder::new(1_000))?;
        Ok(String::from_utf8(value.into()).expect("text"))
    }

    const HEAD: &[u8] = b"Content-Type: application/json\r\nETag: \"a\"\r\nETag: \"b\"\r\n";

    fn captured(source: &str, body: &str) -> Result<String, NoValue> {
        captured_for(source, body, SentIn::Header)
    }

    #[test]
    fn values_are_found() {
        let json = r#"{"token": "t\u00fc", "n": 7, "list": [{"id": 1.50}], "no": null, "empty": "",
            "long": 12345678901234567890123}"#;
        for (source, expected) in [
            ("json:/token", "tü"),
            ("json:/n", "7"),
            ("json:/list/0/id", "1.50"),
            ("json:/long", "12345678901234567890123"),
            ("header:etag", "\"a\""),
            ("cookie:session", "s7"),
            ("body~\"n\": (\\d+)", "7"),
            ("body~\"n\": \\d+", "\"n\": 7"),
        ] {
            assert_eq!(captured(source, json).as_deref(), Ok(expected), "{source}");
        }
        for (source, why) in [
            ("json:/x", NoValue::Absent),
            ("json:/no", NoValue::Null),
            ("json:/list", NoValue::Compound),
            ("json:/empty", NoValue::Empty),
            ("header:x", NoValue::Absent),
            ("cookie:x", NoValue::Absent),
            ("body~\"(x)\"", NoValue::Absent),
            ("body~(x)?\"n\"", NoValue::Absent),
            ("body~\"empty\": \"(.*)\",", NoValue::Empty),
        ] {
            assert_eq!(captured(source, json), Err(why), "{source}");
            assert_eq!(why.kind(), MissKind::Capture);
        }
        assert_eq!(captured("json:/x", "<html>"), Err(NoValue::NotJson));
    }

    #[test]
    fn the_pieces_of_a_stream_are_joined() {
        let stream = "data: {\"d\": {\"role\": \"assistant\"}}\n\n\
                      data: {\"d\": {\"text\": \"\"}}\n\n\
                      event: x\r\ndata: {\"d\": {\"text\": \"Hé \"}}\r\n\r\n: note\n\n\
                      data: {\"d\":\ndata: {\"text\": \"\\\"y\\\"\"}}\n\ndata: [DONE]\n\n";
        let read = |body: &str| captured("stream:json:/d/text", body);
        assert_eq!(read(stream).as_deref(), Ok("Hé \"y\""));
        assert_eq!(read("data: {\"d\": {\"text\": \"\"}}\n\n"), Err(NoValue::Empty));
        assert_eq!(read("data: {\"d\": 1}\n\n"), Err(NoValue::Absent));
        assert_eq!(read("{\"d\": {\"text\": \"x\"}}"), Err(NoValue::Absent));
        // An event that is longer than what is read of it would leave a gap.
        let long = format!("data: {{\"d\": {{\"text\": \"{}\"}}}}\n\n", "x".repeat(70_000));
        let source: ValueSource = "stream:json:/d/text".parse().expect("a place");
        let body = format!("{stream}{long}");
        let response =
            ReceivedResponse { body: body.as_bytes(), ..ReceivedResponse::of_status(200) };
        let jar = CookieJar::default();
        let value = source.value(&response, &jar, &mut BodyDecoder::new(1 << 20));
        assert_eq!(value, Err(NoValue::Absent));
    }

    #[test]
    fn a_value_that_no_header_can_have_is_missing() {
        assert_eq!(captured("json:/a", r#"{"a": "x\r\ny"}"#), Err(NoValue::Control));
        assert_eq!(
            captured("json:/a", &format!("{{\"a\": \"{}\"}}", "x".repeat(2_000))),
            Err(NoValue::Unread(MissKind::BodyTooLarge))
        );
    }

    #[test]
    fn a_value_that_begins_a_url_is_a_path_of_the_origin() {
        for (value, expected) in [
            ("/orders/17?x=1#part", Ok("orders/17?x=1")),
            ("17", Ok("a/17")),
            ("http://H/orders/17", Ok("orders/17")),
            ("https://h/orders/17", Err(NoValue::Elsewhere)),
            ("//other/17", Err(NoValue::Elsewhere)),
        ] {
            let body = format!("{{\"next\": \"{value}\"}}");
            let found = captured_for("json:/next", &body, SentIn::Url);
            assert_eq!(found.as_deref(), expected.as_deref(), "{value}");
        }
    }

    #[test]
    fn other_places_are_errors() {
        for (text, part) in [
            ("token", "is no place of a value: give json:/POINTER"),
            ("json:token", "no JSON pointer"),
            ("stream:json:token", "no JSON pointer"),
            ("header:", "has no name of a header"),
            ("cookie: ", "has no name of a cookie"),
            ("body~(", "is no regular expression"),
        ] {
            let error = text.parse::<ValueSource>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
