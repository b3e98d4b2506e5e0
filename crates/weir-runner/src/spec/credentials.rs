//! Credentials: user names and passwords, their place in a URL and the headers that carry them
//! (RFC 7617), and the names and forms by which other ones are recognised. The `redaction` module
//! removes them from output.

use std::ffi::OsString;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Replacement of a credential.
pub const REDACTED: &str = "[redacted]";

/// Minimum length in bytes of credentials that are removed wherever they occur. A shorter one may
/// be a common word in a note; it is removed if it is a header, a parameter or a flag.
pub(crate) const ANYWHERE_MIN_BYTES: usize = 6;

/// Ends of names whose values are credentials, in lower case, without `-`, `_` and the like:
/// `X-Api-Key`, `access_token`, `clientSecret`.
const NAME_ENDS: [&str; 20] = [
    "accesskey",
    "apikey",
    "authkey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "functionskey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "sessionid",
    "sharedkey",
    "signature",
    "signingkey",
    "subscriptionkey",
    "token",
];

/// Last words of names whose values are credentials: `pass`, `DB_PASS`, but not `bypass`.
const NAME_WORDS: [&str; 4] = ["jwt", "pass", "pwd", "sig"];

/// Names that end like credentials and are none: positions in a list, and the working directory.
const HARMLESS: [&str; 6] =
    ["continuationtoken", "nexttoken", "pagetoken", "nextpagetoken", "pwd", "oldpwd"];

/// Header field with the names of subprotocols, in lower case. Browsers send tokens among them:
/// their API for WebSocket sets no other field.
pub(crate) const SUBPROTOCOLS: &str = "sec-websocket-protocol";

/// Registered and common names of subprotocols: no tokens.
const SUBPROTOCOL_NAMES: [&str; 20] = [
    "actioncable-v1-json",
    "amqp",
    "graphql-transport-ws",
    "graphql-ws",
    "jmap",
    "mqtt",
    "ocpp1.6",
    "ocpp2.0",
    "ocpp2.0.1",
    "ocpp2.1",
    "sip",
    "soap",
    "v10.stomp",
    "v11.stomp",
    "v12.stomp",
    "wamp",
    "wamp.2.cbor",
    "wamp.2.json",
    "wamp.2.msgpack",
    "xmpp",
];

/// Beginnings of tokens that say by themselves what they are.
const TOKEN_STARTS: [&str; 13] = [
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
];

/// Minimum length of a token that is recognised by its beginning, in bytes.
const TOKEN_MIN_BYTES: usize = 16;

/// True if the value of a header, a parameter or a variable with this name is a credential.
pub fn is_name(name: &str) -> bool {
    let is_separator = |c: char| !c.is_ascii_alphanumeric();
    let flat: String = name.chars().filter(|c| !is_separator(*c)).collect();
    let flat = flat.to_ascii_lowercase();
    let word = name.rsplit(is_separator).next().unwrap_or_default();
    let is_collector = flat.starts_with("otel") && flat.ends_with("headers");
    let is_known = NAME_ENDS.iter().any(|end| flat.ends_with(end))
        || NAME_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    // `http://h/token` before an equals sign is no name.
    (is_known || is_collector) && !name.contains('/') && !HARMLESS.contains(&flat.as_str())
}

/// True if the value of a header, a parameter or a field with this name is a credential: by the
/// name, or because it has the form of a token, as in `Bearer ghp_…`.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_name(name) || value.split_whitespace().any(is_token)
}

/// True if a list of subprotocols has one that is no known name, and so may be a token.
pub(crate) fn has_unknown_subprotocol(value: &str) -> bool {
    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.into_iter().any(|name| !SUBPROTOCOL_NAMES.contains(&name))
}

/// Returns the credentials in an environment, longest first: the values of variables with the name
/// of one, and those in a collector's list of headers.
pub(crate) fn of_environment(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in variables {
        if is_name(&name.to_string_lossy()) {
            let value = value.to_string_lossy().into_owned();
            let pairs = value.split(',').filter_map(|pair| pair.split_once('='));
            found.extend(pairs.map(|(_, value)| percent_decoded(value.trim())));
            found.push(value);
        }
    }
    found.retain(|secret| secret.len() >= ANYWHERE_MIN_BYTES);
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    found
}

