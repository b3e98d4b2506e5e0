//! Redaction of credentials in output: plans, command lines and notes have `[redacted]` in their
//! place. Requests are sent unchanged.

mod forms;
mod secrets;

mod bodies;
mod found;

pub(crate) use found::FoundSecrets;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use weir_result::document::{Input, Polls, Preflight, ServerSection};
use weir_result::{ExpectPlan, Header, ListPlan, MissExample, Note, RequestPlan, Target};
use weir_text::brief;

use crate::errors::Error;
use crate::spec::credentials::{self, REDACTED};
use crate::spec::{RunSpec, SpecPlace, TextKind};

impl RunSpec {
    /// Sets the command line of the document, without the credentials in it.
    pub fn set_command(&mut self, argv: impl IntoIterator<Item = OsString>) {
        let redaction = Redaction::of(self);
        self.command = Some(argv.into_iter().map(|word| redaction.word(&word)).collect());
    }

    /// Returns a text of the user or of a command, with `[redacted]` in the place of the secrets.
    pub fn redacted_text(&self, text: &str) -> String {
        Redaction::of(self).text(text)
    }

    /// Returns a copy with `[redacted]` in the place of every secret. It can be shown and kept, but
    /// not run: see [`RunSpec::missing_secrets`].
    pub fn redacted(&self) -> RunSpec {
        Redaction::of(self).spec(self.clone())
    }

    /// Returns the fields whose values are `[redacted]`: without them, the run cannot be carried
    /// out. A field is named by its path, `request.body`; a header by its name,
    /// `request.headers.Cookie`.
    pub fn missing_secrets(&self) -> Vec<String> {
        let mut spec = self.clone();
        let missing = spec.places().into_iter().filter_map(|place| match place {
            SpecPlace::Text { kind: TextKind::Fact(_), .. } => None,
            SpecPlace::Text { field, text, .. } => text.contains(REDACTED).then_some(field),
            SpecPlace::Path(_) | SpecPlace::File(..) => None,
        });
        let mut missing: Vec<String> = missing.collect();
        missing.dedup();
        missing
    }
}

/// The credentials of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redaction {
    /// True if everything is written as given.
    is_off: bool,
    /// Further headers and query parameters whose values are credentials, in lower case.
    names: Vec<String>,
    /// `USER:PASS` of flags: a word of the command line ends with its flag's value.
    users: Vec<String>,
    /// User names and passwords from the URL.
    userinfos: Vec<String>,
    /// Credentials in the environment, which commands may print, longest first.
    of_environment: Vec<String>,
    /// Values of flags that may have credentials in them: expectations, and the first message of
    /// WebSocket connections.
    values: Vec<String>,
    /// Known credentials that are long enough to search for, longest first.
    secrets: Vec<String>,
}

impl Redaction {
    /// Collects the credentials of a specification.
    pub(crate) fn of(spec: &RunSpec) -> Redaction {
        let given = &spec.redaction;
        if given.off {
            return Redaction { is_off: true, ..Redaction::default() };
        }
        let names = given.names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        let mut redaction = Redaction {
            names,
            users: given.users.clone(),
            of_environment: credentials::of_environment(std::env::vars_os()),
            ..Redaction::default()
        };
        redaction.add(FoundSecrets::of_users(&given.users, &given.userinfos));
        for place in spec.clone().places() {
            if let SpecPlace::Text { kind, text, .. } = place {
                redaction.add(redaction.secrets_in(&kind, text));
                if matches!(kind, TextKind::Expectation | TextKind::Message) {
                    redaction.values.push(std::mem::take(text));
                }
            }
        }
        redaction
    }

