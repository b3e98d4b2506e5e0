//! Errors about flags, with hints for users of other load generators. Except for [`check_quiet`],
//! they apply only to a command line that clap has refused: no hint replaces what clap accepts.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};
use weir_text::similar;
use weir_text::units::parse_rate;

use super::peers::{self, of_one_dash};
use super::unused;
use super::wrong::wrong;

/// Returns `error`, or one of ours: a flag that is repeated or abbreviated, or that another tool
/// has.
pub(super) fn explain(error: clap::Error, argv: &[OsString], root: &Command) -> clap::Error {
    let words = flag_words(argv);
    let root = &built(root);
    let text = |kind| context(&error, kind);
    let flag = text(ContextKind::InvalidArg);
    let value = text(ContextKind::InvalidValue);
    if error.kind() == ErrorKind::ArgumentConflict && flag == text(ContextKind::PriorArg) {
        return given_twice(without_value(&flag));
    }
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if words.first().is_some_and(|word| root.find_subcommand(word).is_some()) {
        let abbreviated = is_unknown.then(|| of_abbreviated(&flag, &words, root)).flatten();
        return abbreviated.map_or(error, wrong);
    }
    match error.kind() {
        ErrorKind::UnknownArgument => wrong(
            of_unknown(&flag, &words, root)
                .or_else(|| of_abbreviated(&flag, &[], root))
                .unwrap_or_else(|| misspelled(&flag, root)),
        ),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let letter = letter_of(&flag, root);
            let hint = letter.and_then(|letter| of_value(letter, &value, &words));
            let tip = letter.and_then(|letter| peers::tip(&format!("-{letter}"), &value));
            match (hint, tip) {
                (Some(hint), _) => wrong(hint),
                (None, Some(tip)) => with_tip(error, tip),
                (None, None) => error,
            }
        }
        ErrorKind::MissingRequiredArgument => unused::of_words(&words).unwrap_or(error),
        ErrorKind::ArgumentConflict => conflict(&error, &flag).map_or(error, wrong),
        ErrorKind::TooManyValues if letter_of(&flag, root) == Some('q') => {
            of_quiet(&value).map_or(error, wrong)
        }
        _ => error,
    }
}

/// Reasons why other flags cannot stand beside these.
const CONFLICTS: [(&str, &str); 8] = [
    ("--replay", "the log has the requests and their times"),
    ("--stages", "the stages have the rates and their times"),
    ("--body-lines", "each line of the file is a body"),
    ("--form-field", "the form is the body"),
    ("--body-size", "both are the body"),
    ("--script", "the script makes the requests"),
    ("--from", "the list has the requests"),
    ("--close", "each request has a connection of its own"),
];

/// Returns the error for a flag that cannot be used with others: which, why, and what to do.
fn conflict(error: &clap::Error, flag: &str) -> Option<String> {
    let others = match error.get(ContextKind::PriorArg)? {
        ContextValue::String(other) => vec![other.clone()],
        ContextValue::Strings(others) => others.clone(),
        _ => return None,
    };
    let other = without_value(others.first()?);
    let flag = without_value(flag);
    let known = CONFLICTS.iter().find(|(owner, _)| *owner == flag || *owner == other);
    Some(match known {
        Some((owner, reason)) => {
            let barred = if *owner == flag { other } else { flag };
            format!("{barred} cannot be used with {owner}, as {reason}: leave one of them out")
        }
        None => format!("{flag} cannot be used with {other}: leave one of them out"),
    })
}

/// A text that clap's error has, or an empty one.
fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Returns the error for the command line of a study's run. A flag of a single run's result is
/// named as such.
pub(super) fn of_study_run(error: clap::Error, argv: &[OsString], root: &Command) -> clap::Error {
    let flag = context(&error, ContextKind::InvalidArg);
    let name = without_value(&flag);
    let is_it = |arg: &&Arg| {
        let long = arg.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long));
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        long || short.as_deref() == Some(name)
    };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    match is_unknown && built(root).get_arguments().any(|it| is_it(&it)) {
        true => single_run(name),
        false => explain(error, argv, root),
    }
}

