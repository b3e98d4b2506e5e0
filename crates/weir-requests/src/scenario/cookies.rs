//! The cookies of one user, as RFC 6265 has them. All requests of a run go to one host, so a jar
//! has no domains: a cookie of another one is not stored.
//!
//! The time is an argument: nanoseconds since 1970-01-01 UTC.

use crate::scenario::{SiteOrigin, cookie_date};

/// Greatest number of cookies of a user. RFC 6265 §6.1 asks for 50, browsers keep 180.
const COOKIES_MAX: usize = 180;

/// Greatest length of name and value together, in bytes (RFC 6265 §6.1).
const COOKIE_MAX_BYTES: usize = 4_096;

const SECOND_NS: u64 = 1_000_000_000;

/// The cookies of one user, in the order in which they were first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CookieJar(Vec<StoredCookie>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredCookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    path: Box<[u8]>,
    /// Time from which it is not sent; [`u64::MAX`] for a cookie of the session.
    expires_at_ns: u64,
    is_secure: bool,
}

impl CookieJar {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all cookies.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Stores the cookie of a `Set-Cookie` field in the response to a request with this path, or
    /// removes it if its time is over (RFC 6265 §5.3). A field that is none, or of another domain,
    /// is ignored, as the RFC says.
    pub fn store(&mut self, field: &[u8], path: &[u8], origin: &SiteOrigin, now_ns: u64) {
        let Some(parsed) = ParsedCookie::parse(field) else { return };
        let is_foreign = !parsed.domain.is_empty() && !covers(parsed.domain, &origin.host);
        if is_foreign || parsed.name.len() + parsed.value.len() > COOKIE_MAX_BYTES {
            return;
        }
        let path = match parsed.path {
            [b'/', ..] => parsed.path,
            _ => default_path(path),
        };
        let expires_at_ns = parsed.expires_at_ns(now_ns);
        let is_same = |cookie: &StoredCookie| *cookie.name == *parsed.name && *cookie.path == *path;
        let place = self.0.iter().position(is_same);
        if expires_at_ns <= now_ns {
            if let Some(place) = place {
                self.0.remove(place);
            }
            return;
        }
        let cookie = StoredCookie {
            name: parsed.name.into(),
            value: parsed.value.into(),
            path: path.into(),
            expires_at_ns,
            is_secure: parsed.is_secure,
        };
        match place {
            // It keeps its time of creation, and so its place.
            Some(place) => self.0[place] = cookie,
            None => {
                if self.0.len() == COOKIES_MAX {
                    self.0.remove(0);
                }
                self.0.push(cookie);
            }
        }
    }

    /// Appends the value of the `Cookie` field of a request with this path (RFC 6265 §5.4): longer
    /// paths first, then earlier cookies. Appends nothing if no cookie is sent.
    pub fn write(&self, path: &[u8], is_secure: bool, now_ns: u64, bytes: &mut Vec<u8>) {
        let is_sent = |cookie: &&StoredCookie| {
            now_ns < cookie.expires_at_ns
                && (is_secure || !cookie.is_secure)
                && path_matches(path, &cookie.path)
        };
        let from = bytes.len();
        let mut shorter_than = usize::MAX;
        // A jar has few different lengths of paths.
        loop {
            let sent = self.0.iter().filter(is_sent);
            let lengths = sent.clone().map(|cookie| cookie.path.len());
            let Some(length) = lengths.filter(|length| *length < shorter_than).max() else {
                return;
            };
            for cookie in sent.filter(|cookie| cookie.path.len() == length) {
                if bytes.len() > from {
                    bytes.extend_from_slice(b"; ");
                }
                bytes.extend_from_slice(&cookie.name);
                bytes.push(b'=');
                bytes.extend_from_slice(&cookie.value);
            }
            shorter_than = length;
        }
    }

    /// Returns the value of the cookie with this name that was set first.
    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.0.iter().find(|cookie| *cookie.name == *name).map(|cookie| &*cookie.value)
    }
}

/// A `Set-Cookie` field, taken apart (RFC 6265 §5.2).
#[derive(Debug)]
struct ParsedCookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    /// Without a leading dot; empty if it has none.
    domain: &'a [u8],
    path: &'a [u8],
    /// Seconds; at most 0 removes the cookie.
    max_age_s: Option<i64>,
    /// Seconds since 1970-01-01 UTC.
    expires_s: Option<i64>,
    is_secure: bool,
}

