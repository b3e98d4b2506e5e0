//! The flags of a run: its load, and what becomes of the result.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Id};
use weir_runner::{RunSpec, credentials};

use super::fleet::FleetArgs;
use super::study::{Consent, Secrets};
use super::words::WORDS_BEHIND_DASHES;
use super::wrong::wrong;
use super::{ResultArgs, SpecArgs};

/// A load, and what becomes of its result.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The load.
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// The machines that carry it out.
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
    /// Its result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    /// Print the plan as JSON, with the first requests of a list, and send nothing
    #[arg(long, conflicts_with_all = ["github", "tui", "listen", "otlp", "print_spec"],
          help_heading = "Output")]
    pub(crate) print_plan: bool,
    /// Send one request, print it and its response with the times of each step and message, and
    /// run no load; of a scenario, the requests of one user; N: that row of the list, or that
    /// user, from 1
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["print_plan", "print_spec", "script", "assertions", "strict",
          "abort", "format", "github", "tui", "listen", "otlp"], help_heading = "Request")]
    pub(crate) debug: Option<Option<u64>>,
    /// Print the specification of the run as JSON, for --spec, and send nothing
    #[arg(long, conflicts_with_all = ["github", "tui", "listen", "otlp"], help_heading = "Output")]
    pub(crate) print_spec: bool,
    /// Run the specification in this file, of --print-spec; -: standard input. Other flags are
    /// those of the result; -H, -u, -b and the URL give values that are redacted in the file
    #[arg(long = "spec", value_name = "FILE", help_heading = "Other")]
    pub(crate) spec_file: Option<PathBuf>,
    /// Run the commands and the script, and send the file, that the file of --spec names, which may
    /// be a stranger's; or give each command again with its flag
    #[arg(long, requires = "spec_file", help_heading = "Other")]
    pub(crate) run_commands: bool,
    /// Flags, defaults and report of wrk or wrk2
    #[arg(long, value_name = "wrk|wrk2", help_heading = "Other")]
    pub(crate) compat: Option<String>,
}

impl RunArgs {
    /// Returns the specification of the load. `argv` is the command line for the document.
    pub(crate) fn spec(&self, argv: impl IntoIterator<Item = OsString>) -> RunSpec {
        let mut spec = self.spec.spec([]);
        let collector = self.result.live.otlp.as_deref().unwrap_or_default();
        let of_collector = credentials::split_userinfo(collector).1.map(str::to_owned);
        spec.redaction.userinfos.extend(of_collector);
        spec.set_command(argv);
        spec
    }

    /// Returns the values that the file of `--spec` lacks.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets {
            url: self.spec.target.url().map(str::to_owned),
            headers: self.spec.request.headers.clone(),
            user: self.spec.credentials.user.clone(),
            body: self.spec.request.body.clone(),
            watch_nginx: self.spec.watch.spec().nginx,
            watch_prometheus: None,
        }
    }

    /// Returns the commands of the file of `--spec` that may run.
    pub(crate) fn consent(&self) -> Consent {
        let watch = self.spec.watch.spec();
        Consent {
            run_commands: self.run_commands,
            script: self.spec.request.script.iter().cloned().collect(),
            capture: watch.captures,
            watch_command: watch.commands,
        }
    }
    /// Checks the flags of the load and of its result.
    ///
    /// # Errors
    /// When one is wrong.
    pub(super) fn check(
        &mut self,
        matches: &ArgMatches,
        command: &Command,
    ) -> Result<(), clap::Error> {
        if self.spec_file.is_some() {
            check_beside_spec(matches, command)?;
            return self.result.check();
        }
        if self.spec.target.words.is_empty() {
            if self.spec.list.from.is_some() {
                self.spec.check(command)?;
                return self.result.check();
            }
            if self.spec.target.has_words_behind_dashes() {
                return Err(wrong(WORDS_BEHIND_DASHES));
            }
            if !self.spec.engine.selfcheck {
                return Err(wrong("name the URL of the server: weir [options] URL"));
            }
            check_beside_selfcheck(matches, command)?;
        }
        self.spec.check(command)?;
        if self.spec.load.part.is_given() && self.result.output.saved.save.is_some() {
            return Err(wrong(
                "--save cannot be used with --part: save the merged document with weir history add",
            ));
        }
        self.result.check()
    }
}

/// Flags that `--spec` allows beside those of the result and of the machines that carry it out: its
/// own, those that give redacted values or name a command that may run.
const BESIDE_SPEC: [&str; 12] = [
    "spec_file",
    "run_commands",
    "print_plan",
    "print_spec",
    "words",
    "headers",
    "user",
    "body",
    "watch_nginx",
    "script",
    "capture",
    "watch_command",
];

/// Flags of the result that `--selfcheck` without a URL has too.
const OF_NOISE_FLOOR: [&str; 2] = ["format", "quiet"];

/// Flags that need a load, beside the flags of its result.
const OF_LOAD: [&str; 4] = ["print_plan", "prove_client", "script", "abort"];