/// True if a word has the form of a token: `ghp_…`, a JSON Web Token.
pub(crate) fn is_token(word: &str) -> bool {
    word.len() >= TOKEN_MIN_BYTES && TOKEN_STARTS.iter().any(|start| word.starts_with(start))
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

/// Returns the text with `[redacted]` for the user names and passwords of the URLs in it.
pub fn without_userinfo(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + "://".len());
        written += before;
        let is_end = |c: char| "/?#\"'".contains(c) || c.is_whitespace();
        let (authority, after) = behind.split_at(behind.find(is_end).unwrap_or(behind.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => written += &format!("{REDACTED}@{host}"),
            None => written += authority,
        }
        rest = after;
    }
    written + rest
}

/// Returns a message with `[redacted]` for all that may be a user name and a password before a
/// host, also without a scheme: `me:pass@h`.
pub fn without_userinfo_in_message(text: &str) -> String {
    let is_border = |c: char| c.is_whitespace() || "\"'`()<>,=".contains(c);
    let redacted = without_userinfo(text);
    let words = redacted.split_inclusive(is_border).map(|word| {
        let is_user = |(before, _): (&str, &str)| before.contains(':') && !before.contains("://");
        match word.rsplit_once('@').is_some_and(is_user) {
            true => without_any_userinfo(word),
            false => word.to_owned(),
        }
    });
    words.collect()
}

/// Returns a word that was to be a URL with `[redacted]` for all that may be a user name and a
/// password: in a malformed URL, they may hold any character.
pub fn without_any_userinfo(word: &str) -> String {
    let Some((before, host)) = word.rsplit_once('@') else { return word.to_owned() };
    let scheme = before.find("://").map_or("", |at| &before[..at + "://".len()]);
    match before.len() > scheme.len() {
        true => format!("{scheme}{REDACTED}@{host}"),
        false => word.to_owned(),
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
    let mut pieces = text.split('%');
    let mut decoded = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let byte = piece.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        decoded.push(byte.unwrap_or(b'%'));
        decoded.extend_from_slice(&piece.as_bytes()[if byte.is_some() { 2 } else { 0 }..]);
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
    fn credentials_are_recognised_by_their_names() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "api-key",
            "APIKEY",
            "x-goog-api-key",
            "access_token",
            "token",
            "X-Auth-Token",
            "clientSecret",
            "PGPASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "AWS_SECRET_ACCESS_KEY",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
            "X-Amz-Signature",
            "sig",
            "JSESSIONID",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "Accept",
            "key",
            "Idempotency-Key",
            "Sec-WebSocket-Key",
            "PWD",
            "OLDPWD",
            "max_tokens",
            "nextPageToken",
            "page-token",
            "bypass",
            "SSH_AUTH_SOCK",
            "OTEL_SERVICE_NAME",
            "tokenizer",
            "http://h/token",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn the_environment_has_credentials_by_name() {
        let variables = [
            ("HOME", "/root"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20SECRET,a=b"),
            ("PGPASSWORD", "postgres"),
            ("PIN_TOKEN", "1234"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let expected = ["Authorization=Basic%20SECRET,a=b", "Basic SECRET", "postgres"];
        assert_eq!(of_environment(variables.into_iter()), expected);
    }

    #[test]
    fn messages_lose_user_names_and_passwords() {
        for (text, shown) in [
            (
                "--script \"http://me:p@h/\" is no file",
                "--script \"http://[redacted]@h/\" is no file",
            ),
            ("invalid --duration: me:p@h (use 30s)", "invalid --duration: [redacted]@h (use 30s)"),
            ("option '--bogus=me:p@h'", "option '--bogus=[redacted]@h'"),
            ("--body @file: line 3: a@b.c", "--body @file: line 3: a@b.c"),
            ("http://h/a@b and http://h:80/", "http://h/a@b and http://h:80/"),
        ] {
            assert_eq!(without_userinfo_in_message(text), shown);
        }
    }

    #[test]
    fn subprotocols_without_a_name_of_their_own_are_credentials() {
        for (value, expected) in [
            ("graphql-transport-ws", false),
            ("mqtt, v12.stomp", false),
            ("", false),
            ("chat", true),
            ("graphql-ws, SECRET", true),
        ] {
            assert_eq!(has_unknown_subprotocol(value), expected, "{value}");
        }
    }

    #[test]
    fn malformed_urls_keep_their_hosts_alone() {
        for (word, shown) in [
            ("http://me:pa ss@h/", "http://[redacted]@h/"),
            ("me:p@ss/w@h", "[redacted]@h"),
            ("http:/h", "http:/h"),
            ("http://@/", "http://@/"),
        ] {
            assert_eq!(without_any_userinfo(word), shown);
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
