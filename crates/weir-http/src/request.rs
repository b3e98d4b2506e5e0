//! A request as fields, for protocols that encode it themselves. Parsed from the HTTP/1 form, in
//! which users and scripts write requests. Independent of any wire format but that one.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use crate::message::connection_fields::is_of_connection;
use crate::message::fields::Fields;
use crate::raw::{BodyPieces, RawRequestError, split};

/// Fields for which a request has room before it grows.
const FIELDS_USUAL: usize = 8;

/// A request as fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    scheme: &'static str,
    /// Method, target, authority, and the names and values of fields. One memory for all, since a
    /// load may make a request for each slot.
    text: Vec<u8>,
    method: Range<usize>,
    target: Range<usize>,
    authority: Range<usize>,
    fields: Vec<FieldPlace>,
    /// Bytes that contain the body.
    bytes: Arc<[u8]>,
    /// Position of the body in `bytes`.
    body: Range<usize>,
}

/// Positions of a field in the text of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldPlace {
    name: Range<usize>,
    value: Range<usize>,
}

impl Request {
    /// Parses the first HTTP/1 request in `bytes`, whose body is copied. A chunked one is decoded,
    /// and its trailers are dropped.
    ///
    /// # Errors
    /// If `bytes` do not begin with a complete request.
    pub fn parse(bytes: &[u8], scheme: &'static str) -> Result<Request, RawRequestError> {
        let (request, BodyPieces { first, rest }) = Request::parse_head(bytes, scheme)?;
        let body: Arc<[u8]> = match rest.is_empty() {
            true if first.is_empty() => Arc::default(),
            true => bytes[first].into(),
            false => {
                let pieces: Vec<&[u8]> =
                    iter::once(first).chain(rest).map(|piece| &bytes[piece]).collect();
                pieces.concat().into()
            }
        };
        Ok(Request { body: 0..body.len(), bytes: body, ..request })
    }

    /// As [`Request::parse`], but shares the memory of the body, unless it is chunked.
    ///
    /// # Errors
    /// If `bytes` do not begin with a complete request.
    pub fn parse_shared(
        bytes: &Arc<[u8]>,
        scheme: &'static str,
    ) -> Result<Request, RawRequestError> {
        let (request, BodyPieces { first, rest }) = Request::parse_head(bytes, scheme)?;
        match rest.is_empty() {
            true => Ok(Request { bytes: Arc::clone(bytes), body: first, ..request }),
            false => Request::parse(bytes, scheme),
        }
    }

    /// Parses a request but for its body. Returns also where that is.
    fn parse_head(
        bytes: &[u8],
        scheme: &'static str,
    ) -> Result<(Request, BodyPieces), RawRequestError> {
        let parts = split(bytes)?;
        let mut text = Vec::with_capacity(parts.fields.end);
        let method = push(&mut text, &bytes[parts.method]);
        let target = push(&mut text, &bytes[parts.target]);
        let mut authority = 0..0;
        let mut fields = Vec::with_capacity(FIELDS_USUAL);
        for (name, value) in Fields::of(&bytes[parts.fields]) {
            let name = push(&mut text, name);
            text[name.clone()].make_ascii_lowercase();
            match &text[name.clone()] {
                b"host" => authority = push(&mut text, value),
                of_one if is_of_connection(of_one, value) => {}
                _ => fields.push(FieldPlace { name, value: push_unfolded(&mut text, value) }),
            }
        }
        let bytes = Arc::default();
        let body = 0..0;
        let request = Request { scheme, text, method, target, authority, fields, bytes, body };
        Ok((request, parts.body))
    }

    /// Returns the method, a token (RFC 9110 §9.1).
    pub fn method(&self) -> &[u8] {
        &self.text[self.method.clone()]
    }

    /// Returns the scheme of the target URI: `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Returns host and port as the `Host` field has them; empty without that field.
    pub fn authority(&self) -> &[u8] {
        &self.text[self.authority.clone()]
    }

    /// Returns the request target: path and query.
    pub fn target(&self) -> &[u8] {
        &self.text[self.target.clone()]
    }

