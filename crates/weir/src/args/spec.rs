//! Conversion of flags to the specification of a run. It goes this way only, and uses the flags
//! alone: no file, no name service, no machine.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use weir_result::{
    Arrivals, Closer, ConnectionPlan, Header, Load, Pacing, Rate, StampChoice, Wait,
};
use weir_runner::credentials;
use weir_runner::{
    AddressFamily, BodySpec, CheckSpec, EngineSpec, HttpChoice, HttpSpec, InputFile, IoChoice,
    LoadSpec, RedactionSpec, RequestSpec, RunSpec, ScriptSpec, TargetSpec, Warmup, WitnessChoice,
};

use super::RunArgs;
use super::choices::{
    self, ArrivalsChoice, CloseChoice, HttpVersionChoice, PacingChoice, TimestampsChoice,
    WaitChoice,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Length of the window by default, in nanoseconds.
const DURATION_NS: u64 = 10 * SECOND_NS;

/// URL of a run that has none, such as `--selfcheck` alone.
const NO_URL: &str = "http://localhost/";

impl RunArgs {
    /// Returns the specification of the load. `argv` is the command line for the document.
    pub(crate) fn spec(&self, argv: impl IntoIterator<Item = OsString>) -> RunSpec {
        let url = self.words.first().map_or(NO_URL, String::as_str);
        let collector = self.live.otlp.as_deref().unwrap_or_default();
        let of_collector = credentials::split_userinfo(collector).1.map(str::to_owned);
        let mut spec = RunSpec {
            target: TargetSpec {
                url: url.to_owned(),
                unix: self.unix.clone(),
                family: self.family(),
                wait_ns: self.wait_for_server,
            },
            request: self.request(),
            http: HttpSpec {
                version: http(self.http),
                streams: self.streams,
                window_bytes: self.h2_window,
                header_table_bytes: self.hpack_table,
            },
            tls: self.tls.spec(),
            script: self.script.as_ref().map(|file| ScriptSpec {
                file: InputFile::at(file),
                args: self.script_args().cloned().collect(),
                memory_bytes: self.script_memory,
            }),
            load: self.load(),
            connection: ConnectionPlan {
                requests: self.requests_per_connection,
                lifetime_ns: self.connection_lifetime,
                close: self.close.map(closer),
                rate: self.connect_rate,
                sources: self.source_ip.clone(),
                destinations: self.connect_to.clone(),
            },
            engine: EngineSpec {
                threads: self.threads,
                pin: self.pin.clone(),
                io: io(self.io),
                pacing: self.pacing.map(pacing),
                wait: wait(self.wait),
                tick_ns: self.tick,
                stamps: stamps(self.timestamps),
            },
            checks: CheckSpec {
                preflight: !self.no_preflight,
                witness: witness(self.witness),
                selfcheck: self.selfcheck,
                prove_client: self.prove_client,
            },
            watch: self.watch.spec(),
            redaction: RedactionSpec {
                off: self.no_redact,
                names: self.redact.clone(),
                users: self.user.iter().cloned().collect(),
                userinfos: self.userinfo.iter().cloned().chain(of_collector).collect(),
            },
            part: self.part,
            start_at_unix_ns: self.start_at,
            ..RunSpec::new(url)
        };
        spec.set_command(argv);
        spec
    }

    fn family(&self) -> Option<AddressFamily> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(AddressFamily::Ipv4),
            (_, true) => Some(AddressFamily::Ipv6),
            (false, false) => None,
        }
    }

    fn request(&self) -> RequestSpec {
        let headers = self.headers.iter().filter_map(|line| line.split_once(':'));
        let header = |(name, value): (&str, &str)| Header {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
        };
        let of_url = self.userinfo.as_deref().map(credentials::decoded);
        RequestSpec {
            method: self.method.clone(),
            headers: headers.map(header).collect(),
            basic_auth: self.user.clone().or(of_url),
            body: self.body(),
        }
    }

    fn body(&self) -> Option<BodySpec> {
        let given = self.body.as_deref().map(|body| match body.strip_prefix('@') {
            Some(path) => BodySpec::File(InputFile::at(Path::new(path))),
            None => BodySpec::Text(body.to_owned()),
        });
        given.or(self.body_size.map(BodySpec::Filler))
    }

    fn load(&self) -> LoadSpec {
        let duration_ns = self.duration.or_else(|| self.requests.is_none().then_some(DURATION_NS));
        LoadSpec {
            model: model(self.rate, self.arrivals, self.seed),
            connections: self.connections,
            pipeline: self.pipeline,
            warmup: self.warmup.unwrap_or_else(|| default_warmup(duration_ns)),
            duration_ns,
            requests: self.requests,
            timeout_ns: self.timeout,
            connect_timeout_ns: self.connect_timeout.unwrap_or(self.timeout),
            drain_ns: self.drain,
        }
    }
}