/// Refuses flags that need a load beside `--selfcheck` without a URL.
fn check_beside_selfcheck(matches: &ArgMatches, command: &Command) -> Result<(), clap::Error> {
    let of_result = of_result();
    let of_result = of_result.iter().map(Id::as_str).filter(|id| !OF_NOISE_FLOOR.contains(id));
    let mut given = of_result.chain(OF_LOAD).filter_map(|id| long_given(matches, command, id));
    let text = "--selfcheck alone prints the noise floor and runs no load: add a URL, or leave out";
    given.next().map_or(Ok(()), |long| Err(wrong(format!("{text} --{long}"))))
}

/// Refuses flags of the load beside a file that has them all.
fn check_beside_spec(matches: &ArgMatches, command: &Command) -> Result<(), clap::Error> {
    let of_result = of_result();
    let of_fleet = ids_of(FleetArgs::augment_args(Command::new("fleet")));
    let others = matches.ids().filter(|id| !of_result.contains(id) && !of_fleet.contains(id));
    let others = others.map(Id::as_str).filter(|id| !BESIDE_SPEC.contains(id));
    let text = "cannot be used with --spec: --spec runs the load of its file: leave it out, or \
                change the file";
    let long = others.filter_map(|id| long_given(matches, command, id)).next();
    long.map_or(Ok(()), |long| Err(wrong(format!("--{long} {text}"))))
}

/// Returns the flags of the result.
fn of_result() -> Vec<Id> {
    ids_of(ResultArgs::augment_args(Command::new("result")))
}

fn ids_of(group: Command) -> Vec<Id> {
    group.get_arguments().map(|arg| arg.get_id().clone()).collect()
}

