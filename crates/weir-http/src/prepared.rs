//! Wire bytes of a request, created once and sent many times. Contains the HTTP/1.1 format of
//! requests (RFC 9112 §3); independent of the time and destination of sends.

use std::sync::Arc;

use crate::error::RequestError;
use crate::message::chunked::{LAST_CHUNK, push_chunk_size};
use crate::message::fields::Fields as FieldLines;
use crate::message::line::{is_token, trim};
use crate::raw::split;
use crate::raw::{RawRequestError, read_requests};
use crate::request::Request;
use crate::request_traits::RequestTraits;

/// A request in wire format. Immutable and shared: a clone is a reference.
#[derive(Clone, Debug)]
pub struct Prepared {
    bytes: Arc<[u8]>,
    traits: RequestTraits,
}

impl Prepared {
    /// Creates an HTTP/1.1 request. `target` is the request target as sent, and `authority` the
    /// host with its port, if it has one. The headers keep their order.
    ///
    /// A `Host` in `headers` replaces `authority`. `Content-Length` is added for a body, unless the
    /// headers already contain it or `Transfer-Encoding: chunked`. In the latter case the body is
    /// sent as one chunk.
    ///
    /// # Errors
    /// If the arguments do not form a valid request.
    pub fn http1(
        method: &str,
        target: &str,
        authority: &str,
        headers: &[(String, String)],
        body: Option<&[u8]>,
    ) -> Result<Prepared, RequestError> {
        let fill = |room: &mut [u8]| room.copy_from_slice(body.unwrap_or_default());
        Prepared::http1_filled(method, target, authority, headers, body.map(<[u8]>::len), fill)
    }

