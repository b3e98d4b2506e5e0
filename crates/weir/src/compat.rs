//! The command lines of wrk and wrk2. weir accepts them when it is called by either name or with
//! `--compat`, so that scripts for these tools work unchanged. This file parses words only: it uses
//! no file, no name service and no environment.

mod args;
mod flags;
mod getopt;
mod numbers;
mod run;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use weir_runner::{Dialect, RunSpec};

use self::args::{Parsed, parse};
use crate::args::values::condition;
use crate::exit;
use crate::terminal::{self, shown};

/// Returns the tool of this name.
fn dialect_named(name: &OsStr) -> Option<Dialect> {
    [Dialect::Wrk, Dialect::Wrk2].into_iter().find(|dialect| *name == *dialect.to_string())
}

/// A command line in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    dialect: Dialect,
    /// Words of the command line, without weir's own flags.
    argv: Vec<OsString>,
    /// True if `--no-verdict` is absent: weir's own report contains the verdict.
    is_judged: bool,
    /// Conditions of `--abort`.
    abort: Vec<String>,
}

/// Returns the dialect of `argv`, and `argv` without weir's own flags; `None` if the command line
/// is weir's own. The last `--compat` before a `--` decides, otherwise the name by which the
/// program was called.
///
/// # Errors
/// When `--compat` names no dialect, or `--abort` has no condition.
pub(crate) fn command_line_of(argv: &[OsString]) -> Result<Option<CommandLine>> {
    let mut is_judged = true;
    let mut abort = Vec::new();
    let mut words = argv.iter();
    let mut kept: Vec<OsString> = words.next().cloned().into_iter().collect();
    let mut dialect =
        kept.first().and_then(|name| dialect_named(Path::new(name).file_name().unwrap_or(name)));
    let required = |name: &OsStr| {
        let text =
            || format!("unknown value of --compat: {:?}; use wrk or wrk2", name.to_string_lossy());
        dialect_named(name).with_context(text)
    };
    while let Some(word) = words.next() {
        let compat = word.as_bytes().strip_prefix(b"--compat=");
        match (word.as_bytes(), compat) {
            (_, Some(name)) => dialect = Some(required(OsStr::from_bytes(name))?),
            (b"--compat", None) => {
                let name = words.next().map(OsString::as_os_str).unwrap_or_default();
                dialect = Some(required(name)?);
            }
            (b"--no-verdict", None) => is_judged = false,
            (b"--abort", None) => abort.push(words.next().cloned().unwrap_or_default()),
            (word, None) if word.starts_with(b"--abort=") => {
                abort.push(OsStr::from_bytes(&word[b"--abort=".len()..]).to_owned());
            }
            (b"--", None) => kept.extend(iter::once(word).chain(words.by_ref()).cloned()),
            _ => kept.push(word.clone()),
        }
    }
    let Some(dialect) = dialect else { return Ok(None) };
    let options = kept.iter().take_while(|word| *word != "--").map(|word| word.as_bytes());
    for flag in ["--agents", "--spec"] {
        let is_it = |word: &[u8]| {
            word == flag.as_bytes() || word.starts_with(format!("{flag}=").as_bytes())
        };
        if options.clone().any(is_it) {
            bail!("{flag} is no flag of wrk and wrk2: use it with weir's own, without --compat");
        }
    }
    let abort = abort.iter().map(|text| {
        let text = text.to_string_lossy();
        condition(&text).with_context(|| format!("invalid --abort {:?}", shown(&*text)))
    });
    let abort = abort.collect::<Result<_>>()?;
    Ok(Some(CommandLine { dialect, argv: kept, is_judged, abort }))
}

/// Returns the specification of a command line's load; `None` if the line requests the usage, or
/// has an error to which wrk responds with the usage.
///
/// # Errors
/// When the command line is wrong in another way.
pub(crate) fn spec_of(line: &CommandLine) -> Result<Option<RunSpec>> {
    let Ok(args) = parse(line.dialect, &line.argv).args else { return Ok(None) };
    let mut spec = run::spec(line.dialect, &args, line.argv.iter().cloned())?;
    spec.load.abort.clone_from(&line.abort);
    Ok(Some(spec))
}

