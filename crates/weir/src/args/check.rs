//! Checks of flag combinations, and of values that clap does not validate. They use words alone: no
//! file, no name service.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::CommandFactory;
use weir_result::similar;
use weir_runner::credentials;

use super::hints::wrong;
use super::{ArrivalsChoice, Cli, RunArgs, hints, is_stdout, peers};
use crate::output::{Output, Outputs};

/// Maximum bytes of a Unix socket's name: `sun_path` of sockaddr_un(7) without its last NUL.
pub(crate) const UNIX_MAX_BYTES: usize = 107;

/// Checks the flags of a load, and moves a user name and password out of the URL.
///
/// # Errors
/// When a flag is wrong.
pub(super) fn check(args: &mut RunArgs) -> Result<(), clap::Error> {
    check_script(args)?;
    if let Some(url) = args.words.first_mut() {
        let (plain, userinfo) = credentials::split_userinfo(url);
        let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty()).map(str::to_owned);
        *url = plain;
        args.userinfo = userinfo;
    }
    for header in &args.headers {
        check_header(header)?;
    }
    check_user(args)?;
    check_part(args).map_err(wrong)?;
    args.watch.check().map_err(wrong)?;
    let named = [("--raw", &args.raw), ("--junit", &args.junit)];
    for (flag, path) in named {
        if path.as_deref().is_some_and(is_stdout) {
            let text = "only --output can; give a file name";
            return Err(wrong(format!("{flag} cannot write to standard output: {text}")));
        }
    }
    let rows: Vec<&str> = args.raw.iter().map(|_| "--raw").chain(rows_of(&args.output)).collect();
    if let [one, other, ..] = rows[..] {
        let text = "the rows of all requests go to one file";
        return Err(wrong(format!("{one} and {other}: {text}; leave one out")));
    }
    if args.assertions.is_empty() {
        let exports = args.exports();
        let exported = exports.iter().map(|export| (export.flag, export.format));
        let mut formats = exported.chain([("--format", args.format)]);
        if let Some((flag, format)) = formats.find(|(_, format)| format.needs_assertions) {
            let format = format.name;
            return Err(wrong(format!("{flag} {format} needs an assertion; add --assert")));
        }
    }
    if args.redact.iter().any(|name| name.trim().is_empty()) {
        let text = "--redact needs the name of a header or query parameter: one name is empty";
        return Err(wrong(text.to_owned()));
    }
    args.unix.as_deref().map_or(Ok(()), |path| check_unix(path).map_err(wrong))
}

/// The names of the outputs for rows.
fn rows_of(outputs: &[Output]) -> impl Iterator<Item = &'static str> {
    outputs.rows().map(|_| "-o FILE.parquet")
}