impl<'a> ParsedCookie<'a> {
    /// Takes a field apart; `None` if it has no name.
    fn parse(field: &'a [u8]) -> Option<ParsedCookie<'a>> {
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = pair(parts.next()?)?;
        let mut cookie = ParsedCookie {
            name: Some(name).filter(|name| !name.is_empty())?,
            value,
            domain: b"",
            path: b"",
            max_age_s: None,
            expires_s: None,
            is_secure: false,
        };
        for part in parts {
            let (name, value) = pair(part).unwrap_or((part.trim_ascii(), b""));
            if name.eq_ignore_ascii_case(b"domain") {
                cookie.domain = value.strip_prefix(b".").unwrap_or(value);
            } else if name.eq_ignore_ascii_case(b"path") {
                cookie.path = value;
            } else if name.eq_ignore_ascii_case(b"max-age") {
                cookie.max_age_s = seconds(value).or(cookie.max_age_s);
            } else if name.eq_ignore_ascii_case(b"expires") {
                cookie.expires_s = cookie_date::parse(value).or(cookie.expires_s);
            } else if name.eq_ignore_ascii_case(b"secure") {
                cookie.is_secure = true;
            }
        }
        Some(cookie)
    }

    /// Returns the time from which the cookie is not sent, set at `now_ns`; of one that it
    /// removes, a time that is over.
    fn expires_at_ns(&self, now_ns: u64) -> u64 {
        let after =
            |seconds: u64, from_ns: u64| from_ns.saturating_add(seconds.saturating_mul(SECOND_NS));
        match (self.max_age_s, self.expires_s) {
            (Some(age_s), _) => u64::try_from(age_s).map_or(0, |age_s| after(age_s, now_ns)),
            (None, Some(at_s)) => u64::try_from(at_s).map_or(0, |at_s| after(at_s, 0)),
            (None, None) => u64::MAX,
        }
    }
}

/// Returns the parts before and behind the first equals sign, without blanks around them.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == b'=')?;
    Some((text[..at].trim_ascii(), text[at + 1..].trim_ascii()))
}

/// Returns the number of a `Max-Age` attribute (RFC 6265 §5.2.2); `None` if it is none.
fn seconds(value: &[u8]) -> Option<i64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let limit = if digits.len() < value.len() { i64::MIN } else { i64::MAX };
    Some(std::str::from_utf8(value).ok()?.parse().unwrap_or(limit))
}

/// True if a cookie of this domain is for this host (RFC 6265 §5.1.3).
fn covers(domain: &[u8], host: &str) -> bool {
    let host = host.as_bytes();
    if domain.eq_ignore_ascii_case(host) {
        return true;
    }
    let is_address =
        host.contains(&b':') || host.iter().all(|it| it.is_ascii_digit() || *it == b'.');
    let Some(at) = host.len().checked_sub(domain.len() + 1) else { return false };
    !is_address && host[at] == b'.' && host[at + 1..].eq_ignore_ascii_case(domain)
}

/// Returns the path of cookies that name none, set in the response to a request with this path (RFC
/// 6265 §5.1.4).
fn default_path(path: &[u8]) -> &[u8] {
    let last = path.iter().rposition(|byte| *byte == b'/');
    match last {
        Some(last) if last > 0 && path[0] == b'/' => &path[..last],
        _ => b"/",
    }
}