/// The error for a flag that no run of a study has.
pub(super) fn single_run(flag: &str) -> clap::Error {
    wrong(match flag {
        "--assert" | "--assert-confidence" | "--strict" => format!(
            "{flag} judges one run, and a study has a criterion of its own: weir ab --fail-on, or \
             the objective of weir search"
        ),
        "--abort" => format!(
            "{flag} ends one run early, and the trials of a study have one length: leave it out"
        ),
        _ => format!("{flag} is for a single run: leave it out of a study"),
    })
}

/// The name of a flag without its value's name: `--duration` of `--duration <T>`.
fn without_value(flag: &str) -> &str {
    flag.split([' ', '[', '=']).next().unwrap_or(flag)
}

/// The error for the beginning of a flag's name. It would mean another flag once a new one begins
/// likewise. `words` are the command line's, from its commands on.
fn of_abbreviated(flag: &str, words: &[&str], root: &Command) -> Option<String> {
    let command = words.iter().try_fold(root, |command, word| {
        // The flags of the innermost command.
        command.find_subcommand(word).ok_or(command)
    });
    let command = command.unwrap_or_else(|innermost| innermost);
    let begun = flag.strip_prefix("--").filter(|begun| !begun.is_empty())?;
    let longs = command.get_arguments().filter_map(Arg::get_long);
    let meant: Vec<String> =
        longs.filter(|long| long.starts_with(begun)).map(|long| format!("--{long}")).collect();
    match &meant[..] {
        [] => None,
        [one] => Some(format!("unknown flag {flag}: write {one} in full")),
        several if several.len() > 5 => None,
        [several @ .., last] => {
            Some(format!("unknown flag {flag}: write {} or {last} in full", several.join(", ")))
        }
    }
}

/// Refuses `-q 100`, a rate in other tools: here the number would be taken as a URL.
///
/// # Errors
/// When a number follows `-q`.
pub(super) fn check_quiet(argv: &[OsString], root: &Command) -> Result<(), clap::Error> {
    let words = flag_words(argv);
    let root = &built(root);
    let mut pairs = words.windows(2);
    let number = pairs.find_map(|pair| {
        let (last, rest) = cluster(pair[0], root).last()?;
        (last == 'q' && rest.is_empty()).then(|| of_quiet(pair[1]))?
    });
    number.map_or(Ok(()), |hint| Err(wrong(hint)))
}

/// Refuses `weir history --history A list --history B`. clap accepts a flag of all actions on each
/// side of the action, and takes one of them.
///
/// # Errors
/// When it is there twice.
pub(super) fn check_history(argv: &[OsString]) -> Result<(), clap::Error> {
    let words = flag_words(argv);
    let is_flag = |word: &&&str| **word == "--history" || word.starts_with("--history=");
    match words.first() == Some(&"history") && words.iter().filter(is_flag).count() > 1 {
        true => Err(given_twice("--history")),
        false => Ok(()),
    }
}

/// The error for a flag that is repeated and no list.
fn given_twice(flag: &str) -> clap::Error {
    wrong(format!("{flag} is given twice: leave one out"))
}

fn of_quiet(value: &str) -> Option<String> {
    parse_rate(value).ok()?;
    Some(format!(
        "-q {value}: -q is --quiet; oha's rate is -R {value}, and hey's, which is per worker, -R \
         with {value} times -c"
    ))
}

/// Rewrites `weir help`, and `weir help search`, to the flag that prints it.
pub(super) fn with_help_flag(mut argv: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let Some((_, of)) = argv.get(1..).and_then(<[OsString]>::split_first) else { return argv };
    let mut commands = of.iter().map(|word| word.to_str());
    let found = commands.try_fold(command, |command, word| command.find_subcommand(word?));
    if argv[1] == "help" && found.is_some() {
        argv.remove(1);
        argv.push("--help".into());
    }
    argv
}

