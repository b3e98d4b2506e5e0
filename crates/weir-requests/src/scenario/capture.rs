//! Values that a step keeps of its response.

use std::fmt;
use std::str::FromStr;

use regex::bytes::Regex;
use weir_http::ReceivedResponse;
use weir_result::MissKind;

use crate::expect::{BodyDecoder, JsonPointer, regex};
use crate::scenario::CookieJar;

/// Greatest length of a captured value, in bytes.
const VALUE_MAX_BYTES: usize = 1 << 20;

/// A value that a step keeps.
#[derive(Clone, Debug)]
pub struct CaptureRule {
    /// Number of the value among those of all scenarios.
    pub value: usize,
    /// Where it stands.
    pub source: ValueSource,
    /// True if it is sent in a head, where control characters cannot stand.
    pub is_in_head: bool,
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
}

impl ValueSource {
    /// True if it reads the body.
    pub fn reads_body(&self) -> bool {
        matches!(self, ValueSource::Json(_) | ValueSource::Body(_))
    }

    fn find(
        &self,
        response: &ReceivedResponse<'_>,
        jar: &CookieJar,
        decoder: &mut BodyDecoder,
    ) -> Result<Option<Vec<u8>>, MissKind> {
        Ok(match self {
            ValueSource::Header(name) => {
                let mut fields = response.fields();
                let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name.as_bytes()));
                found.map(|(_, value)| value.to_vec())
            }
            ValueSource::Cookie(name) => jar.value(name.as_bytes()).map(<[u8]>::to_vec),
            ValueSource::Json(pointer) => {
                pointer.value(body(response, decoder)?).map(String::into_bytes)
            }
            ValueSource::Body(regex) => {
                let groups = regex.captures(body(response, decoder)?);
                let group = groups.and_then(|groups| groups.get(1).or_else(|| groups.get(0)));
                group.map(|found| found.as_bytes().to_vec())
            }
        })
    }
}

/// Returns the decoded body of a response.
fn body<'a>(
    response: &ReceivedResponse<'a>,
    decoder: &'a mut BodyDecoder,
) -> Result<&'a [u8], MissKind> {
    decoder.read(response).map_err(|error| error.miss_kind())?;
    Ok(decoder.decoded(response.body))
}

impl CaptureRule {
    /// Returns the value in a response, whose cookies are in the user's jar already.
    ///
    /// # Errors
    /// If it is not there, cannot be sent where it is used, or the body cannot be read.
    pub fn capture(
        &self,
        response: &ReceivedResponse<'_>,
        jar: &CookieJar,
        decoder: &mut BodyDecoder,
    ) -> Result<Box<[u8]>, MissKind> {
        let value = self.source.find(response, jar, decoder)?.ok_or(MissKind::Capture)?;
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        let is_unfit = self.is_in_head && value.iter().any(is_control);
        match is_unfit || value.len() > VALUE_MAX_BYTES {
            true => Err(MissKind::Capture),
            false => Ok(value.into()),
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
        if let Some(pointer) = text.strip_prefix("json:") {
            let pointer: JsonPointer = pointer.parse().map_err(|error| format!("{error}"))?;
            return Ok(ValueSource::Json(pointer));
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
            "{text:?} is no place of a value: give json:/POINTER, header:NAME, cookie:NAME or \
             body~REGEX"
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::SiteOrigin;

    const HEAD: &[u8] = b"Content-Type: application/json\r\nETag: \"a\"\r\nETag: \"b\"\r\n";

    fn captured(source: &str, body: &str) -> Result<String, MissKind> {
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
        let rule = CaptureRule { value: 0, source, is_in_head: true };
        let value = rule.capture(&response, &jar, &mut BodyDecoder::new(1_000))?;
        Ok(String::from_utf8(value.into()).expect("text"))
    }

    #[test]
    fn values_are_found() {
        let json = r#"{"token": "t\u00fc", "n": 7, "list": [{"id": 1.5}], "no": null}"#;
        for (source, expected) in [
            ("json:/token", "tü"),
            ("json:/n", "7"),
            ("json:/list/0/id", "1.5"),
            ("header:etag", "\"a\""),
            ("cookie:session", "s7"),
            ("body~\"n\": (\\d+)", "7"),
            ("body~\"n\": \\d+", "\"n\": 7"),
        ] {
            assert_eq!(captured(source, json).as_deref(), Ok(expected), "{source}");
        }
        for source in ["json:/x", "json:/no", "json:/list", "header:x", "cookie:x", "body~\"(x)\""]
        {
            assert_eq!(captured(source, json), Err(MissKind::Capture), "{source}");
        }
    }

    #[test]
    fn a_value_that_no_head_can_have_is_missing() {
        assert_eq!(captured("json:/a", r#"{"a": "x\r\ny"}"#), Err(MissKind::Capture));
        assert_eq!(
            captured("json:/a", &format!("{{\"a\": \"{}\"}}", "x".repeat(2_000))),
            Err(MissKind::BodyTooLarge)
        );
    }

    #[test]
    fn other_places_are_errors() {
        for (text, part) in [
            ("token", "is no place of a value: give json:/POINTER"),
            ("json:token", "no JSON pointer"),
            ("header:", "has no name of a header"),
            ("cookie: ", "has no name of a cookie"),
            ("body~(", "is no regular expression"),
        ] {
            let error = text.parse::<ValueSource>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
