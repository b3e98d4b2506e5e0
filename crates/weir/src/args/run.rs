//! Checks of flag combinations, and of words that are no flags. They use words alone: no file, no
//! name service.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory};
use weir_runner::credentials;
use weir_text::similar;

use super::hints::wrong;
use super::{Cli, ResultArgs, RunArgs, SpecArgs};

/// Flags that `--spec` allows beside those of the result: its own, and those that give redacted
/// values or name a command that may run.
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

/// Checks the flags of a load and of its result.
///
/// # Errors
/// When a flag is wrong.
pub(super) fn check(
    args: &mut RunArgs,
    matches: &ArgMatches,
    command: &Command,
) -> Result<(), clap::Error> {
    if args.spec_file.is_some() {
        check_beside_spec(matches, command)?;
        return args.result.check();
    }
    if args.spec.target.words.is_empty() && !args.spec.checks.selfcheck {
        return Err(wrong("name the URL of the server: weir [options] URL".to_owned()));
    }
    if args.spec.target.words.is_empty() {
        check_beside_selfcheck(matches)?;
    }
    args.spec.check()?;
    if args.spec.part.part.is_some() && args.result.output.saved.save.is_some() {
        let text = "--save cannot be used with --part: save the merged document with weir history \
                    add";
        return Err(wrong(text.to_owned()));
    }
    args.result.check()
}

/// Flags of the result that `--selfcheck` without a URL has too.
const OF_NOISE_FLOOR: [&str; 2] = ["format", "quiet"];

/// Flags that need a load, beside those of its result.
const OF_LOAD: [&str; 3] = ["print_plan", "prove_client", "script"];

/// Refuses flags that need a load beside `--selfcheck` without a URL.
fn check_beside_selfcheck(matches: &ArgMatches) -> Result<(), clap::Error> {
    let of_result = ResultArgs::augment_args(Command::new("result"));
    let of_result = of_result.get_arguments().map(|arg| arg.get_id().as_str());
    let of_result = of_result.filter(|id| !OF_NOISE_FLOOR.contains(id));
    let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let Some(id) = of_result.chain(OF_LOAD).find(is_given) else { return Ok(()) };
    let command = Cli::command();
    let found = command.get_arguments().find(|arg| arg.get_id() == id);
    let long = found.and_then(Arg::get_long).unwrap_or_default();
    let text = "--selfcheck alone prints the noise floor and runs no load: add a URL, or leave out";
    Err(wrong(format!("{text} --{long}")))
}

/// Refuses flags of the load beside a file that has them all.
fn check_beside_spec(matches: &ArgMatches, command: &Command) -> Result<(), clap::Error> {
    let of_result = ResultArgs::augment_args(Command::new("result"));
    let of_result: Vec<_> = of_result.get_arguments().map(Arg::get_id).collect();
    let is_load = |id: &&clap::Id| {
        let is_flag = command.get_arguments().any(|arg| arg.get_id() == *id);
        let is_given = matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        is_flag && is_given && !of_result.contains(id) && !BESIDE_SPEC.contains(&id.as_str())
    };
    let Some(id) = matches.ids().find(is_load) else { return Ok(()) };
    let found = command.get_arguments().find(|arg| arg.get_id() == id);
    let long = found.and_then(Arg::get_long).unwrap_or_default();
    let text = "--spec runs the load of its file: leave it out, or change the file";
    Err(wrong(format!("--{long} cannot be used with --spec: {text}")))
}

/// Checks the words beside the flags: one URL, unless a script gets more.
///
/// # Errors
/// When one is no URL, or one too many.
pub(super) fn check_words(args: &SpecArgs) -> Result<(), clap::Error> {
    if args.request.script.is_some() {
        return Ok(());
    }
    let first = args.target.words.first();
    if let Some(text) = first.and_then(|first| of_verb(first, &mut args.target.script_args())) {
        return Err(wrong(text));
    }
    let Some(word) = args.target.script_args().next() else { return Ok(()) };
    let command = Cli::command();
    let commands = command.get_subcommands().map(Command::get_name);
    if let Some(first) = first
        && let Some(known) = similar(first, commands)
    {
        return Err(wrong(format!("'{first}' is no command: did you mean weir {known}?")));
    }
    let advice = "give one URL, put values with blanks into quotes, and a script after -s";
    // `-H Authorization: Bearer …` without quotes: the words are the credentials.
    let is_credentials = args.request.header_names().any(credentials::is_name);
    Err(wrong(match is_credentials {
        true => format!("too many words: {advice}"),
        false => format!("'{word}' is one word too many: {advice}"),
    }))
}

/// Commands of other tools that begin a load.
const VERBS: [&str; 8] = ["run", "attack", "start", "load", "bench", "test", "http", "loadtest"];

/// The error for `weir run URL`: a load needs no command.
fn of_verb<'a>(first: &str, others: &mut impl Iterator<Item = &'a String>) -> Option<String> {
    if first == "help" {
        let command = others.next()?;
        return Some(format!("there is no help for '{command}': weir --help lists all commands"));
    }
    if !VERBS.contains(&first) {
        return None;
    }
    let text = format!("'{first}' is no command, and a load needs none: weir [options]");
    let others: Vec<&String> = others.collect();
    if others.is_empty() {
        return Some(format!("{text} URL; for a host of this name http://{first}/"));
    }
    let url = others.into_iter().find(|word| word.contains(['/', '.', ':']));
    let url = url.filter(|url| !url.contains('@')).map_or("URL", String::as_str);
    Some(format!("{text} {url}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        parsed(&["http://run/"]).expect("a host of this name");
    }

    #[test]
    fn help_is_a_word_too() {
        let text = |words: &[&str]| parsed(words).expect_err("the help");
        assert_eq!(text(&["help"]), text(&["--help"]));
        assert_eq!(text(&["help", "search"]), text(&["search", "--help"]));
        assert_eq!(text(&["help", "history", "trend"]), text(&["history", "trend", "--help"]));
        let none = "there is no help for 'serach': weir --help lists all commands";
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
        assert!(args.output.prints_document() && !args.is_silent());
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
        let error = parsed(&["--run-commands", "http://h/"]).expect_err("there is no file");
        assert!(error.contains("--spec <FILE>"), "{error}");
    }
}