/// The words before `--`, without the program's name. A word that is not UTF-8 becomes empty, as it
/// is no flag.
fn flag_words(argv: &[OsString]) -> Vec<&str> {
    let words = argv.iter().skip(1).take_while(|word| *word != "--");
    words.map(|word| word.to_str().unwrap_or_default()).collect()
}

/// The error for a flag that no tool has. clap's own is long, advises to pass it as a value, and
/// names flags that have little in common with it.
fn misspelled(flag: &str, root: &Command) -> String {
    let longs = root.get_arguments().filter_map(Arg::get_long);
    match flag.strip_prefix("--").and_then(|name| similar(name, longs)) {
        None => format!("unknown flag {flag}: weir --help lists all flags"),
        Some(similar) => format!("unknown flag {flag}: did you mean --{similar}?"),
    }
}

/// The hint for a flag that clap does not define: a long one, or one letter.
fn of_unknown(flag: &str, words: &[&str], root: &Command) -> Option<String> {
    if flag.starts_with("--") {
        let (index, value) = words.iter().enumerate().find_map(|(index, word)| {
            let rest = word.strip_prefix(flag)?;
            (rest.is_empty() || rest.starts_with('=')).then_some((index, rest.strip_prefix('=')))
        })?;
        return peers::hint(flag, value.or_else(|| following(words, index)));
    }
    let letter = flag.chars().nth(1)?;
    let (index, rest) = words.iter().enumerate().find_map(|(index, word)| {
        let (_, rest) = cluster(word, root).find(|(found, _)| *found == letter)?;
        Some((index, rest))
    })?;
    let word = words[index];
    if let Some(hint) = of_one_dash(word, following(words, index)) {
        return Some(hint);
    }
    if let Some(number) = word.split_once('q').map(|(_, number)| number)
        && (letter == '=' || letter.is_ascii_digit())
    {
        return of_quiet(number.trim_start_matches('='));
    }
    let attached = Some(rest.strip_prefix('=').unwrap_or(rest)).filter(|rest| !rest.is_empty());
    peers::hint(flag, attached.or_else(|| following(words, index)))
}

/// The hint for `-duration=5s`, which clap reads as `-d uration=5s`.
fn of_value(letter: char, value: &str, words: &[&str]) -> Option<String> {
    let word = format!("-{letter}{value}");
    let index = words.iter().position(|found| *found == word)?;
    of_one_dash(&word, following(words, index))
}

/// Adds a tip to clap's own error.
fn with_tip(mut error: clap::Error, tip: String) -> clap::Error {
    let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tips);
    error
}

/// The word after a flag, if it may be its value.
fn following<'w>(words: &[&'w str], index: usize) -> Option<&'w str> {
    words.get(index + 1).copied().filter(|next| !next.starts_with('-'))
}

/// The complete set of flags: clap adds some of them only when it builds the command.
fn built(root: &Command) -> Command {
    let mut command = root.clone();
    command.build();
    command
}

/// The letter of a flag as clap names it: `--duration <T>`.
fn letter_of(flag: &str, root: &Command) -> Option<char> {
    root.get_arguments().find(|arg| arg.to_string() == flag).and_then(Arg::get_short)
}

