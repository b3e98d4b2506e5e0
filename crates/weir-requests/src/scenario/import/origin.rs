//! Origins of recorded requests: scheme, host and port (RFC 6454 §4).

use std::fmt;

use weir_text::setting::IMPORT_ORIGIN;

/// An origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WebOrigin {
    is_secure: bool,
    /// Host in lower case, and the port unless it is the scheme's.
    authority: String,
}

impl WebOrigin {
    /// True if this is the value of a `Host` field of requests to it.
    pub(super) fn is_of(&self, host: &str) -> bool {
        let host = host.trim().to_lowercase();
        let port = if self.is_secure { ":443" } else { ":80" };
        host.strip_suffix(port).unwrap_or(&host) == self.authority
    }
}

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlParts {
    pub(super) origin: WebOrigin,
    /// `USER:PASS` as written.
    pub(super) user: Option<String>,
    /// Path and query, beginning with `/`.
    pub(super) target: String,
}

impl UrlParts {
    /// Takes a URL of HTTP apart, of which a missing scheme means http; `None` for others.
    pub(super) fn of(url: &str) -> Option<UrlParts> {
        let url = url.trim();
        let is_scheme = |text: &str| text.bytes().all(|it| it.is_ascii_alphanumeric());
        let split = url.split_once("://").filter(|(scheme, _)| is_scheme(scheme));
        let (scheme, rest) = split.unwrap_or(("http", url));
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        // A field behind the host is the begin of a path, if it does not begin with the host.
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let end = rest.find("{{").filter(|at| *at > 0).map_or(end, |at| end.min(at));
        let (authority, path) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let is_host = |c: char| c.is_alphanumeric() || "-._~:[]".contains(c);
        let name = match host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            Some(_) => return None,
            None => host,
        };
        if name.is_empty() || !host.chars().all(is_host) {
            return None;
        }
        let port = if is_secure { ":443" } else { ":80" };
        let host = host.to_lowercase();
        let authority = host.strip_suffix(port).unwrap_or(&host).to_owned();
        let slash = if path.starts_with(['/', '{']) { "" } else { "/" };
        let origin = WebOrigin { is_secure, authority };
        Some(UrlParts { origin, user, target: format!("{slash}{path}") })
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_secure { "https" } else { "http" }, self.authority)
    }
}

/// Returns a URL with an origin in the place of the field that it begins with.
///
/// # Errors
/// If it begins with a field, and there is no origin.
pub(super) fn with_origin(url: &str, origin: Option<&str>) -> Result<String, String> {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let Some((field, rest)) = behind.strip_prefix("{{").and_then(|it| it.split_once("}}")) else {
        return Ok(url.to_owned());
    };
    match origin {
        Some(origin) => {
            let end = if rest.starts_with("{{user.") { Some(0) } else { rest.find(['/', '?']) };
            let rest = end.map_or("", |at| &rest[at..]);
            Ok(format!("{}{rest}", origin.trim_end_matches('/')))
        }
        None => {
            let name = field.strip_prefix("env:").unwrap_or(field);
            Err(format!(
                "it begins with the variable {name}, of which the file has no value: \
                 {IMPORT_ORIGIN} gives its origin"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (url, origin, target) in [
            ("https://Shop.example:443/a?b#c", "https://shop.example", "/a?b"),
            ("http://h:8080", "http://h:8080", "/"),
            ("h/a?b=c://d", "http://h", "/a?b=c://d"),
            ("http://h:1{{user.x}}/a", "http://h:1", "{{user.x}}/a"),
            ("HTTP://me:p@[::1]:80?x", "http://[::1]", "/?x"),
        ] {
            let parts = UrlParts::of(url).expect(url);
            assert_eq!((parts.origin.to_string().as_str(), &*parts.target), (origin, target));
        }
        assert_eq!(UrlParts::of("http://me:p@h/").and_then(|it| it.user).as_deref(), Some("me:p"));
        for url in [
            "data:image/png",
            "blob:https://h/",
            "ws://h/",
            "http:///a",
            "http://:80/",
            "{{host}}/a",
            "",
        ] {
            assert_eq!(UrlParts::of(url), None, "{url}");
        }
    }
}