    /// Like [`Prepared::http1`], with a body of `body_bytes` bytes that `fill` writes directly into
    /// the request, so that a long one is never in memory twice.
    ///
    /// # Errors
    /// As [`Prepared::http1`], before `fill` is called.
    pub fn http1_filled(
        method: &str,
        target: &str,
        authority: &str,
        headers: &[(String, String)],
        body_bytes: Option<usize>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Prepared, RequestError> {
        if !is_token(method.as_bytes()) {
            return Err(RequestError::BadMethod(method.to_owned()));
        }
        if method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        if target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RequestError::BadTarget(target.to_owned()));
        }
        if !authority.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RequestError::BadHost(authority.to_owned()));
        }
        let fields = FormFields::check(headers, body_bytes)?;
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(format!("{method} {target} HTTP/1.1\r\n").as_bytes());
        // First, as RFC 9110 §7.2 recommends.
        push_field(&mut bytes, "Host", fields.host.unwrap_or(authority));
        for (name, value) in headers {
            if !name.eq_ignore_ascii_case("host") {
                push_field(&mut bytes, name, value.trim_matches([' ', '\t']));
            }
        }
        match body_bytes {
            Some(length) if !fields.is_framed => {
                push_field(&mut bytes, "Content-Length", &length.to_string());
            }
            // RFC 9110 §8.6: methods that define a meaning for content send a length of 0 without
            // any.
            None if !fields.is_framed && matches!(method, "POST" | "PUT" | "PATCH") => {
                push_field(&mut bytes, "Content-Length", "0");
            }
            _ => {}
        }
        bytes.extend_from_slice(b"\r\n");
        let length = body_bytes.unwrap_or(0);
        let end = push_body_start(&mut bytes, length, fields.is_chunked);
        let traits = RequestTraits { head: method == "HEAD", closes: fields.closes };
        Ok(Prepared { bytes: joined(&bytes, length, fill, end), traits })
    }

    /// Creates a request from the first one in `bytes`, unchanged.
    ///
    /// # Errors
    /// If `bytes` contain anything but complete requests.
    pub fn raw(bytes: &[u8]) -> Result<Prepared, RawRequestError> {
        let mut requests = Vec::new();
        read_requests(bytes, &mut requests)?;
        let first = requests.first().expect("a string without requests is an error");
        let bytes = bytes[..first.bytes as usize].into();
        Ok(Prepared { bytes, traits: first.traits })
    }

    /// Returns the HTTP/1.1 request with another body, and with its length. Fields that belong to
    /// one connection are left out.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn with_body(&self, body: Vec<u8>) -> Result<Prepared, RequestError> {
        let request = self.request("http");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = request.fields().filter(|(name, _)| *name != b"content-length");
        let fields: Vec<(String, String)> =
            fields.map(|(name, value)| (text(name), text(value))).collect();
        let [method, target, authority] =
            [request.method(), request.target(), request.authority()].map(text);
        Prepared::http1(&method, &target, &authority, &fields, Some(&body))
    }

    /// Returns the request with the version HTTP/1.0 (RFC 1945). The server closes the connection
    /// after its response, unless the request has `Connection: keep-alive`.
    ///
    /// # Errors
    /// If its body is chunked.
    ///
    /// # Panics
    /// If it is not an HTTP/1.1 request.
    pub fn http10(&self) -> Result<Prepared, RequestError> {
        let parts = split(&self.bytes).expect("it was validated when it was made");
        let mut is_chunked = false;
        let mut is_kept = false;
        for (name, value) in FieldLines::of(&self.bytes[parts.fields]) {
            is_chunked |= name.eq_ignore_ascii_case(b"transfer-encoding");
            is_kept |= name.eq_ignore_ascii_case(b"connection")
                && value.eq_ignore_ascii_case(b"keep-alive");
        }
        if is_chunked {
            return Err(RequestError::ChunkedInHttp10);
        }
        let mut bytes: Arc<[u8]> = Arc::from(&self.bytes[..]);
        let version = parts.target.end + 1;
        let version = &mut Arc::get_mut(&mut bytes).expect("it is not shared yet")[version..][..8];
        assert_eq!(version, b"HTTP/1.1");
        version[7] = b'0';
        let traits = RequestTraits { closes: self.traits.closes || !is_kept, ..self.traits };
        Ok(Prepared { bytes, traits })
    }

    /// Returns the bytes, from the request line to the end of the body.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns the request as fields, for protocols other than HTTP/1. The body is not copied,
    /// unless it is chunked.
    pub fn request(&self, scheme: &'static str) -> Request {
        Request::parse_shared(&self.bytes, scheme).expect("it was validated when it was made")
    }

    /// Returns the properties that affect parsing of its response.
    pub fn traits(&self) -> RequestTraits {
        self.traits
    }
}

/// Fields of the user's headers that affect the form of the request.
#[derive(Default)]
struct FormFields<'a> {
    host: Option<&'a str>,
    closes: bool,
    /// True if they determine the end of the body.
    is_framed: bool,
    is_chunked: bool,
}

impl<'a> FormFields<'a> {
    fn check(
        headers: &'a [(String, String)],
        body_bytes: Option<usize>,
    ) -> Result<FormFields<'a>, RequestError> {
        let mut fields = FormFields::default();
        for (name, value) in headers {
            if !is_token(name.as_bytes()) {
                return Err(RequestError::BadHeaderName(name.clone()));
            }
            if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
                return Err(RequestError::BadHeaderValue(name.clone()));
            }
            let value = value.trim_matches([' ', '\t']);
            match name.to_ascii_lowercase().as_str() {
                "host" if fields.host.is_some() => {
                    return Err(RequestError::RepeatedHeader(name.clone()));
                }
                "host" => fields.host = Some(value),
                "connection" => fields.closes |= names_close(value),
                "content-length" => fields.content_length(name, value, body_bytes.unwrap_or(0))?,
                "transfer-encoding" => fields.transfer_encoding(value)?,
                _ => {}
            }
        }
        Ok(fields)
    }

    /// Checks a given length: one that differs from the body's would shift all later requests.
    fn content_length(
        &mut self,
        name: &str,
        value: &str,
        body_bytes: usize,
    ) -> Result<(), RequestError> {
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || value.parse() != Ok(body_bytes) {
            return Err(RequestError::WrongContentLength { given: value.to_owned(), body_bytes });
        }
        if self.is_chunked {
            return Err(RequestError::BadTransferEncoding("chunked".to_owned()));
        }
        if self.is_framed {
            return Err(RequestError::RepeatedHeader(name.to_owned()));
        }
        self.is_framed = true;
        Ok(())
    }

    /// Checks a given coding. RFC 9112 §6.1: the last coding of a request is chunked; §6.2: without
    /// a length beside it.
    fn transfer_encoding(&mut self, value: &str) -> Result<(), RequestError> {
        if self.is_framed || !value.eq_ignore_ascii_case("chunked") {
            return Err(RequestError::BadTransferEncoding(value.to_owned()));
        }
        (self.is_framed, self.is_chunked) = (true, true);
        Ok(())
    }
}