/// The letters of a word with one dash, each with the text after it, up to the first one that takes
/// a value.
fn cluster<'w>(word: &'w str, root: &'w Command) -> impl Iterator<Item = (char, &'w str)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let letters = letters.unwrap_or_default();
    let takes_value = move |letter| {
        let known = root.get_arguments().find(|arg| arg.get_short() == Some(letter));
        known.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
    };
    let mut is_over = false;
    letters.char_indices().map_while(move |(at, letter)| {
        let is_read = !is_over;
        is_over |= takes_value(letter);
        is_read.then(|| (letter, &letters[at + letter.len_utf8()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Cli;

    /// The error message of a command line that is refused.
    fn message(line: &str) -> String {
        let words = std::iter::once("weir").chain(line.split_whitespace());
        match Cli::of_words(words) {
            Ok(_) => panic!("accepted: {line}"),
            Err(error) => error.to_string(),
        }
    }

    fn check_hint(line: &str, expected: &str) {
        let found = message(line);
        assert!(found.starts_with("error: ") && found.contains(expected), "{line}: {found}");
    }

    #[test]
    fn flags_of_other_tools_have_hints() {
        for (line, expected) in [
            ("-z 30s http://h/", "error: unknown flag -z: that is hey's duration; use -d 30s\n"),
            ("-z30s http://h/", "use -d 30s\n"),
            ("-z=30s http://h/", "use -d 30s\n"),
            ("-Lz 30s http://h/", "use -d 30s\n"),
            ("-c5 -z http://h/", "use -d T\n"),
            ("http://h/ -z", "use -d T\n"),
            ("--rps 500 http://h/", "use -R 500\n"),
            ("--rps=500 http://h/", "use -R 500\n"),
            ("--vus 10 http://h/", "use -c 10\n"),
            ("--latencies http://h/", "use -L"),
            ("-x localhost:3128 http://h/", "proxy"),
            ("-m PUT http://h/", "use -X PUT\n"),
            ("-a me:SECRET http://h/", "use -u USER:PASS\n"),
            ("-D body.json http://h/", "use -b @body.json\n"),
            ("-H A:z -A text/html http://h/", "use -H 'Accept: text/html'\n"),
            ("-rate=50/1s http://h/", "unknown flag -rate: that is the rate"),
            ("-rate 50 http://h/", "use -R 50\n"),
            (
                "-duration=5s http://h/",
                "unknown flag -duration: that is vegeta's duration; use -d 5s",
            ),
            ("-duration 5s http://h/", "use -d 5s\n"),
            ("-disable-keepalive http://h/", "use --close client"),
            ("-cpus 2 http://h/", "use -t 2\n"),
            ("-keepalive=false http://h/", "--close client"),
            ("-qps 100 http://h/", "use -R 100\n"),
            ("-uniform http://h/", "unknown flag -uniform"),
            ("-targets=targets.txt http://h/", "use --from targets.txt\n"),
            ("-format json http://h/", "use --from FILE --from-format vegeta-json\n"),
            ("-lazy http://h/", "does so with a list above 4,096 rows\n"),
            ("-f urls.txt http://h/", "or --from urls.txt\n"),
            ("-i urls.txt http://h/", "use --from urls.txt, or -b @urls.txt\n"),
            ("--urls-from-file urls.txt http://h/", "use --from urls.txt\n"),
            ("--input-file=urls.txt http://h/", "use --from urls.txt\n"),
            ("--internet http://h/", "use --from FILE --order random\n"),
            ("-Z bodies.txt http://h/", "use --from FILE: JSON lines with url and body\n"),
        ] {
            check_hint(line, expected);
            assert_eq!(message(line).lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn flags_that_exclude_each_other_have_a_remedy() {
        for (line, expected) in [
            ("--stages 5s@1k -d5s http://h/", "--duration cannot be used with --stages, as the "),
            ("--replay LOG -R5 http://h/", "--rate cannot be used with --replay, as the log has "),
            ("--form-field a=b -b x http://h/", "--body cannot be used with --form-field, as the"),
            ("--body-size 5 -b x http://h/", "cannot be used with --body-size, as both are the "),
            ("--ipv4 --ipv6 http://h/", "--ipv4 cannot be used with --ipv6: leave one of them out"),
        ] {
            check_hint(line, expected);
            assert_eq!(message(line).lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn quiet_with_a_number_is_another_tools_rate() {
        for line in [
            "-q 100 http://h/",
            "http://h/ -q 100",
            "-Lq 100 http://h/",
            "-q100 http://h/",
            "-q=100 http://h/",
            "-Lq100 http://h/",
            "-s x.lua -q 100 http://h/",
        ] {
            check_hint(line, "-q is --quiet; oha's rate is -R 100");
        }
        for line in
            ["-q http://h/", "-q -c 100 http://h/", "--quiet http://h/", "-s x http://h/ 100 -q"]
        {
            Cli::of_words(std::iter::once("weir").chain(line.split(' '))).expect(line);
        }
    }

    #[test]
    fn a_flag_with_a_value_is_given_once_or_is_a_list() {
        for (line, flag) in [
            ("-c 5 --connections=6 http://h/", "--connections"),
            ("-Lc5 -c6 http://h/", "--connections"),
            ("-u a:SECRET -u b:SECRET http://h/", "--user"),
            ("-b x -b y http://h/", "--body"),
            ("--strict --strict=bounded http://h/", "--strict"),
            ("--pin 2 --pin http://h/", "--pin"),
            ("--listen 1 --listen 2 http://h/", "--listen"),
            ("http://h/ --http 2 --http 2", "--http"),
            ("serve -d 1s -d 2s", "--duration"),
            ("repeat -n 5 -n 6 http://h/", "--runs"),
            ("ab -a x -a y http://h/", "--a"),
            ("history list -n 5 -n 6", "--count"),
            ("history --history a list --history=b", "--history"),
            ("rerun x.json --url http://h/ --url http://i/", "--url"),
        ] {
            let expected = format!("error: {flag} is given twice: leave one out\n");
            assert_eq!(message(line), expected, "{line}");
        }
        for line in [
            "-q -q -k -k http://h/",
            "-L -k -L http://h/",
            "-H A:b -H A:b --connect-to h --connect-to i http://h/",
            "--assert p99<1s --assert p99<1s --export html=a --export html=b http://h/",
            "repeat -q --quiet --metric p50 --metric p99 http://h/",
        ] {
            Cli::of_words(std::iter::once("weir").chain(line.split(' '))).expect(line);
        }
    }

    #[test]
    fn errors_of_clap_name_its_arguments() {
        for (line, expected) in [
            ("--no-such-flag http://h/", "unknown flag --no-such-flag: weir --help lists all"),
            ("--dur 5s http://h/", "unknown flag --dur: write --duration in full\n"),
            ("--dur=5s http://h/", "unknown flag --dur: write --duration in full\n"),
            ("--wait- 5s http://h/", "write --wait-for-server in full"),
            ("--cert-x http://h/", "unknown flag --cert-x"),
            ("--tls-m 1.3 http://h/", "write --tls-min or --tls-max in full\n"),
            ("report --verb x.json", "unknown flag --verb: write --verbose in full\n"),
            ("history list --cou 5", "unknown flag --cou: write --count in full\n"),
            ("repeat --no-set http://h/", "unknown flag --no-set: write --no-settle in full\n"),
            ("-c 1x http://h/", "invalid value '1x' for '--connections <N|A..B>'"),
            ("-t 30s http://h/", "invalid value '30s' for '--threads <N>'"),
            ("-t 30s http://h/", "use -T 30s, or -d 30s"),
            ("-t 1m http://h/", "use -T 1m, or -d 1m"),
            ("-d 10min http://h/", "there is no unit 'min', minutes are m"),
            ("-T text/plain http://h/", "use -H 'Content-Type: text/plain'"),
            ("-d {} http://h/", "use -b TEXT"),
            ("--requests POST http://h/", "use -X POST"),
            ("serve -z 30s", "unexpected argument '-z'"),
            ("-c5 http://h/ --latnecy", "unknown flag --latnecy: did you mean --latency?"),
            ("--threshold 5ms http://h/", "use --assert 'p99 < 5ms'\n"),
            ("--thread-count 5 http://h/", "unknown flag --thread-count: weir --help lists all"),
        ] {
            check_hint(line, expected);
        }
        assert!(!message("-d 5y http://h/").contains("-b TEXT"));
        // Words after two dashes are the script's.
        Cli::of_words(["weir", "-s", "x.lua", "http://h/", "--", "-z", "30s", "-q", "5"])
            .expect("a script may have any words");
    }
}
