//! All flags of a load, in groups: each is converted to its part of the specification. This goes
//! one way only, and uses the flags alone: no file, no name service, no machine.

use std::ffi::OsString;

use clap::{Args, Command};
use weir_runner::{RunSpec, credentials};

use super::connection::ConnectionArgs;
use super::engine::EngineArgs;
use super::expect::ExpectArgs;
use super::grpc::GrpcArgs;
use super::list::RequestListArgs;
use super::load::LoadArgs;
use super::replay::ReplayArgs;
use super::request::{CredentialArgs, RequestArgs};
use super::target::{TargetArgs, check_unix};
use super::tls::TlsArgs;
use super::watch::WatchArgs;
use super::websocket::WebSocketArgs;
use super::words::check_words;
use super::wrong::wrong;

/// The flags of a load. A run has them, and so has each run of a study.
#[derive(Debug, Args)]
pub(crate) struct SpecArgs {
    /// Model and limits, and the part on this machine.
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// The log that is replayed.
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// The request, or the script that makes requests.
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// The list of requests.
    #[command(flatten)]
    pub(crate) list: RequestListArgs,
    /// Expectations of responses.
    #[command(flatten)]
    expect: ExpectArgs,
    /// The method of gRPC.
    #[command(flatten)]
    grpc: GrpcArgs,
    /// TLS.
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Credentials.
    #[command(flatten)]
    pub(crate) credentials: CredentialArgs,
    /// HTTP version, opening and renewal.
    #[command(flatten)]
    connection: ConnectionArgs,
    /// WebSocket.
    #[command(flatten)]
    websocket: WebSocketArgs,
    /// Engine, and checks beside the load.
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// The watch of the server.
    #[command(flatten)]
    pub(super) watch: WatchArgs,
    /// The server.
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

impl SpecArgs {
    /// Returns the specification of the load. `argv` is the command line for the document.
    pub(crate) fn spec(&self, argv: impl IntoIterator<Item = OsString>) -> RunSpec {
        let mut spec = RunSpec {
            target: self.target.spec(),
            request: self.request.spec(&self.credentials),
            list: self.list.spec(self.urls(), self.load.seed),
            replay: self.replay.spec(self.list.groups()),
            templates: self.list.templates(self.may_have_fields(), self.load.seed),
            expect: self.expect.spec(),
            messages: self.expect.messages(),
            grpc: self.grpc.spec(),
            http: self.connection.http(),
            websocket: self.websocket.spec(),
            tls: self.tls.spec(),
            script: self.request.script(self.target.script_args().cloned().collect()),
            load: self.load.spec(),
            connection: self.connection.spec(),
            engine: self.engine.spec(self.load.threads),
            checks: self.engine.checks(),
            watch: self.watch.spec(),
            redaction: self.credentials.spec(),
            is_seed_drawn: self.load.draws_seed(),
            part: self.load.part.part,
            start_at_unix_ns: self.load.part.start_at,
            ..RunSpec::new("")
        };
        if self.load.seed.is_none() && (spec.templates.seed != 0 || self.list.is_random()) {
            spec.is_seed_drawn = true;
        }
        if self.target.words.is_empty() && self.list.from.is_some() {
            // The first request of the list names the server.
            spec.target.url.clear();
        }
        spec.set_command(argv);
        spec
    }

    /// True if a text of the command line may have fields of templates.
    fn may_have_fields(&self) -> bool {
        let body = self.request.body.iter().chain(self.request.form_texts());
        let mut texts = self.target.words.iter().chain(&self.request.headers).chain(body);
        texts.any(|text| text.contains("{{"))
    }

    /// Returns the URLs of the command line, if there is no script that further words are for.
    fn urls(&self) -> Vec<String> {
        match self.request.script {
            Some(_) => Vec::new(),
            None => self.target.words.clone(),
        }
    }