/// True if a request with this path gets cookies of that one (RFC 6265 §5.1.4).
fn path_matches(path: &[u8], of_cookie: &[u8]) -> bool {
    path.strip_prefix(of_cookie)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || of_cookie.last() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 1_700_000_000 * SECOND_NS;

    fn origin(is_secure: bool) -> SiteOrigin {
        SiteOrigin { host: "shop.example".to_owned(), port: 80, is_secure }
    }

    /// Returns what a request to a path sends after these fields were set, each by a response to
    /// the path before it.
    fn sent(fields: &[(&str, &str)], path: &str, later_s: u64) -> String {
        let mut jar = CookieJar::default();
        for (from, field) in fields {
            jar.store(field.as_bytes(), from.as_bytes(), &origin(false), NOW_NS);
        }
        let mut bytes = Vec::new();
        jar.write(path.as_bytes(), false, NOW_NS + later_s * SECOND_NS, &mut bytes);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn cookies_go_to_their_paths() {
        for (field, from, path, expected) in [
            ("a=1", "/", "/", "a=1"),
            ("a=1", "/x/y", "/x", "a=1"),
            ("a=1", "/x/y", "/x/z/t", "a=1"),
            ("a=1", "/x/y", "/xy", ""),
            ("a=1", "/x/y", "/", ""),
            ("a=1; Path=/shop", "/", "/shop", "a=1"),
            ("a=1; path=/shop/", "/", "/shop", ""),
            ("a=1; path=/shop/", "/", "/shop/cart", "a=1"),
            ("a=1; Path=shop", "/b/c", "/b", "a=1"),
            (" a = 1 2 ;Path=/", "/", "/x", "a=1 2"),
            ("a=\"1\"; HttpOnly", "/", "/", "a=\"1\""),
            ("a=", "/", "/", "a="),
            ("=1", "/", "/", ""),
            ("a", "/", "/", ""),
            ("a=1; Domain=shop.example", "/", "/", "a=1"),
            ("a=1; Domain=.Example", "/", "/", "a=1"),
            ("a=1; Domain=hop.example", "/", "/", ""),
            ("a=1; Domain=other.example", "/", "/", ""),
            ("a=1; Domain=", "/", "/", "a=1"),
            ("a=1; Secure", "/", "/", ""),
        ] {
            assert_eq!(sent(&[(from, field)], path, 0), expected, "{field} from {from} to {path}");
        }
    }

    #[test]
    fn longer_paths_come_first_then_earlier_cookies() {
        let fields = [("/", "a=1"), ("/", "b=2; Path=/x"), ("/", "c=3"), ("/", "d=4; Path=/x/y")];
        assert_eq!(sent(&fields, "/x/y", 0), "d=4; b=2; a=1; c=3");
        // A new value keeps the place; the same name with another path is another cookie.
        let fields = [("/", "a=1"), ("/", "b=2"), ("/", "a=3"), ("/", "a=4; Path=/x")];
        assert_eq!(sent(&fields, "/x", 0), "a=4; a=3; b=2");
    }

    #[test]
    fn cookies_end() {
        for (field, later_s, expected) in [
            ("a=1; Max-Age=10", 9, "a=1"),
            ("a=1; Max-Age=10", 10, ""),
            ("a=1; Max-Age=0", 0, ""),
            ("a=1; Max-Age=-1", 0, ""),
            ("a=1; Max-Age=99999999999999999999", 1_000_000, "a=1"),
            ("a=1; Max-Age=x", 1_000_000, "a=1"),
            ("a=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT", 9, "a=1"),
            ("a=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT", 10, ""),
            ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0, ""),
            ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", 4, "a=1"),
            ("a=1; Expires=never", 1_000_000, "a=1"),
        ] {
            assert_eq!(sent(&[("/", field)], "/", later_s), expected, "{field} after {later_s} s");
        }
        let removed = [("/", "a=1"), ("/", "b=2"), ("/", "a=; Max-Age=0")];
        assert_eq!(sent(&removed, "/", 0), "b=2");
    }

    #[test]
    fn secure_cookies_need_tls_and_addresses_have_no_domains() {
        let mut jar = CookieJar::default();
        jar.store(b"a=1; Secure", b"/", &origin(true), NOW_NS);
        let address = SiteOrigin { host: "10.0.0.1".to_owned(), port: 80, is_secure: false };
        jar.store(b"b=2; Domain=0.0.1", b"/", &address, NOW_NS);
        jar.store(b"c=3; Domain=10.0.0.1", b"/", &address, NOW_NS);
        let mut bytes = Vec::new();
        jar.write(b"/", true, NOW_NS, &mut bytes);
        assert_eq!(bytes, b"a=1; c=3");
        assert_eq!((jar.value(b"c"), jar.value(b"b")), (Some(&b"3"[..]), None));
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut jar = CookieJar::default();
        for number in 0..COOKIES_MAX + 5 {
            jar.store(format!("c{number}=1").as_bytes(), b"/", &origin(false), NOW_NS);
        }
        jar.store(format!("long={}", "x".repeat(5_000)).as_bytes(), b"/", &origin(false), NOW_NS);
        assert_eq!(jar.0.len(), COOKIES_MAX);
        assert_eq!((jar.value(b"c4"), jar.value(b"c5")), (None, Some(&b"1"[..])));
        jar.clear();
        assert!(jar.is_empty());
    }
}