    /// Returns names, in lower case, and values in order. Without the fields that belong to one
    /// connection or to the framing of HTTP/1 (RFC 9113 §8.2.2), and without `Host`, which is the
    /// authority.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let text = &self.text;
        self.fields
            .iter()
            .map(|FieldPlace { name, value }| (&text[name.clone()], &text[value.clone()]))
    }

    /// Returns the request with another body, and with its length if it states one.
    #[must_use]
    pub fn with_body(mut self, body: Vec<u8>) -> Request {
        let text = &mut self.text;
        for FieldPlace { name, value } in &mut self.fields {
            if &text[name.clone()] == b"content-length" {
                *value = push(text, body.len().to_string().as_bytes());
            }
        }
        Request { body: 0..body.len(), bytes: body.into(), ..self }
    }

    /// Returns the body; empty without one.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }
}

/// Appends bytes to a text, and returns their position.
fn push(text: &mut Vec<u8>, bytes: &[u8]) -> Range<usize> {
    let begin = text.len();
    text.extend_from_slice(bytes);
    begin..text.len()
}

/// Appends a value on one line: a line end becomes a space (RFC 9112 §5.2).
fn push_unfolded(text: &mut Vec<u8>, value: &[u8]) -> Range<usize> {
    if memchr(b'\n', value).is_none() {
        return push(text, value);
    }
    let begin = text.len();
    let kept = value.iter().filter(|&&byte| byte != b'\r');
    text.extend(kept.map(|&byte| if byte == b'\n' { b' ' } else { byte }));
    begin..text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Request {
        Request::parse(text.as_bytes(), "http").expect("a complete request")
    }

    #[test]
    fn requests_as_fields() {
        let request = parse(
            "\r\nPOST /a?b=c HTTP/1.1\r\nHost: h:80\r\nX-A:  b \r\nConnection: close\r\n\
             TE: trailers\r\nContent-Length: 3\r\nfolded: a\r\n b\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
        );
        assert_eq!((request.method(), request.scheme()), (&b"POST"[..], "http"));
        assert_eq!((request.authority(), request.target()), (&b"h:80"[..], &b"/a?b=c"[..]));
        let text = |bytes| str::from_utf8(bytes).expect("ASCII");
        let fields: Vec<_> =
            request.fields().map(|(name, value)| (text(name), text(value))).collect();
        let expected =
            [("x-a", "b"), ("te", "trailers"), ("content-length", "3"), ("folded", "a  b")];
        assert_eq!(fields, expected);
        assert_eq!(request.body(), b"abc");
    }

    #[test]
    fn bodies_share_memory_unless_they_are_decoded() {
        let bytes: Arc<[u8]> = Arc::from(&b"PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"[..]);
        let request = Request::parse_shared(&bytes, "https").expect("complete");
        assert!(std::ptr::eq(request.body().as_ptr(), &raw const bytes[bytes.len() - 2]));
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                       2\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\n\r\n";
        let request =
            Request::parse_shared(&Arc::from(chunked.as_bytes()), "http").expect("complete");
        assert_eq!(request, parse(chunked));
        assert_eq!(request.body(), b"abc");
        assert_eq!(request.fields().count(), 0, "{request:?}");
        assert_eq!(parse("GET /a b HTTP/1.0\n\n").target(), b"/a b");
    }

    #[test]
    fn another_body_has_its_length() {
        let request = parse("PUT / HTTP/1.1\r\nA: b\r\nContent-Length: 2\r\n\r\nhi");
        let request = request.with_body(b"hello there".to_vec());
        let expected: [(&[u8], &[u8]); 2] = [(b"a", b"b"), (b"content-length", b"11")];
        assert!(request.fields().eq(expected), "{request:?}");
        assert_eq!(request.body(), b"hello there");
    }

    #[test]
    fn an_incomplete_request_is_an_error() {
        let error = Request::parse(b"GET / HTTP/1.1\r\n", "http").unwrap_err();
        assert_eq!(error.reason, "incomplete request");
    }
}