/// The load model: an open loop if there is a rate.
pub(crate) fn model(rate: Option<Rate>, arrivals: ArrivalsChoice, seed: Option<u64>) -> Load {
    let Some(rate) = rate else { return Load::ClosedLoop };
    let arrivals = match arrivals {
        ArrivalsChoice::Uniform => Arrivals::Uniform,
        ArrivalsChoice::Poisson => Arrivals::Poisson { seed: seed.unwrap_or_else(draw_seed) },
    };
    Load::OpenLoop { rate, arrivals }
}

/// Draws a seed that is short enough to type again.
pub(crate) fn draw_seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

/// The warm-up by default: `clamp(10% of -d, 2 s, 10 s)`, or none if only a number of requests ends
/// the window.
fn default_warmup(duration_ns: Option<u64>) -> Warmup {
    let tenth = |duration_ns: u64| (duration_ns / 10).clamp(2 * SECOND_NS, 10 * SECOND_NS);
    Warmup { span_ns: duration_ns.map_or(0, tenth), is_auto: false }
}

fn closer(choice: CloseChoice) -> Closer {
    match choice {
        CloseChoice::Server => Closer::Server,
        CloseChoice::Client => Closer::Client,
    }
}

fn http(choice: HttpVersionChoice) -> HttpChoice {
    match choice {
        HttpVersionChoice::Auto => HttpChoice::Auto,
        HttpVersionChoice::Http10 => HttpChoice::Http10,
        HttpVersionChoice::Http11 => HttpChoice::Http11,
        HttpVersionChoice::Http2 => HttpChoice::Http2,
    }
}

fn io(choice: choices::IoChoice) -> IoChoice {
    match choice {
        choices::IoChoice::Auto => IoChoice::Auto,
        choices::IoChoice::Uring => IoChoice::IoUring,
        choices::IoChoice::Epoll => IoChoice::Epoll,
    }
}

fn pacing(choice: PacingChoice) -> Pacing {
    match choice {
        PacingChoice::Sleep => Pacing::Sleep,
        PacingChoice::Hybrid => Pacing::Hybrid,
        PacingChoice::Spin => Pacing::Spin,
    }
}

fn wait(choice: WaitChoice) -> Wait {
    match choice {
        WaitChoice::Auto => Wait::Auto,
        WaitChoice::Latency => Wait::Latency,
        WaitChoice::Throughput => Wait::Throughput,
        WaitChoice::Spin => Wait::Spin,
    }
}

fn stamps(choice: TimestampsChoice) -> StampChoice {
    match choice {
        TimestampsChoice::None => StampChoice::None,
        TimestampsChoice::Sample => StampChoice::Sample,
        TimestampsChoice::All => StampChoice::All,
    }
}

fn witness(choice: choices::WitnessChoice) -> WitnessChoice {
    match choice {
        choices::WitnessChoice::Auto => WitnessChoice::Auto,
        choices::WitnessChoice::On => WitnessChoice::On,
        choices::WitnessChoice::Off => WitnessChoice::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    fn spec(words: &[&str]) -> RunSpec {
        let argv = || std::iter::once("weir").chain(words.iter().copied()).map(OsString::from);
        Cli::of_words(argv()).expect("valid flags").run.spec(argv().skip(1))
    }

    /// Likewise, of a recorded command line.
    fn recorded(words: &[&str]) -> RunSpec {
        let argv = || std::iter::once("weir").chain(words.iter().copied()).map(OsString::from);
        Cli::of_recorded(argv()).expect("valid flags").run.spec(argv().skip(1))
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
        assert_eq!(recorded(words).command.unwrap_or_default(), expected, "{words:?}");
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