/// Returns the long name of a flag if the command line has it.
fn long_given<'c>(matches: &ArgMatches, command: &'c Command, id: &str) -> Option<&'c str> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == id)?;
    let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
    is_given.then(|| arg.get_long().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Cli;
    use super::super::target::check_unix;
    use super::*;
    use crate::output::Outputs;

    fn parsed(words: &[&str]) -> Result<RunArgs, String> {
        let words = std::iter::once("weir").chain(words.iter().copied());
        Cli::of_words(words).map(|cli| cli.run).map_err(|error| error.to_string())
    }

    fn check_wrong(words: &[&str], part: &str) {
        let error = parsed(words).expect_err(part);
        assert!(error.starts_with("error: ") && error.contains(part), "{words:?}: {error}");
        assert!(error.len() <= 160 && error.lines().count() == 1, "{words:?}: {error}");
        assert!(!error.contains("SECRET"), "{words:?}: {error}");
    }

    #[test]
    fn names_of_headers_are_tokens() {
        for name in ["", " A", "A ", "A B", "Ä", "A\tB", "A(B)", "\"A\"", "A/B", "A\r\nB"] {
            check_wrong(&["-H", &format!("{name}: SECRET"), "http://h/"], "--header name");
        }
        check_wrong(&["-H", "Authorization SECRET", "http://h/"], "\"Authorization\" has no colon");
        for name in ["A", "x-1", "!#$%&'*+-.^_`|~"] {
            parsed(&["-H", &format!("{name}:"), "http://h/"]).expect(name);
        }
    }

    #[test]
    fn a_script_makes_the_requests() {
        let body = "set wrk.body = string.rep('x', BYTES) in the script";
        check_wrong(&["-s", "x.lua", "--body-size", "1k", "http://h/"], body);
        check_wrong(
            &["-s", "x.lua", "-b", "x", "http://h/"],
            "--body cannot be used with --script",
        );
        check_wrong(&["-s", "x.lua", "-X", "PUT", "http://h/"], "set wrk.method in the script");
    }

    #[test]
    fn a_load_has_no_command() {
        let text = "is no command, and a load needs none: weir [options]";
        for verb in ["run", "attack", "start"] {
            check_wrong(&[verb, "http://h/"], &format!("'{verb}' {text} http://h/"));
        }
        check_wrong(&["-c5", "run", "-d2s", "https://me:SECRET@h/"], &format!("{text} URL"));
        check_wrong(&["serach", "http://h/"], "did you mean weir search?");
        check_wrong(&["run"], &format!("{text} URL; for a host of this name http://run/"));
        check_wrong(&["agnt"], "did you mean weir agent?; for a host of this name http://agnt/");
        check_wrong(&["stop"], "'stop' is no command: Ctrl-C ends a load");
        check_wrong(&["list"], "weir history list");
        check_wrong(&["get", "http://h/"], "a load needs none: weir [options] http://h/");
        parsed(&["http://run/"]).expect("a host of this name");
        parsed(&["server"]).expect("a host of one word");
        check_wrong(&["--", "http://h/"], "words behind -- are for a script");
    }

    #[test]
    fn help_is_a_word_too() {
        let text = |words: &[&str]| parsed(words).expect_err("the help");
        assert_eq!(text(&["help"]), text(&["--help"]));
        assert_eq!(text(&["help", "search"]), text(&["search", "--help"]));
        assert_eq!(text(&["help", "history", "trend"]), text(&["history", "trend", "--help"]));
        let none = "there is no help for 'serach': see weir --help, or a topic: load, requests, \
                    lists, streams, connections, tls, output, server, fleet";
        check_wrong(&["help", "serach"], none);
    }

    #[test]
    fn credentials_leave_the_url() {
        let args = parsed(&["http://me:p%40ss@h:80/a@b"]).expect("a URL with a user name");
        let of = |args: &RunArgs| {
            let SpecArgs { target, credentials, .. } = &args.spec;
            (target.url().map(str::to_owned), credentials.userinfo.clone())
        };
        let (url, userinfo) = of(&args);
        assert_eq!(url.as_deref(), Some("http://h:80/a@b"));
        assert_eq!(userinfo.as_deref(), Some("me:p%40ss"));
        let args = parsed(&["http://@h/"]).expect("a URL with an empty user name");
        assert_eq!(of(&args), (Some("http://h/".to_owned()), None));
    }

    #[test]
    fn credentials_are_complete_and_given_once() {
        for user in ["me", "SECRET\u{1}:", ""] {
            check_wrong(&["-u", user, "http://h/"], "--user needs USER:PASS");
        }
        check_wrong(&["-u", "10", "http://h/"], "k6's -u, use -c 10");
        let twice = ["-u", "me:SECRET", "-H", "authorization: SECRET", "http://h/"];
        check_wrong(&twice, "the same header");
        check_wrong(&["-H", "Authorization:", "Bearer", "SECRET", "http://h/"], "too many words");
        check_wrong(&["--redact", ",", "http://h/"], "--redact");
    }

    #[test]
    fn the_noise_floor_alone_has_no_result_of_a_load() {
        for (flags, named) in [
            (["--selfcheck", "-L"].as_slice(), "leave out --latency"),
            (&["--selfcheck", "--tui"], "leave out --tui"),
            (&["--selfcheck", "--raw", "x"], "leave out --raw"),
            (&["--selfcheck", "--assert", "p99 < 1s"], "leave out --assert"),
            (&["--selfcheck", "--prove-client"], "leave out --prove-client"),
            (&["--selfcheck", "-s", "x.lua"], "leave out --script"),
            (&["--selfcheck", "--print-plan"], "leave out --print-plan"),
        ] {
            check_wrong(flags, named);
        }
        parsed(&["--selfcheck", "-q", "--format", "json", "-c5"]).expect("flags of both");
        parsed(&["--selfcheck", "-L", "http://h/"]).expect("a load");
    }

    #[test]
    fn only_the_document_goes_to_standard_output() {
        check_wrong(&["--raw", "-", "http://h/"], "--raw cannot write to standard output");
        check_wrong(&["--assert", "p99 < 1s", "--junit", "-", "http://h/"], "--junit cannot write");
        let args = parsed(&["-q", "-o", "-", "http://h/"]).expect("standard output").result;
        assert!(args.output.files.has_stdout() && !args.is_silent());
        assert_eq!(args.output.files.documents().count(), 0);
    }

    #[test]
    fn names_of_sockets_fit_the_kernel() {
        for (path, is_right) in [
            ("s".repeat(107), true),
            ("s".repeat(108), false),
            (format!("@{}", "s".repeat(107)), true),
            (format!("@{}", "s".repeat(108)), false),
            (String::new(), false),
            ("@".to_owned(), false),
        ] {
            let found = check_unix(Path::new(&path));
            assert_eq!(found.is_ok(), is_right, "{path}: {found:?}");
        }
        check_wrong(&["--unix", &"s".repeat(200), "http://h/"], "the limit for a socket is 107");
    }

    #[test]
    fn a_specification_is_run_as_it_is() {
        for (words, flag) in [
            (&["-c", "5"][..], "--connections"),
            (&["-k"], "--insecure"),
            (&["--watch-pid", "nginx"], "--watch-pid"),
            (&["-X", "PUT"], "--method"),
        ] {
            let words = [&["--spec", "s.json"], words].concat();
            check_wrong(&words, &format!("{flag} cannot be used with --spec"));
        }
        let words = "--spec s.json -q -L -o x.json --assert p99<1s --strict --listen 127.0.0.1:0 \
                     --run-commands -u me:SECRET http://h/";
        parsed(&words.split(' ').collect::<Vec<_>>()).expect("flags of the result");
        let words = "--spec s.json --agents 3 --bus tls://h --bus-within 1m --agents-within 1m \
                     --identity coordinator --on agents --on-loss continue --agent-weight cores";
        parsed(&words.split(' ').collect::<Vec<_>>()).expect("flags of the machines");
        let error = parsed(&["--run-commands", "http://h/"]).expect_err("there is no file");
        assert!(error.contains("--run-commands has no effect without --spec FILE"), "{error}");
    }
}