fn check_script(args: &RunArgs) -> Result<(), clap::Error> {
    if args.script.is_some() {
        let (flag, remedy) = match args {
            RunArgs { method: Some(_), .. } => ("--method", "set wrk.method"),
            RunArgs { body: Some(_), .. } => ("--body", "set wrk.body"),
            RunArgs { body_size: Some(_), .. } => {
                ("--body-size", "set wrk.body = string.rep('x', BYTES)")
            }
            _ => return Ok(()),
        };
        let text = "cannot be used with --script, which makes the requests";
        return Err(wrong(format!("{flag} {text}: {remedy} in the script")));
    }
    let first = args.words.first();
    if let Some(text) = first.and_then(|first| of_verb(first, &mut args.script_args())) {
        return Err(wrong(text));
    }
    let Some(word) = args.script_args().next() else { return Ok(()) };
    let command = Cli::command();
    let commands = command.get_subcommands().map(clap::Command::get_name);
    if let Some(first) = first
        && let Some(known) = similar(first, commands)
    {
        return Err(wrong(format!("'{first}' is no command: did you mean weir {known}?")));
    }
    let advice = "give one URL, put values with blanks into quotes, and a script after -s";
    // `-H Authorization: Bearer …` without quotes: the words are the credentials.
    let is_credentials = args.headers.iter().any(|header| {
        header.split_once(':').is_some_and(|(name, _)| credentials::is_name(name.trim()))
    });
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

/// Checks that a header has a name that RFC 9110 §5.1 allows. The error does not repeat its value.
fn check_header(header: &str) -> Result<(), clap::Error> {
    let Some((name, _)) = header.split_once(':') else {
        let word = header.split_whitespace().next().unwrap_or_default();
        return Err(wrong(format!("--header {word:?} has no colon: write \"Name: value\"")));
    };
    if is_token(name) {
        return Ok(());
    }
    Err(wrong(format!(
        "--header name {name:?} is not a token (RFC 9110); use letters, digits and !#$%&'*+-.^_`|~"
    )))
}

/// True if a text is a token (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// Checks that all parts of a load have the same plan, and each a worker.
fn check_part(args: &RunArgs) -> Result<(), String> {
    let Some(part) = args.part else { return Ok(()) };
    if args.save.is_some() {
        let text = "--save cannot be used with --part: save the merged document with weir \
                    history add";
        return Err(text.to_owned());
    }
    let Some(threads) = args.threads else {
        return Err("--part needs --threads: the number over all parts, the same on each machine"
            .to_owned());
    };
    let (count, threads) = (part.count(), threads.min(args.connections));
    if threads < count {
        return Err(format!(
            "--part: {count} parts need at least one thread and connection each: raise --threads \
             or --connections to {count} or more"
        ));
    }
    if args.arrivals == ArrivalsChoice::Poisson && args.seed.is_none() {
        return Err("--part needs --seed with random arrivals: the same on each machine".to_owned());
    }
    if args.warmup.is_some_and(|warmup| warmup.is_auto) {
        let text = "--part cannot be used with --warmup auto: each part would end its own \
                    warm-up; give a length";
        return Err(text.to_owned());
    }
    Ok(())
}

fn check_user(args: &RunArgs) -> Result<(), clap::Error> {
    let Some(user) = &args.user else { return Ok(()) };
    // A recorded command line: the value is refused later, unless it is given again.
    let is_redacted = user == weir_runner::REDACTED;
    if !is_redacted && (!user.contains(':') || user.contains(char::is_control)) {
        let hint = hints::of_one_dash(&format!("-u{user}"), None);
        let hint = hint.or_else(|| peers::tip("-u", user).map(|tip| format!("--user: {tip}")));
        let text = "--user needs USER:PASS without control characters; write 'USER:' for no \
                    password";
        return Err(wrong(hint.unwrap_or_else(|| text.to_owned())));
    }
    let names = args.headers.iter().filter_map(|header| header.split_once(':'));
    match names.into_iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        true => Err(wrong(
            "--user and --header Authorization set the same header: give one of them".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Checks that the kernel accepts the name of a Unix socket.
///
/// # Errors
/// When it is empty or too long; the message contains the limit.
pub(crate) fn check_unix(path: &Path) -> Result<(), String> {
    let bytes = path.as_os_str().as_bytes();
    // An abstract name has a NUL where the path has its @, and needs none behind it.
    let name = bytes.strip_prefix(b"@").unwrap_or(bytes);
    match name.len() {
        0 => Err("--unix names no socket: give its path, or @NAME".to_owned()),
        1..=UNIX_MAX_BYTES => Ok(()),
        long => Err(format!(
            "--unix path has {long} bytes: the limit for a socket is {UNIX_MAX_BYTES}; use a \
             relative path or a symbolic link"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;

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
        assert_eq!(args.words[0], "http://h:80/a@b");
        assert_eq!(args.userinfo.as_deref(), Some("me:p%40ss"));
        let args = parsed(&["http://@h/"]).expect("a URL with an empty user name");
        assert_eq!((args.words[0].as_str(), args.userinfo.as_deref()), ("http://h/", None));
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
    fn only_the_document_goes_to_standard_output() {
        check_wrong(&["--raw", "-", "http://h/"], "--raw cannot write to standard output");
        check_wrong(&["--assert", "p99 < 1s", "--junit", "-", "http://h/"], "--junit cannot write");
        let args = parsed(&["-q", "-o", "-", "http://h/"]).expect("standard output");
        assert!(args.prints_document() && !args.is_silent());
        assert_eq!(args.output.documents().count(), 0);
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
}
