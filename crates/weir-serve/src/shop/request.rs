//! The contents of a request that the shop's response depends on, collected from what the parsers
//! of weir-http return.

use weir_http::h2::server::RequestFields;
use weir_http::server::RequestPart;

/// Largest body that is kept, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request to the shop, as far as it has arrived.
#[derive(Debug, Default)]
pub(crate) struct ShopRequest {
    pub(super) method: Vec<u8>,
    target: Vec<u8>,
    /// The values of all `Cookie` fields, joined as RFC 9113 §8.2.3 says.
    pub(super) cookies: Vec<u8>,
    authorization: Vec<u8>,
    content_type: Vec<u8>,
    /// The body, up to its limit.
    pub(super) body: Vec<u8>,
    pub(super) is_body_too_large: bool,
}

impl ShopRequest {
    /// Takes a part of a head of HTTP/1. Its line begins a new request.
    pub(crate) fn take(&mut self, part: &RequestPart<'_>) {
        match part {
            RequestPart::Line(line) => self.begin(line.method, line.target),
            RequestPart::Field { name, value } => self.take_field(name, value),
            RequestPart::Head(_) => {}
        }
    }

    /// Makes a request of HTTP/2 whose body has not arrived.
    pub(crate) fn of_fields(fields: &RequestFields) -> ShopRequest {
        let mut request = ShopRequest::default();
        request.begin(fields.method(), fields.path());
        fields.fields().for_each(|(name, value)| request.take_field(name, value));
        request
    }

    /// Takes bytes of the body.
    pub(crate) fn take_body(&mut self, bytes: &[u8]) {
        let room = BODY_BYTES_MAX - self.body.len();
        self.is_body_too_large |= bytes.len() > room;
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn begin(&mut self, method: &[u8], target: &[u8]) {
        let ShopRequest { cookies, authorization, content_type, body, .. } = self;
        for buffer in [cookies, authorization, content_type, body] {
            buffer.clear();
        }
        self.is_body_too_large = false;
        method.clone_into(&mut self.method);
        target.clone_into(&mut self.target);
    }

    fn take_field(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"cookie") {
            if !self.cookies.is_empty() {
                self.cookies.extend_from_slice(b"; ");
            }
            self.cookies.extend_from_slice(value);
        } else if name.eq_ignore_ascii_case(b"authorization") {
            value.clone_into(&mut self.authorization);
        } else if name.eq_ignore_ascii_case(b"content-type") {
            value.clone_into(&mut self.content_type);
        }
    }

    /// Returns the path of the target.
    pub(super) fn path(&self) -> &[u8] {
        self.target.split(|&byte| byte == b'?').next().unwrap_or_default()
    }

    /// Returns the query of the target; empty if there is none.
    pub(super) fn query(&self) -> &[u8] {
        self.target.get(self.path().len() + 1..).unwrap_or_default()
    }

    /// Returns the bearer token (RFC 6750 §2.1); `None` if there is none.
    pub(super) fn bearer(&self) -> Option<&str> {
        let (scheme, token) = str::from_utf8(&self.authorization).ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
    }

    /// True if the body is a form by its media type.
    pub(super) fn is_form(&self) -> bool {
        let media_type = self.content_type.split(|&byte| byte == b';').next();
        media_type.is_some_and(|media_type| {
            media_type.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_field(name: &str, value: &str) -> ShopRequest {
        let mut request = ShopRequest::default();
        request.take_field(name.as_bytes(), value.as_bytes());
        request
    }

    #[test]
    fn a_target_is_path_and_query() {
        let check = |target: &str, path: &str, query: &str| {
            let mut request = ShopRequest::default();
            request.begin(b"GET", target.as_bytes());
            assert_eq!((request.path(), request.query()), (path.as_bytes(), query.as_bytes()));
        };
        check("/", "/", "");
        check("/a?b=c?d", "/a", "b=c?d");
        check("/a?", "/a", "");
    }

    #[test]
    fn fields_are_read() {
        let check = |value: &str, expected| {
            assert_eq!(with_field("Authorization", value).bearer(), expected, "{value}");
        };
        check("Bearer abc", Some("abc"));
        check("bearer  abc", Some("abc"));
        check("Basic abc", None);
        check("Bearer", None);
        assert_eq!(ShopRequest::default().bearer(), None);
        let form = "application/x-www-form-urlencoded";
        assert!(with_field("content-type", form).is_form());
        assert!(with_field("Content-Type", &format!("{form} ; charset=utf-8")).is_form());
        assert!(!with_field("Content-Type", "application/json").is_form());
        let mut request = with_field("cookie", "a=b; c=d");
        request.take_field(b"Cookie", b"e=f");
        assert_eq!(request.cookies, b"a=b; c=d; e=f");
    }

    #[test]
    fn a_body_has_a_limit_and_nothing_of_the_request_before() {
        let mut request = with_field("cookie", "a=b");
        request.take_body(&[b'x'; BODY_BYTES_MAX]);
        assert!(!request.is_body_too_large);
        request.take_body(b"y");
        assert_eq!((request.body.len(), request.is_body_too_large), (BODY_BYTES_MAX, true));
        request.begin(b"POST", b"/b");
        assert_eq!((&request.method[..], request.path()), (&b"POST"[..], &b"/b"[..]));
        assert!(request.body.is_empty() && request.cookies.is_empty());
        assert!(!request.is_body_too_large);
    }
}
