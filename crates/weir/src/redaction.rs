//! Redaction of credentials in output: plans, command lines and notes have `[redacted]` in their
//! place. Requests are sent unchanged.

use std::ffi::{OsStr, OsString};

use weir_result::{Note, RequestPlan};

use crate::args::RunArgs;
use crate::credentials;
use crate::preflight::Found;

/// Replacement of a credential.
const REDACTED: &str = "[redacted]";

/// Minimum length in bytes of credentials that are removed wherever they occur. A shorter one may
/// be a common word in a note; it is removed if it is a header, a parameter or a flag.
const ANYWHERE_MIN_BYTES: usize = 6;

/// The credentials of a command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redaction {
    /// `--no-redact`.
    is_off: bool,
    /// Headers whose values are credentials, in lower case.
    headers: Vec<String>,
    /// Query parameters whose values are credentials, in lower case.
    parameters: Vec<String>,
    /// Values of `--user`: a word of the command line ends with its flag's value.
    users: Vec<String>,
    /// User names and passwords from the URL.
    userinfos: Vec<String>,
    /// Known credentials that are long enough to search for, longest first.
    secrets: Vec<String>,
}

impl Redaction {
    /// Collects the credentials in the flags.
    pub(crate) fn of(args: &RunArgs) -> Redaction {
        let names: Vec<String> =
            args.redact.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        let (url, of_url) = credentials::split_userinfo(args.url());
        let userinfos = args.userinfo.iter().map(String::as_str).chain(of_url);
        let mut redaction = Redaction {
            is_off: args.no_redact,
            headers: credentials::headers().chain(names.iter().cloned()).collect(),
            parameters: names,
            users: args.user.clone(),
            userinfos: userinfos
                .filter(|userinfo| !userinfo.is_empty())
                .map(str::to_owned)
                .collect(),
            secrets: Vec::new(),
        };
        redaction.secrets = redaction.known(args, &url);
        redaction
    }