/// Runs a command line: carries out its load, or prints the usage or the error.
pub(crate) fn run(line: &CommandLine) -> ExitCode {
    let CommandLine { dialect, argv, is_judged, abort } = line;
    let Parsed { stdout, args } = parse(*dialect, argv);
    if let Some(message) = args.as_ref().err().filter(|message| !message.is_empty()) {
        terminal::eprint_lines(message);
    }
    // A closed pipe, as in `wrk --help | head`, is no error.
    let printed = terminal::print(|out| out.write_all(stdout.as_bytes()));
    match args {
        // If standard output cannot be written, printing the results reports it.
        Ok(args) => run::run(*dialect, &args, abort, *is_judged).unwrap_or_else(|error| {
            terminal::eprint_lines(format_args!("{error:#}"));
            exit::of_compat_error(&error)
        }),
        Err(_) if printed.is_err() => ExitCode::from(exit::NOT_WRITTEN),
        Err(_) => ExitCode::from(exit::COMPAT_FAILED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn check(line: &str, expected: Option<(Dialect, &str)>) {
        let found = command_line_of(&words(line)).expect(line);
        let found = found.map(|found| (found.dialect, found.argv));
        assert_eq!(found, expected.map(|(dialect, line)| (dialect, words(line))), "{line}");
    }

    #[test]
    fn a_dialect_may_go_without_a_verdict() {
        for (line, argv, is_judged) in [
            ("weir --compat wrk --no-verdict -c 1 u", "weir -c 1 u", false),
            ("wrk -c 1 u --no-verdict", "wrk -c 1 u", false),
            ("wrk u -- --no-verdict", "wrk u -- --no-verdict", true),
        ] {
            let found = command_line_of(&words(line)).expect(line);
            let dialect = Dialect::Wrk;
            let argv = words(argv);
            let expected = CommandLine { dialect, argv, is_judged, abort: Vec::new() };
            assert_eq!(found, Some(expected), "{line}");
        }
        assert_eq!(command_line_of(&words("weir --no-verdict u")).expect("no dialect"), None);
    }

    #[test]
    fn a_dialect_may_have_conditions() {
        let line =
            ["wrk", "--abort", "errors > 5% for 5s", "u", "--abort=p99 > 1s", "--", "--abort"];
        let line = line.map(OsString::from);
        let found = command_line_of(&line).expect("two conditions").expect("a dialect");
        assert_eq!(found.abort, ["errors > 5% for 5s", "p99 > 1s"]);
        assert_eq!(found.argv, words("wrk u -- --abort"));
        for line in ["wrk u --abort", "wrk u --abort=errors"] {
            let error = format!("{:#}", command_line_of(&words(line)).expect_err(line));
            assert!(error.contains("--abort") && error.contains("'errors > 5% for 5s'"), "{error}");
        }
    }

    #[test]
    fn a_dialect_has_no_agents() {
        for line in ["weir --compat wrk --agents 2 u", "weir --agents=2 --compat wrk2 u"] {
            let error = command_line_of(&words(line)).expect_err(line).to_string();
            assert!(error.contains("--agents is no flag of wrk"), "{line}: {error}");
        }
        check("wrk u -- --agents 2", Some((Dialect::Wrk, "wrk u -- --agents 2")));
        check("weir --agents 2 u", None);
    }

    #[test]
    fn the_name_of_the_program_is_a_dialect() {
        check("wrk -c 1 u", Some((Dialect::Wrk, "wrk -c 1 u")));
        check("wrk2 u", Some((Dialect::Wrk2, "wrk2 u")));
        check("/usr/bin/wrk2 u", Some((Dialect::Wrk2, "/usr/bin/wrk2 u")));
        check("./wrk", Some((Dialect::Wrk, "./wrk")));
        for line in ["weir u", "/opt/wrk/weir u", "wrk3 u", "WRK u", "weir wrk", ""] {
            check(line, None);
        }
    }

    #[test]
    fn compat_names_a_dialect() {
        check("weir --compat wrk -c 1 u", Some((Dialect::Wrk, "weir -c 1 u")));
        check("weir --compat=wrk2 u", Some((Dialect::Wrk2, "weir u")));
        check("weir -c 1 u --compat wrk", Some((Dialect::Wrk, "weir -c 1 u")));
        check("weir u a --compat=wrk b -- c", Some((Dialect::Wrk, "weir u a b -- c")));
        check("wrk --compat wrk2 u", Some((Dialect::Wrk2, "wrk u")));
        check("weir --compat wrk --compat wrk2 u", Some((Dialect::Wrk2, "weir u")));
    }

    #[test]
    fn behind_two_dashes_compat_is_a_word() {
        check("weir u -- --compat wrk", None);
        check("wrk u -- --compat wrk2", Some((Dialect::Wrk, "wrk u -- --compat wrk2")));
        check("weir --compat wrk u -- --compat=x", Some((Dialect::Wrk, "weir u -- --compat=x")));
    }

    #[test]
    fn a_wrong_dialect_is_an_error() {
        for line in [
            "weir --compat ab u",
            "weir --compat=ab u",
            "weir --compat= u",
            "weir u --compat",
            "weir --compat -- u",
            "weir --compat WRK u",
            "wrk --compat weir u",
            "weir --compat ab --compat wrk u",
        ] {
            let error = command_line_of(&words(line)).expect_err(line).to_string();
            assert!(error.contains("use wrk or wrk2"), "{line}: {error}");
        }
    }
}
