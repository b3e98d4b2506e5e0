//! A request as fields, for protocols that encode it themselves. Parsed from the HTTP/1 form, in
//! which users and scripts write requests. Independent of any wire format but that one.

use std::ops::Range;
use std::sync::Arc;

use crate::message::connection_fields::is_of_connection;
use crate::message::fields::Fields;
use crate::raw::{RawRequestError, split};

/// A request as fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Method, a token (RFC 9110 §9.1).
    pub method: String,
    /// Scheme of the target URI: `http` or `https`.
    pub scheme: String,
    /// Host and port as the `Host` field has them; empty without that field.
    pub authority: Vec<u8>,
    /// Request target: path and query.
    pub target: Vec<u8>,
    /// Names and values in order. Without the fields that belong to one connection or to the
    /// framing of HTTP/1 (RFC 9113 §8.2.2), and without `Host`, which is the authority.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Bytes that contain the body.
    bytes: Arc<[u8]>,
    /// Position of the body in `bytes`.
    body: Range<usize>,
}

impl Request {
    /// Parses the first HTTP/1 request in `bytes`, whose memory its body shares. A chunked body is
    /// decoded, and its trailers are dropped.
    ///
    /// # Errors
    /// If `bytes` do not begin with a complete request.
    pub fn parse(bytes: &Arc<[u8]>, scheme: &str) -> Result<Request, RawRequestError> {
        let parts = split(bytes)?;
        let mut authority = Vec::new();
        let mut fields = Vec::new();
        for (name, value) in Fields::of(&bytes[parts.fields]) {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            match name.as_str() {
                "host" => authority = value.to_vec(),
                name if is_of_connection(name.as_bytes(), value) => {}
                _ => fields.push((name, unfolded(value))),
            }
        }
        let method = String::from_utf8_lossy(&bytes[parts.method]).into_owned();
        let target = bytes[parts.target].to_vec();
        let (bytes, body) = match &parts.body[..] {
            [whole] => (Arc::clone(bytes), whole.clone()),
            pieces => {
                let data: Vec<u8> =
                    pieces.iter().cloned().flat_map(|at| bytes[at].to_vec()).collect();
                let length = data.len();
                (data.into(), 0..length)
            }
        };
        let scheme = scheme.to_owned();
        Ok(Request { method, scheme, authority, target, fields, bytes, body })
    }

    /// Returns the request with another body, and with its length if it states one.
    #[must_use]
    pub fn with_body(mut self, body: Vec<u8>) -> Request {
        for (_, value) in self.fields.iter_mut().filter(|(name, _)| name == "content-length") {
            *value = body.len().to_string().into_bytes();
        }
        Request { body: 0..body.len(), bytes: body.into(), ..self }
    }

    /// Returns the body; empty without one.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }
}

/// Returns a value on one line: a line end becomes a space (RFC 9112 §5.2).
fn unfolded(value: &[u8]) -> Vec<u8> {
    let kept = value.iter().filter(|&&byte| byte != b'\r');
    kept.map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Request {
        Request::parse(&Arc::from(text.as_bytes()), "http").expect("a complete request")
    }

    #[test]
    fn requests_as_fields() {
        let request = parse(
            "\r\nPOST /a?b=c HTTP/1.1\r\nHost: h:80\r\nX-A:  b \r\nConnection: close\r\n\
             TE: trailers\r\nContent-Length: 3\r\nfolded: a\r\n b\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
        );
        assert_eq!((request.method.as_str(), request.scheme.as_str()), ("POST", "http"));
        assert_eq!((&request.authority[..], &request.target[..]), (&b"h:80"[..], &b"/a?b=c"[..]));
        let fields: Vec<_> = request
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), str::from_utf8(value).expect("ASCII")))
            .collect();
        let expected =
            [("x-a", "b"), ("te", "trailers"), ("content-length", "3"), ("folded", "a  b")];
        assert_eq!(fields, expected);
        assert_eq!(request.body(), b"abc");
    }

    #[test]
    fn bodies_share_memory_unless_they_are_decoded() {
        let bytes: Arc<[u8]> = Arc::from(&b"PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"[..]);
        let request = Request::parse(&bytes, "https").expect("complete");
        assert!(std::ptr::eq(request.body().as_ptr(), &raw const bytes[bytes.len() - 2]));
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                       2\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\n\r\n";
        let request = parse(chunked);
        assert_eq!(request.body(), b"abc");
        assert!(request.fields.is_empty(), "{:?}", request.fields);
        assert_eq!(parse("GET /a b HTTP/1.0\n\n").target, b"/a b");
    }

    #[test]
    fn another_body_has_its_length() {
        let request = parse("PUT / HTTP/1.1\r\nA: b\r\nContent-Length: 2\r\n\r\nhi");
        let request = request.with_body(b"hello there".to_vec());
        let fields = [("a", "b"), ("content-length", "11")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        assert_eq!((request.body(), &request.fields[..]), (&b"hello there"[..], &fields[..]));
    }

    #[test]
    fn an_incomplete_request_is_an_error() {
        let error = Request::parse(&Arc::from(&b"GET / HTTP/1.1\r\n"[..]), "http").unwrap_err();
        assert_eq!(error.reason, "incomplete request");
    }
}