    /// The credentials whose values are known, longest first.
    fn known(&self, args: &RunArgs, url: &str) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for (name, value) in args.headers.iter().filter_map(|header| header.split_once(':')) {
            let value = value.trim();
            if self.is_header(name.trim()) && !value.is_empty() {
                known.push(value.to_owned());
                // The token without its scheme.
                known.extend(value.split_once(' ').map(|(_, token)| token.trim().to_owned()));
            }
        }
        let decoded = self.userinfos.iter().map(|userinfo| credentials::decoded(userinfo));
        for user in self.users.iter().cloned().chain(decoded) {
            let basic = credentials::basic(&user);
            known.extend(basic.split_once(' ').map(|(_, token)| token.to_owned()));
            known.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
            known.push(user);
        }
        for userinfo in &self.userinfos {
            known.extend(userinfo.split_once(':').map(|(_, password)| password.to_owned()));
        }
        let mut values = Vec::new();
        self.parameters_of(url, false, |value| values.push(value.to_owned()));
        known.extend(values);
        known.retain(|secret| secret.len() >= ANYWHERE_MIN_BYTES);
        known.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        known.dedup();
        known
    }

    fn is_header(&self, name: &str) -> bool {
        self.headers.iter().any(|header| name.eq_ignore_ascii_case(header))
    }

    fn is_parameter(&self, name: &str) -> bool {
        let name = credentials::percent_decoded(name);
        self.parameters.iter().any(|parameter| name.eq_ignore_ascii_case(parameter))
    }

    /// Redacts a URL or path for the plan.
    pub(crate) fn url(&self, url: &str) -> String {
        let (url, _) = credentials::split_userinfo(url);
        self.path(&url)
    }

    /// Redacts a path with its query for the plan.
    pub(crate) fn path(&self, path: &str) -> String {
        if self.is_off { path.to_owned() } else { self.parameters_of(path, false, |_| ()) }
    }

    /// Redacts the request for the plan.
    pub(crate) fn request(&self, mut request: RequestPlan) -> RequestPlan {
        for header in request.headers.iter_mut().filter(|_| !self.is_off) {
            if self.is_header(&header.name) {
                header.value = REDACTED.to_owned();
            }
        }
        request
    }

    /// Redacts the command line for the document.
    pub(crate) fn command(&self, argv: impl IntoIterator<Item = OsString>) -> Vec<String> {
        argv.into_iter().map(|word| self.word(&word)).collect()
    }

    fn word(&self, word: &OsStr) -> String {
        let word = word.to_string_lossy().into_owned();
        if self.is_off {
            return word;
        }
        let users = self.users.iter().filter(|user| !user.is_empty());
        if let Some(flag) = users.filter_map(|user| word.strip_suffix(user.as_str())).next() {
            return format!("{flag}{REDACTED}");
        }
        self.without_known(self.parameters_of(&self.without_headers(&word), false, |_| ()))
    }

    /// Redacts notes for the document and its reports.
    pub(crate) fn notes(&self, notes: &mut [Note]) {
        for note in notes {
            note.text = self.text(&note.text);
        }
    }

    /// Redacts the preflight's result: a server may repeat a credential in its response.
    pub(crate) fn found(&self, found: &mut Found) {
        if let Some(warning) = &mut found.warning {
            warning.text = self.text(&warning.text);
        }
        if let Some(answer) = &mut found.answer {
            for field in [&mut answer.location, &mut answer.server].into_iter().flatten() {
                *field = self.text(field);
            }
        }
    }

    /// Redacts a text that may contain input from elsewhere.
    fn text(&self, text: &str) -> String {
        if self.is_off {
            return text.to_owned();
        }
        self.without_known(self.parameters_of(text, true, |_| ()))
    }

    /// Removes the known credentials from a text, and the userinfo of any URL in it.
    fn without_known(&self, mut text: String) -> String {
        for userinfo in &self.userinfos {
            text = text.replace(&format!("{userinfo}@"), &format!("{REDACTED}@"));
        }
        for secret in &self.secrets {
            text = text.replace(secret, REDACTED);
        }
        without_userinfo(&text)
    }

    /// Removes the value after `Authorization:` and similar names from a word, and keeps a flag
    /// before it.
    fn without_headers(&self, word: &str) -> String {
        let lower = word.to_ascii_lowercase();
        let mut end = word.len();
        for name in &self.headers {
            for (at, _) in lower.match_indices(name.as_str()) {
                let behind = &lower[at + name.len()..];
                let blanks = behind.len() - behind.trim_start().len();
                // A host may have the name of such a header.
                let is_host = word[..at].ends_with("://");
                if behind[blanks..].starts_with(':') && !is_host {
                    end = end.min(at + name.len() + blanks + 1);
                }
            }
        }
        match word[end..].trim().is_empty() {
            true => word.to_owned(),
            false => format!("{} {REDACTED}", &word[..end]),
        }
    }

    /// Replaces the values of the query parameters in a text, and calls `tell` with each. A value
    /// ends at the next parameter; in prose, also at whitespace.
    fn parameters_of(&self, text: &str, is_prose: bool, mut tell: impl FnMut(&str)) -> String {
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('=') {
            let (before, behind) = rest.split_at(at);
            let is_border = |c: char| "?&;#=".contains(c) || (is_prose && c.is_whitespace());
            let name = before.rsplit(is_border).next().unwrap_or_default();
            written += before;
            written.push('=');
            rest = &behind[1..];
            let name = name.strip_prefix("-b").unwrap_or(name);
            if self.is_parameter(name) {
                let is_end = |c: char| "&#".contains(c) || (is_prose && c.is_whitespace());
                let (value, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
                if !value.is_empty() {
                    tell(value);
                    written += REDACTED;
                }
                rest = after;
            }
        }
        written + rest
    }
}

