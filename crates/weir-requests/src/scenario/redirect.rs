//! Redirects: where a response sends its client, and the request that follows (RFC 9110 §15.4).

use weir_http::ReceivedResponse;

use crate::scenario::SiteOrigin;

/// The place to which a response sends its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// Another path of the same origin.
    Here(RedirectHop),
    /// Another origin, which is no part of the load.
    Elsewhere(String),
}

/// A request that follows a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectHop {
    /// Path with the query.
    pub target: Vec<u8>,
    /// True if it is a GET without a body, whatever the method of the first request was.
    pub is_get: bool,
}

impl Redirect {
    /// Returns the redirect of a response to `request`, the bytes of an HTTP/1 request, which
    /// followed the redirect `before` if there was one; `None` if it is none. 303 leads to a GET,
    /// and so do 301 and 302 after a POST, as in all browsers; 307 and 308 keep method and body.
    /// HEAD stays HEAD, and behind a GET all requests are GETs.
    pub fn of(
        response: &ReceivedResponse<'_>,
        request: &[u8],
        before: Option<&RedirectHop>,
        origin: &SiteOrigin,
    ) -> Option<Redirect> {
        let method = request.split(|byte| *byte == b' ').next().unwrap_or_default();
        let becomes_get = match response.status {
            303 => method != b"HEAD" && method != b"GET",
            301 | 302 => method == b"POST",
            307 | 308 => false,
            _ => return None,
        };
        let is_get = becomes_get || before.is_some_and(|before| before.is_get);
        let is_location = |name: &[u8]| name.eq_ignore_ascii_case(b"location");
        let (_, location) = response.fields().find(|(name, _)| is_location(name))?;
        Some(match target_within(location, request, origin) {
            Some(target) => Redirect::Here(RedirectHop { target, is_get }),
            None => {
                let location = without_fragment(location);
                Redirect::Elsewhere(String::from_utf8_lossy(location).into_owned())
            }
        })
    }
}

/// Returns the path, with its query, that a reference in the response to `request`, the bytes of an
/// HTTP/1 request, leads to; `None` if it is of another origin.
pub(super) fn target_within(
    reference: &[u8],
    request: &[u8],
    origin: &SiteOrigin,
) -> Option<Vec<u8>> {
    let location = without_fragment(reference);
    let (is_secure, reference) = match scheme_of(location) {
        None => (Some(origin.is_secure), location),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"http") => (Some(false), rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"https") => (Some(true), rest),
        Some((_, rest)) => (None, rest),
    };
    let target = match (is_secure, reference.strip_prefix(b"//")) {
        (Some(is_secure), Some(rest)) => of_authority(is_secure, rest, origin),
        (Some(_), None) if reference.len() == location.len() => {
            Some(resolved(location, target_of(request)))
        }
        _ => None,
    };
    target.map(sendable)
}

/// Returns a reference without its fragment.
fn without_fragment(reference: &[u8]) -> &[u8] {
    reference.split(|byte| *byte == b'#').next().unwrap_or_default()
}

/// Returns the target of an HTTP/1 request: path and query.
fn target_of(request: &[u8]) -> &[u8] {
    request.split(|byte| *byte == b' ').nth(1).unwrap_or_default()
}

/// Returns the path of an HTTP/1 request, without its query.
pub fn path_of(request: &[u8]) -> &[u8] {
    target_of(request).split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// Splits a URL into its scheme and what follows the colon (RFC 3986 §3.1); `None` if it has no
/// scheme.
fn scheme_of(location: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = location.iter().position(|byte| *byte == b':')?;
    let (scheme, rest) = location.split_at(at);
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_alphabetic);
    (is_scheme && scheme.iter().all(is_of_scheme)).then_some((scheme, &rest[1..]))
}

/// Returns the target behind an authority, `host:port/path`; `None` if it is another origin's.
fn of_authority(is_secure: bool, rest: &[u8], origin: &SiteOrigin) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let authority = std::str::from_utf8(authority).ok()?.to_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority.as_str(), if is_secure { 443 } else { 80 }),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_same = is_secure == origin.is_secure && host == origin.host && port == origin.port;
    is_same.then(|| match target.first() {
        None => b"/".to_vec(),
        Some(b'?') => [b"/", target].concat(),
        Some(_) => target.to_vec(),
    })
}