    /// Checks the flags of a load, and moves a user name and password out of the URL. `root` is the
    /// program with its commands.
    ///
    /// # Errors
    /// When a flag is wrong.
    pub(super) fn check(&mut self, root: &Command) -> Result<(), clap::Error> {
        self.request.check()?;
        check_words(&self.request, &self.target, root)?;
        if let Some(url) = self.target.words.first_mut() {
            let (plain, userinfo) = credentials::split_userinfo(url);
            let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty()).map(str::to_owned);
            *url = plain;
            self.credentials.userinfo = userinfo;
        }
        self.credentials.check(self.request.header_names())?;
        self.load.check()?;
        let is_replay = self.replay.replay.is_some();
        if self.engine.tick.is_some() && !self.load.is_open_loop() && !is_replay {
            return Err(wrong("--tick needs a rate: give --rate or --stages"));
        }
        if is_replay && self.urls().len() > 1 {
            return Err(wrong("--replay has the requests: give one URL, that of the server"));
        }
        self.list.check(&self.load, self.urls().len(), self.may_have_fields(), is_replay)?;
        self.watch.check()?;
        self.spec([]).check_load().map_err(|error| wrong(error.to_string()))?;
        self.target.unix.as_deref().map_or(Ok(()), check_unix).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use weir_runner::{BodySpec, InputFile};

    use super::*;
    use crate::args::Cli;

    const SECOND_NS: u64 = 1_000_000_000;

    fn spec(words: &[&str]) -> RunSpec {
        let argv = || std::iter::once("weir").chain(words.iter().copied()).map(OsString::from);
        Cli::of_words(argv()).expect("valid flags").run.spec(argv().skip(1))
    }

    #[test]
    fn no_flags_are_the_defaults_of_a_specification() {
        let expected =
            RunSpec { command: Some(vec!["http://h/".to_owned()]), ..RunSpec::new("http://h/") };
        assert_eq!(spec(&["http://h/"]), expected);
    }

    #[test]
    fn a_warm_up_follows_from_the_duration() {
        for (words, duration_ns, warmup_ns) in [
            ("-d 60 h", Some(60 * SECOND_NS), 6 * SECOND_NS),
            ("-d 1h h", Some(3600 * SECOND_NS), 10 * SECOND_NS),
            ("-d 1 h", Some(SECOND_NS), 2 * SECOND_NS),
            ("-n 5 h", None, 0),
            ("-n 5 -d 1 h", Some(SECOND_NS), 2 * SECOND_NS),
            ("-d 0 h", None, 2 * SECOND_NS),
            ("-d 0 --warmup 0 h", None, 0),
            ("--warmup 3 h", Some(10 * SECOND_NS), 3 * SECOND_NS),
        ] {
            let load = spec(&words.split(' ').collect::<Vec<_>>()).load;
            let found = (load.duration_ns, load.warmup.span_ns);
            assert_eq!(found, (duration_ns, warmup_ns), "{words}");
        }
    }

    #[test]
    fn a_user_replaces_that_of_the_url() {
        let check = |words: &[&str], user: &str| {
            assert_eq!(spec(words).request.basic_auth.as_deref(), Some(user), "{words:?}");
        };
        check(&["http://m%65:p@h/"], "me:p");
        check(&["-u", "c:d", "http://me:p@h/"], "c:d");
    }

    #[test]
    fn a_body_is_text_or_a_file() {
        let body = |text| spec(&["-b", text, "http://h/"]).request.body;
        assert_eq!(body("x@y"), Some(BodySpec::Text("x@y".to_owned())));
        assert_eq!(body("@x"), Some(BodySpec::File(InputFile::at("x"))));
        let filler = spec(&["--body-size", "2k", "http://h/"]).request.body;
        assert_eq!(filler, Some(BodySpec::Filler(2_000)));
    }

    /// Checks the stored form of a command line, redacted by its own flags.
    fn check(words: &[&str], expected: &[&str]) {
        assert_eq!(spec(words).command.unwrap_or_default(), expected, "{words:?}");
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
            (vec!["-LkHCookie: a=b; c=d"], vec!["-LkHCookie: [redacted]"]),
            (vec!["--header=COOKIE: a=b"], vec!["--header=COOKIE: [redacted]"]),
            (
                vec!["--header", "Proxy-Authorization:x"],
                vec!["--header", "Proxy-Authorization: [redacted]"],
            ),
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
        check(&["-Lkume:p", URL], &["-Lku[redacted]", URL]);
        check(&["--user=me:p", URL], &["--user=[redacted]", URL]);
        check(&["--user", "me:p", URL], &["--user", "[redacted]", URL]);
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
    }

    #[test]
    fn redaction_can_be_switched_off() {
        let words = ["--no-redact", "-u", "me:p", "-H", "Cookie: SECRET", "http://h/?token=x"];
        check(&words, &words);
    }
}