/// Removes user names and passwords from the URLs in a text.
fn without_userinfo(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use weir_result::Header;

    use super::*;
    use crate::args::Cli;

    fn redaction(words: &[&str]) -> Redaction {
        let words = std::iter::once("weir").chain(words.iter().copied());
        Redaction::of(&Cli::of_words(words).expect("valid flags").run)
    }

    /// The stored form of a command line, redacted by its own flags.
    fn stored(words: &[&str]) -> Vec<String> {
        redaction(words).command(words.iter().map(OsString::from))
    }

    fn check(words: &[&str], expected: &[&str]) {
        assert_eq!(stored(words), expected, "{words:?}");
    }

    const URL: &str = "http://h/";

    #[test]
    fn every_form_of_a_header_is_covered() {
        let secret = "Authorization: Bearer SECRET";
        for (words, expected) in [
            (vec!["-H", secret], vec!["-H", "Authorization: [redacted]"]),
            (vec!["-HAuthorization:SECRET"], vec!["-HAuthorization: [redacted]"]),
            (vec!["-HAuthorization: x"], vec!["-HAuthorization: [redacted]"]),
            (vec!["-H=Authorization: x"], vec!["-H=Authorization: [redacted]"]),
            (vec!["-LH", "authorization:x"], vec!["-LH", "authorization: [redacted]"]),
            (vec!["-LqHCookie: a=b; c=d"], vec!["-LqHCookie: [redacted]"]),
            (vec!["--header=COOKIE: a=b"], vec!["--header=COOKIE: [redacted]"]),
            (
                vec!["--head", "Proxy-Authorization:x"],
                vec!["--head", "Proxy-Authorization: [redacted]"],
            ),
            (vec!["--heade=Cookie: x"], vec!["--heade=Cookie: [redacted]"]),
            (vec!["-H", "X-Key: abc"], vec!["-H", "X-Key: abc"]),
        ] {
            check(&[&words[..], &[URL]].concat(), &[&expected[..], &[URL]].concat());
        }
        check(
            &["--redact", "x-key", "-H", "X-Key: abc", URL],
            &["--redact", "x-key", "-H", "X-Key: [redacted]", URL],
        );
    }

    #[test]
    fn every_form_of_a_user_is_covered() {
        check(&["-u", "me:p", URL], &["-u", "[redacted]", URL]);
        check(&["-ume:p", URL], &["-u[redacted]", URL]);
        check(&["-u=me:p", URL], &["-u=[redacted]", URL]);
        check(&["-Lqume:p", URL], &["-Lqu[redacted]", URL]);
        check(&["--user=me:p", URL], &["--user=[redacted]", URL]);
        check(&["--us", "me:p", URL], &["--us", "[redacted]", URL]);
        // The last one counts, and none is written.
        check(&["-u", "a:b", "-u", "c:d", URL], &["-u", "[redacted]", "-u", "[redacted]", URL]);
    }

    #[test]
    fn urls_lose_credentials() {
        check(&["http://me:p@h/x"], &["http://[redacted]@h/x"]);
        check(&["me:p@h/x"], &["[redacted]@h/x"]);
        check(
            &["-s", "x.lua", URL, "https://a:b@i/"],
            &["-s", "x.lua", URL, "https://[redacted]@i/"],
        );
        let redact = ["--redact", "token,KEY"];
        for (url, expected) in [
            ("http://h/?a=1&token=x;y z&b=2", "http://h/?a=1&token=[redacted]&b=2"),
            ("http://h/?TOKEN=x#key=y", "http://h/?TOKEN=[redacted]#key=[redacted]"),
            ("http://h/?t%6Fken=x&tokens=1&token=", "http://h/?t%6Fken=[redacted]&tokens=1&token="),
            ("http://h/token=/x", "http://h/token=/x"),
        ] {
            check(&[&redact[..], &[url]].concat(), &[&redact[..], &[expected]].concat());
        }
        check(
            &["-b", "token=x&a=1", "--redact", "token", URL],
            &["-b", "token=[redacted]&a=1", "--redact", "token", URL],
        );
        assert_eq!(redaction(&["http://me:p@h/"]).url("http://me:p@h/?a=b"), "http://h/?a=b");
    }

    #[test]
    fn notes_lose_what_is_known() {
        let words =
            ["-H", "Authorization: Bearer SECRET", "--redact", "token", "http://me:hidden@h/"];
        let redaction = redaction(&words);
        let mut notes = [
            "init() failed: SECRET is wrong",
            "a redirect to http://x:y@h/?token=abc: load that",
            "a word of the password: hidden",
            "sent bWU6aGlkZGVu",
        ]
        .map(|text| Note::new("x", text));
        redaction.notes(&mut notes);
        assert_eq!(
            notes.map(|note| note.text),
            [
                "init() failed: [redacted] is wrong",
                "a redirect to http://[redacted]@h/?token=[redacted] load that",
                "a word of the password: [redacted]",
                "sent [redacted]",
            ]
        );
    }

    #[test]
    fn plans_name_headers_without_values() {
        let header =
            |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
        let request = RequestPlan {
            headers: vec![header("cookie", "a=b"), header("Accept", "x")],
            ..RequestPlan::default()
        };
        let redacted = redaction(&[URL]).request(request.clone());
        assert_eq!(redacted.headers, [header("cookie", REDACTED), header("Accept", "x")]);
        assert_eq!(redaction(&["--no-redact", URL]).request(request.clone()), request);
    }

    #[test]
    fn redaction_can_be_switched_off() {
        let words = ["--no-redact", "-u", "me:p", "-H", "Cookie: SECRET", "http://h/?token=x"];
        check(&words, &words);
    }
}