    /// True for the name of a header, a parameter or a column whose values are credentials.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        self.is_header(name)
    }

    fn is_header(&self, name: &str) -> bool {
        let is_given = || self.names.iter().any(|known| name.eq_ignore_ascii_case(known));
        !self.is_off && (credentials::is_name(name) || is_given())
    }

    /// True if the value of a header field is a credential.
    fn is_secret_value(&self, name: &str, value: &str) -> bool {
        let is_token = || {
            // A word of the command line has a flag before the name.
            name.to_ascii_lowercase().ends_with(credentials::SUBPROTOCOLS)
                && credentials::has_unknown_subprotocol(value)
        };
        self.is_header(name) || (!self.is_off && is_token())
    }

    fn is_parameter(&self, name: &str) -> bool {
        self.is_header(&credentials::percent_decoded(name))
    }

    /// Redacts a URL or path for the plan.
    pub(crate) fn url(&self, url: &str) -> String {
        let (url, _) = credentials::split_userinfo(url);
        self.path(&url)
    }

    /// Redacts a path with its query for the plan.
    pub(crate) fn path(&self, path: &str) -> String {
        self.parameters_of(path, false, |_| ())
    }

    /// Redacts the target for the plan: its path, and the name of a socket.
    pub(crate) fn target(&self, target: Target) -> Target {
        let path = self.path(&target.path);
        let address = self.without_secrets(target.address);
        Target { path, address, ..target }
    }

    /// Redacts the request for the plan.
    pub(crate) fn request(&self, request: RequestPlan) -> RequestPlan {
        let RequestPlan { method, headers, body_bytes, wire_bytes } = request;
        let headers = headers.into_iter().map(|Header { name, value }| Header {
            value: self.shown(&TextKind::Header(name.clone()), &value),
            name: self.without_secrets(name),
        });
        RequestPlan {
            method: self.without_secrets(method),
            headers: headers.collect(),
            body_bytes,
            wire_bytes,
        }
    }

    /// Redacts the names of a list for the plan: they may be paths with queries.
    pub(crate) fn list(&self, mut list: ListPlan) -> ListPlan {
        list.names.iter_mut().for_each(|name| *name = self.value(name));
        list.format = self.without_secrets(list.format);
        list
    }

    /// Redacts expectations for the plan.
    pub(crate) fn expectations(&self, mut plan: ExpectPlan) -> ExpectPlan {
        plan.all.iter_mut().for_each(|text| *text = self.expectation(text));
        plan
    }

    /// Redacts an example of a missed expectation, and shortens it: it holds a part of a response.
    pub(crate) fn example(&self, example: &mut MissExample) {
        example.expected = brief(&self.expectation(&example.expected));
        example.found = brief(&self.lines(&example.found));
    }

    /// Redacts a peer's words for the end of a connection.
    pub(crate) fn reasons(&self, counts: &mut BTreeMap<String, u64>) {
        for (name, count) in std::mem::take(counts) {
            *counts.entry(self.lines(&name)).or_default() += count;
        }
    }

    /// Redacts an expectation: its value, if it is one of a credential.
    fn expectation(&self, text: &str) -> String {
        self.lines(text)
    }

    /// Redacts a word of the command line for the document.
    fn word(&self, word: &OsStr) -> String {
        let word = word.to_string_lossy();
        let users = self.users.iter().filter(|user| !user.is_empty());
        if let Some(flag) = users.filter_map(|user| word.strip_suffix(user.as_str())).next() {
            return format!("{flag}{REDACTED}");
        }
        if let Some(text) = self.values.iter().find(|text| word.ends_with(text.as_str())) {
            let flag = &word[..word.len() - text.len()];
            return format!("{flag}{}", self.expectation(text));
        }
        self.value(&self.without_headers(&word))
    }

    /// Redacts an error, which may repeat a text of the user.
    pub(crate) fn error(&self, error: Error) -> Error {
        error.in_words(|text| self.without_secrets(text))
    }

    /// Redacts notes for the document and its reports.
    pub(crate) fn notes(&self, notes: &mut [Note]) {
        for note in notes {
            note.text = self.text(&note.text);
        }
    }

    /// Redacts the preflight's result: a server may repeat a credential in its response.
    pub(crate) fn preflight(&self, response: &mut Preflight) {
        let Preflight { location, server, address, .. } = response;
        for field in location.iter_mut().chain(server).chain([address]) {
            *field = self.text(field);
        }
    }

    /// Redacts the names of files for the document.
    pub(crate) fn inputs(&self, mut inputs: Vec<Input>) -> Vec<Input> {
        for input in &mut inputs {
            input.path = self.text(&input.path);
        }
        inputs
    }

    /// Redacts a specification.
    pub(crate) fn spec(&self, mut spec: RunSpec) -> RunSpec {
        if self.is_off {
            return spec;
        }
        for place in spec.places() {
            match place {
                SpecPlace::Text { kind, text, .. } => *text = self.shown(&kind, text),
                SpecPlace::Path(path) => self.file_name(path),
                SpecPlace::File(_, file) => self.file_name(&mut file.path),
            }
        }
        spec.tls.forget_keys();
        // They serve to find credentials, and there is none left.
        spec.redaction.users.clear();
        spec.redaction.userinfos.clear();
        spec
    }

    /// Redacts a text of this kind.
    fn shown(&self, kind: &TextKind, text: &str) -> String {
        let whole_if = |is_secret: bool, otherwise: &dyn Fn() -> String| match is_secret {
            true => REDACTED.to_owned(),
            false => otherwise(),
        };
        match kind {
            TextKind::Url => self.url(text),
            TextKind::ListUrl => self.without_secrets(self.url(text)),
            TextKind::Page | TextKind::Watched => self.text(text),
            TextKind::Header(name) => whole_if(self.is_secret_value(name, text), &|| {
                self.without_secrets(text.to_owned())
            }),
            TextKind::User => REDACTED.to_owned(),
            TextKind::Body | TextKind::Argument => self.value(text),
            TextKind::FormField(name) => whole_if(self.is_header(name), &|| self.value(text)),
            TextKind::Expectation | TextKind::Message => self.lines(text),
            TextKind::Command => self.lines(&self.text(text)),
            TextKind::Fact(name) => whole_if(self.is_parameter(name), &|| self.text(text)),
            TextKind::Host => self.without_secrets(credentials::without_any_userinfo(text)),
            TextKind::Plain => self.without_secrets(text.to_owned()),
        }
    }

    /// Redacts the name of a file. One that is not UTF-8 is not written at all.
    fn file_name(&self, path: &mut PathBuf) {
        if let Some(name) = path.to_str() {
            *path = self.text(name).into();
        }
    }

    /// Redacts the facts that the user gave about the run.
    pub(crate) fn annotations(&self, facts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let shown = |name: &String, value| self.shown(&TextKind::Fact(name.clone()), value);
        facts.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
    }

    /// Redacts the section of the watched server: its URLs, commands, errors and labels.
    pub(crate) fn server(&self, section: &mut ServerSection) {
        let redact = |text: &mut String| *text = self.text(text);
        let redact_polls = |polls: &mut Polls| polls.error.iter_mut().for_each(redact);
        if let Some(nginx) = &mut section.nginx {
            redact(&mut nginx.url);
            redact_polls(&mut nginx.polls);
        }
        if let Some(page) = &mut section.prometheus {
            redact(&mut page.url);
            redact_polls(&mut page.polls);
            page.metrics.iter_mut().flat_map(|m| m.labels.values_mut()).for_each(redact);
        }
        for command in &mut section.commands {
            command.command = self.lines(&command.command);
            redact_polls(&mut command.polls);
        }
        section.access_log.iter_mut().for_each(|log| redact(&mut log.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{BodySpec, InputFile, RedactionSpec, ScriptSpec};

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned() }
    }

    /// A specification with a secret in every place.
    fn secretive() -> RunSpec {
        let mut spec = RunSpec::new("http://h/?a=1&token=SECRET");
        spec.request.headers =
            vec![header("Authorization", "Bearer SECRET"), header("Accept", "x")];
        spec.request.basic_auth = Some("me:SECRET".to_owned());
        spec.request.body = Some(BodySpec::Text("a=1&token=SECRET".to_owned()));
        spec.script = Some(ScriptSpec {
            file: InputFile::at("s.lua"),
            args: vec!["x".to_owned(), "https://a:SECRET@i/".to_owned()],
            ..ScriptSpec::default()
        });
        let key = || InputFile {
            content: Some(b"-----BEGIN PRIVATE KEY-----\nSECRET".to_vec()),
            bytes: Some(34),
            sha256: Some("SECRET".to_owned()),
            ..InputFile::at("key.pem")
        };
        (spec.tls.cert, spec.tls.key) = (Some(key()), Some(key()));
        spec.expect.all =
            vec!["json:/token=SECRET".to_owned(), "header:X-Api-Key=SECRET".to_owned()];
        spec.watch.nginx = Some("http://her:SECRET@h/status".to_owned());
        spec.watch.captures = vec!["curl -u her:SECRET h".to_owned()];
        spec.watch.notes = [("key".to_owned(), "SECRET".to_owned())].into();
        spec.redaction.names = vec!["token".to_owned()];
        spec.redaction.users = vec!["you:SECRET".to_owned()];
        spec.redaction.userinfos = vec!["me:SECRET".to_owned()];
        spec
    }

    #[test]
    fn a_redacted_specification_holds_no_secret_and_names_what_it_lacks() {
        let spec = secretive();
        assert_eq!(spec.missing_secrets(), Vec::<String>::new());
        let redacted = spec.redacted();
        let text = serde_json::to_string(&redacted).expect("UTF-8");
        assert!(!text.contains("SECRET"), "{text}");
        // Private keys are left in their files.
        assert_eq!(redacted.tls.key, Some(InputFile::at("key.pem")));
        assert_eq!(redacted.tls.cert, Some(InputFile::at("key.pem")));
        assert_eq!(
            redacted.missing_secrets(),
            [
                "target.url",
                "request.headers.Authorization",
                "request.basic_auth",
                "request.body",
                "expect.all.0",
                "expect.all.1",
                "script.args.1",
                "watch.nginx",
                "watch.captures",
            ]
        );
        let kept = RunSpec { redaction: RedactionSpec { off: true, ..Default::default() }, ..spec };
        assert_eq!(kept.redacted(), kept);
    }

    #[test]
    fn examples_of_responses_lose_credentials() {
        let mut spec = RunSpec::new("http://h/");
        spec.expect.all = vec!["json:/token=SECRET".to_owned(), "body~x".to_owned()];
        let redaction = Redaction::of(&spec);
        let check = |expected: &str, found: &str, shown: [&str; 2]| {
            let expected = expected.to_owned();
            let found = found.to_owned();
            let mut example = MissExample { status: 200, expected, found };
            redaction.example(&mut example);
            assert_eq!([&example.expected[..], &example.found], shown);
        };
        check(
            "json:/token=SECRET",
            "/token = \"abc\"",
            ["json:/token=[redacted]", "/token = [redacted]"],
        );
        check(
            "header:Set-Cookie=a",
            "Set-Cookie: b",
            ["header:Set-Cookie=[redacted]", "Set-Cookie: [redacted]"],
        );
        check("body~x", "{\"api_key\": \"abc\"}", ["body~x", "{\"api_key\": [redacted]"]);
        check("same", "it has SECRET\u{1b}\n in it", ["same", "it has [redacted]?? in it"]);
        let long = format!("{}SECRET{}", "y".repeat(190), "z".repeat(50));
        let shown = format!("{}[redacted]…", "y".repeat(190));
        check("body~x", &long, ["body~x", &shown]);
        let word = |word: &str| redaction.word(word.as_ref());
        assert_eq!(word("--expect=json:/token=SECRET"), "--expect=json:/token=[redacted]");
        assert_eq!(word("json:/token=SECRET"), "json:/token=[redacted]");
        assert_eq!(word("body~x"), "body~x");
    }

    #[test]
    fn plans_lose_the_credentials_in_urls() {
        let redaction = Redaction::of(&RunSpec::new("http://me:p@h/"));
        assert_eq!(redaction.url("http://me:p@h/?a=b"), "http://h/?a=b");
    }

    #[test]
    fn secrets_are_removed_from_notes() {
        let mut spec = RunSpec::new("http://h/");
        spec.request.headers =
            vec![header("Authorization", "Bearer SECRET"), header("Cookie", "lang=en; id=CRUMBLE")];
        spec.redaction.names = vec!["token".to_owned()];
        spec.redaction.userinfos = vec!["me:hidden".to_owned()];
        let redaction = Redaction::of(&spec);
        let mut notes = [
            "init() failed: SECRET is wrong",
            "a redirect to http://x:y@h/?token=abc: load that",
            "a word of the password: hidden",
            "sent bWU6aGlkZGVu",
            "the session is CRUMBLE",
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
                "the session is [redacted]",
            ]
        );
    }

    #[test]
    fn output_of_commands_keeps_nothing_that_looks_like_a_credential() {
        let mut spec = RunSpec::new("http://h/");
        let of_environment = vec!["x-scope=COLLECTOR".to_owned()];
        let redaction = Redaction { of_environment, ..Redaction::of(&spec) };
        for (text, expected) in [
            ("HOME=/root\nPWD=/root\n", "HOME=/root\nPWD=/root\n"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer SECRET,b=c d\nA=b\n",
                "OTEL_EXPORTER_OTLP_HEADERS=[redacted]\nA=b\n",
            ),
            ("DB_PASSWORD=SEC RET", "DB_PASSWORD=[redacted]"),
            ("declare -x GITHUB_TOKEN=\"SECRET\"", "declare -x GITHUB_TOKEN=[redacted]"),
            ("  password: SECRET", "  password: [redacted]"),
            (
                "{\"user\": \"me\", \"api-key\": \"SECRET\"}",
                "{\"user\": \"me\", \"api-key\": [redacted]",
            ),
            ("curl -H 'X-Api-Key: SECRET' h", "curl -H 'X-Api-Key: [redacted]"),
            ("sent Bearer SECRET, then", "sent Bearer [redacted], then"),
            ("url=http://me:SECRET@h/", "url=http://[redacted]@h/"),
            ("X=ghp_SECRETSECRETSECRET y", "X=[redacted] y"),
            ("headers: x-scope=COLLECTOR", "headers: [redacted]"),
            (
                "K=-----BEGIN RSA PRIVATE KEY-----\nSECRET\n-----END RSA PRIVATE KEY-----\nA=b\n",
                "[redacted]\n[redacted]\nA=b\n",
            ),
            (
                "nginx: built with --with-http_ssl_module",
                "nginx: built with --with-http_ssl_module",
            ),
        ] {
            assert_eq!(redaction.lines(text), expected);
        }
        spec.redaction.off = true;
        assert_eq!(Redaction::of(&spec).lines("token=a"), "token=a");
    }

    #[test]
    fn words_of_the_command_line_lose_headers() {
        let redaction = Redaction::of(&RunSpec::new("http://h/"));
        let check = |word: &str, expected: &str| {
            assert_eq!(redaction.word(word.as_ref()), expected);
        };
        check("-HX-Api-Key: SECRET", "-HX-Api-Key: [redacted]");
        check("--header=access-token:SECRET", "--header=access-token: [redacted]");
        check(
            "http://token:80/?access_token=SECRET&a=b",
            "http://token:80/?access_token=[redacted]&a=b",
        );
        check("Accept: a", "Accept: a");
    }

    #[test]
    fn plans_name_headers_without_values() {
        let request = RequestPlan {
            headers: vec![header("cookie", "a=b"), header("Accept", "x")],
            ..RequestPlan::default()
        };
        let mut spec = RunSpec::new("http://h/");
        let redacted = Redaction::of(&spec).request(request.clone());
        assert_eq!(redacted.headers, [header("cookie", REDACTED), header("Accept", "x")]);
        spec.redaction.off = true;
        assert_eq!(Redaction::of(&spec).request(request.clone()), request);
    }
}