fn names_close(value: &str) -> bool {
    value.split(',').any(|option| trim(option.as_bytes()).eq_ignore_ascii_case(b"close"))
}

fn push_field(bytes: &mut Vec<u8>, name: &str, value: &str) {
    bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
}

/// Appends the bytes before the body; returns the bytes after it (RFC 9112 §7.1).
fn push_body_start(bytes: &mut Vec<u8>, length: usize, is_chunked: bool) -> &'static [u8] {
    match (is_chunked, length) {
        (false, _) => b"",
        (true, 0) => LAST_CHUNK,
        (true, _) => {
            push_chunk_size(bytes, length as u64);
            b"\r\n0\r\n\r\n"
        }
    }
}

/// Joins the parts of a request in one allocation.
fn joined(head: &[u8], length: usize, fill: impl FnOnce(&mut [u8]), end: &[u8]) -> Arc<[u8]> {
    let total = head.len() + length + end.len();
    let mut joined: Arc<[u8]> = std::iter::repeat_n(0, total).collect();
    let room = Arc::get_mut(&mut joined).expect("it is not shared yet");
    let (start, rest) = room.split_at_mut(head.len());
    start.copy_from_slice(head);
    let (body, rest) = rest.split_at_mut(length);
    fill(body);
    rest.copy_from_slice(end);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<(String, RequestTraits), RequestError> {
        let headers: Vec<_> =
            headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let body = body.map(str::as_bytes);
        let prepared = Prepared::http1(method, target, "h:8080", &headers, body)?;
        Ok((String::from_utf8(prepared.bytes().to_vec()).unwrap(), prepared.traits()))
    }

    #[test]
    fn http10_closes_without_keep_alive() {
        let check = |headers: &[(&str, &str)], closes| {
            let headers: Vec<_> =
                headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            let request = Prepared::http1("GET", "/HTTP/1.1", "h", &headers, None).unwrap();
            let older = request.http10().unwrap();
            let text = String::from_utf8(older.bytes().to_vec()).unwrap();
            assert!(text.starts_with("GET /HTTP/1.1 HTTP/1.0\r\nHost: h\r\n"), "{text}");
            assert_eq!(older.bytes().len(), request.bytes().len());
            assert_eq!(older.traits().closes, closes, "{text}");
        };
        check(&[], true);
        check(&[("Connection", "close")], true);
        check(&[("connection", "Keep-Alive")], false);
        let chunked = [("Transfer-Encoding".to_owned(), "chunked".to_owned())];
        let request = Prepared::http1("POST", "/", "h", &chunked, Some(b"a")).unwrap();
        assert!(matches!(request.http10(), Err(RequestError::ChunkedInHttp10)));
    }

    #[test]
    fn requests_on_the_wire() {
        let check = |method, headers: &[_], body, expected: &str| {
            let (bytes, _) = prepare(method, "/a?b=c", headers, body).unwrap();
            assert_eq!(bytes, expected);
        };
        check("GET", &[], None, "GET /a?b=c HTTP/1.1\r\nHost: h:8080\r\n\r\n");
        check(
            "GET",
            &[("X", " 1\t"), ("hOst", "other"), ("y", "ü")],
            None,
            "GET /a?b=c HTTP/1.1\r\nHost: other\r\nX: 1\r\ny: ü\r\n\r\n",
        );
        check(
            "POST",
            &[],
            Some("abc"),
            "POST /a?b=c HTTP/1.1\r\nHost: h:8080\r\nContent-Length: 3\r\n\r\nabc",
        );
        check("PUT", &[], None, "PUT /a?b=c HTTP/1.1\r\nHost: h:8080\r\nContent-Length: 0\r\n\r\n");
        check(
            "POST",
            &[("content-length", "3")],
            Some("abc"),
            "POST /a?b=c HTTP/1.1\r\nHost: h:8080\r\ncontent-length: 3\r\n\r\nabc",
        );
        check(
            "POST",
            &[("Transfer-Encoding", "Chunked")],
            Some("0123456789abcdefg"),
            "POST /a?b=c HTTP/1.1\r\nHost: h:8080\r\nTransfer-Encoding: Chunked\r\n\r\n\
             11\r\n0123456789abcdefg\r\n0\r\n\r\n",
        );
        check(
            "POST",
            &[("Transfer-Encoding", "chunked")],
            None,
            "POST /a?b=c HTTP/1.1\r\nHost: h:8080\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        );
    }

    #[test]
    fn traits_of_requests() {
        let check = |method, headers: &[_], head, closes| {
            let (_, traits) = prepare(method, "/", headers, None).unwrap();
            assert_eq!(traits, RequestTraits { head, closes });
        };
        check("GET", &[], false, false);
        check("HEAD", &[], true, false);
        check("head", &[], false, false);
        check("GET", &[("connection", "keep-alive")], false, false);
        check("GET", &[("connection", "x, CLOSE")], false, true);
        check("HEAD", &[("CONNECTION", "x"), ("Connection", "close")], true, true);
    }

    #[test]
    fn requests_that_cannot_be_sent() {
        let check = |method, target, headers: &[_], body, expected| {
            assert_eq!(prepare(method, target, headers, body).unwrap_err(), expected);
        };
        let text = str::to_owned;
        check("G T", "/", &[], None, RequestError::BadMethod(text("G T")));
        check("", "/", &[], None, RequestError::BadMethod(text("")));
        check("CONNECT", "h:1", &[], None, RequestError::Connect);
        for bad in ["", "/ ", "/a b", "/\r\nX: y", "/ü"] {
            check("GET", bad, &[], None, RequestError::BadTarget(text(bad)));
        }
        check("GET", "/", &[("a b", "c")], None, RequestError::BadHeaderName(text("a b")));
        for bad in ["b\r\nc: d", "b\0", "b\n"] {
            check("GET", "/", &[("a", bad)], None, RequestError::BadHeaderValue(text("a")));
        }
        let twice = [("Host", "a"), ("host", "b")];
        check("GET", "/", &twice, None, RequestError::RepeatedHeader(text("host")));
        for (given, body) in [("4", Some("abc")), ("+3", Some("abc")), ("1", None), ("", None)] {
            let body_bytes = body.map_or(0, str::len);
            let wrong = RequestError::WrongContentLength { given: text(given), body_bytes };
            check("POST", "/", &[("Content-Length", given)], body, wrong);
        }
        let coded = [("Transfer-Encoding", "gzip")];
        check("POST", "/", &coded, None, RequestError::BadTransferEncoding(text("gzip")));
        let both = [("Content-Length", "0"), ("Transfer-Encoding", "chunked")];
        check("POST", "/", &both, None, RequestError::BadTransferEncoding(text("chunked")));
        let both = [("Transfer-Encoding", "chunked"), ("Content-Length", "0")];
        check("POST", "/", &both, None, RequestError::BadTransferEncoding(text("chunked")));
        let host = Prepared::http1("GET", "/", "a b", &[], None).unwrap_err();
        assert_eq!(host, RequestError::BadHost(text("a b")));
    }
}
