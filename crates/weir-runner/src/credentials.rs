//! User names and passwords: their place in a URL, and the headers that carry them (RFC 7617). The
//! `redaction` module removes them from output.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Request headers whose values are credentials, in lower case.
const HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// True if the value of this header is a credential.
pub fn is_header(name: &str) -> bool {
    HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// The header names for which [`is_header`] is true, in lower case.
pub(crate) fn headers() -> impl Iterator<Item = String> {
    HEADERS.into_iter().map(str::to_owned)
}

/// Splits a URL into the URL without its userinfo, and the userinfo as written (RFC 3986 §3.2.1).
pub fn split_userinfo(url: &str) -> (String, Option<&str>) {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((userinfo, host)) => (format!("{scheme}{host}{path}"), Some(userinfo)),
        None => (url.to_owned(), None),
    }
}

/// `USER:PASS` of a URL's userinfo, without percent-encoding; the password may be missing.
pub fn decoded(userinfo: &str) -> String {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    format!("{}:{}", percent_decoded(user), percent_decoded(password))
}

/// The value of an Authorization header for `USER:PASS`.
pub(crate) fn basic(user: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(user))
}

/// Decodes percent-encoding: `%41` becomes `A`. An invalid code stays unchanged.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        for (url, plain, userinfo) in [
            ("http://me:pass@h/x", "http://h/x", Some("me:pass")),
            ("me:pass@h:80/x", "h:80/x", Some("me:pass")),
            ("http://a@b:c@h", "http://h", Some("a@b:c")),
            ("http://@h/", "http://h/", Some("")),
            ("http://h/a@b?c=d@e#@", "http://h/a@b?c=d@e#@", None),
            ("http://h", "http://h", None),
        ] {
            assert_eq!(split_userinfo(url), (plain.to_owned(), userinfo), "{url}");
        }
    }

    #[test]
    fn userinfo_becomes_basic_authentication() {
        for (userinfo, user) in [
            ("me:pass", "me:pass"),
            ("me", "me:"),
            ("m%65:p%3Aa%40", "me:p:a@"),
            ("me:100%", "me:100%"),
            ("me:%zz%4", "me:%zz%4"),
            ("", ":"),
        ] {
            assert_eq!(decoded(userinfo), user, "{userinfo}");
        }
        // The example of RFC 7617 §2.
        assert_eq!(basic("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