/// Resolves a relative reference against the target of the request (RFC 3986 §5.3).
fn resolved(reference: &[u8], base: &[u8]) -> Vec<u8> {
    let path = base.split(|byte| *byte == b'?').next().unwrap_or_default();
    match reference.first() {
        None => base.to_vec(),
        Some(b'/') => without_dots(reference),
        Some(b'?') => [path, reference].concat(),
        Some(_) => {
            let last = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            without_dots(&[&path[..last], reference].concat())
        }
    }
}

/// Removes the segments `.` and `..` of a path (RFC 3986 §5.2.4); a query stays.
fn without_dots(target: &[u8]) -> Vec<u8> {
    let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let (path, query) = target.split_at(end);
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut segments = path.split(|byte| *byte == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            b"." if is_last => kept.push(b""),
            b"." => {}
            b".." => {
                kept.pop();
                if is_last {
                    kept.push(b"");
                }
            }
            _ => kept.push(segment),
        }
    }
    let mut clean = Vec::with_capacity(target.len());
    for segment in kept {
        clean.push(b'/');
        clean.extend_from_slice(segment);
    }
    if clean.is_empty() {
        clean.push(b'/');
    }
    clean.extend_from_slice(query);
    clean
}

/// Percent-encodes the bytes that no request line can have.
fn sendable(target: Vec<u8>) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(target.len());
    for byte in target {
        match byte.is_ascii_graphic() {
            true => encoded.push(byte),
            false => encoded.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    encoded
}

impl RedirectHop {
    /// Returns the path without the query.
    pub fn path(&self) -> &[u8] {
        self.target.split(|byte| *byte == b'?').next().unwrap_or_default()
    }

    /// Writes the request that follows `request`, the bytes of an HTTP/1 request without cookies,
    /// in the place of what is in `bytes`. `cookies` is the value of its `Cookie` field, unless the
    /// request has one of its own; empty for none.
    pub fn write(&self, request: &[u8], cookies: &[u8], bytes: &mut Vec<u8>) {
        bytes.clear();
        let end = memchr::memmem::find(request, b"\r\n\r\n").unwrap_or(request.len());
        let (head, body) = request.split_at(end);
        let mut lines = head.split(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let method = first.split(|byte| *byte == b' ').next().unwrap_or_default();
        bytes.extend_from_slice(if self.is_get { b"GET" } else { method });
        bytes.push(b' ');
        bytes.extend_from_slice(&self.target);
        bytes.extend_from_slice(b" HTTP/1.1\r\n");
        let mut has_own_cookies = false;
        for line in lines {
            has_own_cookies |= name_of(line).eq_ignore_ascii_case(b"cookie");
            if !(self.is_get && is_of_content(line)) {
                bytes.extend_from_slice(line.trim_ascii_end());
                bytes.extend_from_slice(b"\r\n");
            }
        }
        if !cookies.is_empty() && !has_own_cookies {
            bytes.extend_from_slice(b"Cookie: ");
            bytes.extend_from_slice(cookies);
            bytes.extend_from_slice(b"\r\n");
        }
        match self.is_get {
            true => bytes.extend_from_slice(b"\r\n"),
            false => bytes.extend_from_slice(body.strip_prefix(b"\r\n").unwrap_or(body)),
        }
    }
}

/// Returns the name of the field in a line of a head.
fn name_of(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b':').next().unwrap_or_default()
}

/// True if a line of a head describes the body, which a GET after a redirect does not have.
fn is_of_content(line: &[u8]) -> bool {
    let name = name_of(line).to_ascii_lowercase();
    name.starts_with(b"content-") || name == b"transfer-encoding" || name == b"expect"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> SiteOrigin {
        SiteOrigin { host: "h".to_owned(), port: 8080, is_secure: false }
    }

    fn redirect(method: &str, status: u16, location: &str) -> Option<Redirect> {
        let head = format!("X: y\r\nLocation: {location}\r\n");
        let response =
            ReceivedResponse { head: head.as_bytes(), ..ReceivedResponse::of_status(status) };
        let request = format!("{method} /a/b?c HTTP/1.1\r\nHost: h:8080\r\n\r\n");
        Redirect::of(&response, request.as_bytes(), None, &origin())
    }

    #[test]
    fn locations_are_resolved() {
        for (location, expected) in [
            ("/x?y=1", "/x?y=1"),
            ("x", "/a/x"),
            ("../x", "/x"),
            ("./", "/a/"),
            ("?z", "/a/b?z"),
            ("", "/a/b?c"),
            ("/x/../../y/.", "/y/"),
            ("/x#part", "/x"),
            ("http://h:8080/x", "/x"),
            ("HTTP://H:8080", "/"),
            ("//h:8080?q", "/?q"),
            ("/ä b", "/%C3%A4%20b"),
            ("/x?next=http://other/", "/x?next=http://other/"),
            ("./a:b", "/a/a:b"),
        ] {
            let hop = RedirectHop { target: expected.as_bytes().to_vec(), is_get: false };
            assert_eq!(redirect("GET", 302, location), Some(Redirect::Here(hop)), "{location}");
        }
        for location in [
            "http://h/x",
            "https://h:8080/x",
            "//other:8080/x",
            "http://x:8080/",
            "ftp://h:8080/x",
            "mailto:x",
            "http:/x",
        ] {
            let elsewhere = Some(Redirect::Elsewhere(location.to_owned()));
            assert_eq!(redirect("GET", 302, location), elsewhere, "{location}");
        }
        let response = ReceivedResponse::of_status(302);
        assert_eq!(Redirect::of(&response, b"GET / HTTP/1.1\r\n\r\n", None, &origin()), None);
    }

    #[test]
    fn methods_change_as_in_browsers() {
        let is_get = |method: &str, status: u16| match redirect(method, status, "/x") {
            Some(Redirect::Here(hop)) => Some(hop.is_get),
            _ => None,
        };
        for (status, of_post, of_put, of_head) in [
            (301, Some(true), Some(false), Some(false)),
            (302, Some(true), Some(false), Some(false)),
            (303, Some(true), Some(true), Some(false)),
            (307, Some(false), Some(false), Some(false)),
            (308, Some(false), Some(false), Some(false)),
            (300, None, None, None),
            (304, None, None, None),
        ] {
            let found = ["POST", "PUT", "HEAD"].map(|method| is_get(method, status));
            assert_eq!(found, [of_post, of_put, of_head], "{status}");
        }
    }

    #[test]
    fn behind_a_get_all_requests_are_gets() {
        let head = b"Location: /x\r\n";
        let request = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
        for was_get in [false, true] {
            let before = RedirectHop { target: b"/a".to_vec(), is_get: was_get };
            let response = ReceivedResponse { head, ..ReceivedResponse::of_status(307) };
            let hop = RedirectHop { target: b"/x".to_vec(), is_get: was_get };
            let redirect = Redirect::of(&response, request, Some(&before), &origin());
            assert_eq!(redirect, Some(Redirect::Here(hop)));
        }
    }

    #[test]
    fn the_next_request_is_the_same_or_a_get() {
        let request = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n\
                        Content-Length: 3\r\nX: y\r\n\r\nabc";
        let mut bytes = Vec::new();
        let hop = |is_get| RedirectHop { target: b"/x".to_vec(), is_get };
        hop(true).write(request, b"a=1", &mut bytes);
        let get = "GET /x HTTP/1.1\r\nHost: h\r\nX: y\r\nCookie: a=1\r\n\r\n";
        assert_eq!(std::str::from_utf8(&bytes), Ok(get));
        let own = b"GET /a HTTP/1.1\r\nHost: h\r\ncookie: own=1\r\n\r\n";
        hop(false).write(own, b"a=1", &mut bytes);
        let get = "GET /x HTTP/1.1\r\nHost: h\r\ncookie: own=1\r\n\r\n";
        assert_eq!(std::str::from_utf8(&bytes), Ok(get));
        hop(false).write(request, b"", &mut bytes);
        let post = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n\
                    Content-Length: 3\r\nX: y\r\n\r\nabc";
        assert_eq!(std::str::from_utf8(&bytes), Ok(post));
    }
}
