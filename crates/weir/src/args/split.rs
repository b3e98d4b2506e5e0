//! Splits the command line of a study into flags of the study and flags of its runs. Both may stand
//! in any order; a flag that both have is the study's. Abbreviated flags are sorted too, so that
//! the error names them and not their values.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{Arg, ArgAction, Command};

/// Splits the words after the subcommand. Words of the runs keep their order.
pub(super) fn split(
    words: &[OsString],
    study: &Command,
    run: &Command,
) -> (Vec<OsString>, Vec<OsString>) {
    let (mut of_study, mut of_run) = (Vec::new(), Vec::new());
    // Words without a flag that the study takes, before those of the runs.
    let mut own = study.get_positionals().filter(|arg| !arg.is_last_set()).count();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            of_run.push(word.clone());
            of_run.extend(words.cloned());
            break;
        }
        let flag = Flag::of(word);
        let in_study = flag.as_ref().and_then(|flag| flag.found_in(study));
        let known = in_study.or_else(|| flag.as_ref().and_then(|flag| flag.found_in(run)));
        let is_own = flag.is_none() && own > 0;
        own -= usize::from(is_own);
        let side = if in_study.is_some() || is_own { &mut of_study } else { &mut of_run };
        side.push(word.clone());
        let lacks_value = flag.zip(known).is_some_and(|(flag, arg)| flag.lacks_value(arg, run));
        if lacks_value {
            side.extend(words.next().cloned());
        }
    }
    (of_study, of_run)
}

/// Index of the word of a run that names its target: neither a flag, nor the value of one, nor
/// behind `--`.
pub(super) fn target_at(words: &[OsString], run: &Command) -> Option<usize> {
    let mut words = words.iter().enumerate();
    while let Some((index, word)) = words.next().filter(|(_, word)| *word != "--") {
        let Some(flag) = Flag::of(word) else { return Some(index) };
        if flag.found_in(run).is_some_and(|arg| flag.lacks_value(arg, run)) {
            words.next();
        }
    }
    None
}

/// True if both names are of one flag: its letter and its long name.
pub(super) fn are_one_flag(one: &str, other: &str, run: &Command) -> bool {
    let named = |name: &str| {
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => short(run, letter),
            _ => run.get_arguments().find(|arg| arg.get_long() == Some(name)),
        }
    };
    named(one).zip(named(other)).is_some_and(|(one, other)| one.get_id() == other.get_id())
}

/// Returns the words of a run without the flags with one value that `own` gives too. Words behind
/// `--` stay.
pub(super) fn without_those_of(
    words: &[OsString],
    own: &[OsString],
    run: &Command,
) -> Vec<OsString> {
    let replaced: Vec<_> = Values::of(own, run).map(|value| value.arg.get_id()).collect();
    let mut kept = words.to_vec();
    let given: Vec<_> = Values::of(words, run).collect();
    // From the end, so that the indexes before stay right.
    for value in given.iter().rev().filter(|value| replaced.contains(&value.arg.get_id())) {
        let before = &words[value.word].as_bytes()[..value.at];
        // Of `-Lc5` the letters before the flag stay.
        let letters = (before.len() > 1).then(|| OsStr::from_bytes(before).to_owned());
        kept.splice(value.word..value.word + value.words, letters);
    }
    kept
}

/// A flag with one value within words.
struct Value<'c> {
    arg: &'c Arg,
    /// Index of its word.
    word: usize,
    /// Offset in this word at which the flag begins; 0 for a long one.
    at: usize,
    /// Number of words: 2 if the value is one of its own.
    words: usize,
}

/// The flags with one value within words, up to `--`.
struct Values<'w, 'c> {
    words: &'w [OsString],
    next: usize,
    run: &'c Command,
}

impl<'w, 'c> Values<'w, 'c> {
    fn of(words: &'w [OsString], run: &'c Command) -> Values<'w, 'c> {
        Values { words, next: 0, run }
    }
}

impl<'c> Iterator for Values<'_, 'c> {
    type Item = Value<'c>;

    fn next(&mut self) -> Option<Value<'c>> {
        loop {
            let word = self.next;
            let flag =
                self.words.get(word).filter(|word| *word != "--").map(|word| Flag::of(word))?;
            self.next += 1;
            let found = flag.and_then(|flag| flag.value(flag.found_in(self.run)?, self.run));
            let Some(found) = found else { continue };
            let words = 1 + usize::from(found.is_next_word);
            self.next = word + words;
            if matches!(found.arg.get_action(), ArgAction::Set) {
                return Some(Value { arg: found.arg, word, at: found.at, words });
            }
        }
    }
}

/// A word that is a flag.
enum Flag {
    /// `--name` or `--name=value`.
    Long { name: String, has_value: bool },
    /// `-abc`: letters, of which one may take the rest as its value.
    Short { letters: String },
}

impl Flag {
    fn of(word: &OsStr) -> Option<Flag> {
        let text = word.to_str()?;
        if let Some(rest) = text.strip_prefix("--") {
            let (name, value) = rest.split_once('=').map_or((rest, None), |(n, v)| (n, Some(v)));
            return Some(Flag::Long { name: name.to_owned(), has_value: value.is_some() });
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.is_empty())?;
        Some(Flag::Short { letters: letters.to_owned() })
    }

    /// The flag's argument in a command: by its name, an unambiguous beginning of it, or its first
    /// letter.
    fn found_in<'c>(&self, command: &'c Command) -> Option<&'c Arg> {
        match self {
            Flag::Long { name, .. } => long(command, name),
            Flag::Short { letters } => short(command, letters.chars().next()?),
        }
    }

    /// The flag that takes a value: `first`, with which the word begins, or of several letters the
    /// first that does.
    fn value<'c>(&self, first: &'c Arg, run: &'c Command) -> Option<Found<'c>> {
        let takes_value = |arg: &Arg| arg.get_action().takes_values();
        match self {
            Flag::Long { has_value, .. } => takes_value(first).then(|| Found {
                arg: first,
                at: 0,
                is_next_word: !has_value && takes_word(first),
            }),
            Flag::Short { letters } => {
                let mut known = letters.char_indices().map_while(|(at, letter)| {
                    let arg = if at == 0 { Some(first) } else { short(run, letter) };
                    Some((at, at + letter.len_utf8(), arg?))
                });
                let (at, end, arg) = known.find(|(.., arg)| takes_value(arg))?;
                let is_next_word = end == letters.len() && takes_word(arg);
                Some(Found { arg, at: "-".len() + at, is_next_word })
            }
        }
    }

    /// True if the value of the flag is the next word. The word begins with `first`.
    fn lacks_value(&self, first: &Arg, run: &Command) -> bool {
        self.value(first, run).is_some_and(|found| found.is_next_word)
    }
}

/// A flag that takes a value, within a word.
struct Found<'c> {
    arg: &'c Arg,
    /// Offset in the word at which it begins.
    at: usize,
    /// True if its value is the next word.
    is_next_word: bool,
}

fn short(command: &Command, letter: char) -> Option<&Arg> {
    command.get_arguments().find(|arg| arg.get_short() == Some(letter))
}

fn long<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let names = || command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    if let Some((_, arg)) = names().find(|(known, _)| *known == name) {
        return Some(arg);
    }
    let mut begun = names().filter(|(known, _)| known.starts_with(name));
    begun.next().filter(|_| begun.next().is_none() && !name.is_empty()).map(|(_, arg)| arg)
}

/// True if the value stands in a word of its own.
fn takes_word(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, CommandFactory};

    use super::super::Cli;
    use super::*;

    fn check(line: &str, study: &str, run: &str) {
        let command = Command::new("repeat")
            .arg(Arg::new("runs").short('n').long("runs"))
            .arg(Arg::new("quiet").short('q').long("quiet").action(ArgAction::SetTrue))
            .arg(Arg::new("output").short('o').long("output"));
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (of_study, of_run) = split(&words, &command, &Cli::command());
        let joined = |words: Vec<OsString>| {
            words.iter().filter_map(|word| word.to_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((joined(of_study).as_str(), joined(of_run).as_str()), (study, run), "{line}");
    }

    #[test]
    fn flags_of_both_stand_in_any_order() {
        check("-n 5 -c50 http://h/", "-n 5", "-c50 http://h/");
        check("-c 50 -n5 http://h/ -d 2s", "-n5", "-c 50 http://h/ -d 2s");
        check("http://h/ -o x.json -L", "-o x.json", "http://h/ -L");
        check("--runs=3 --rate 5 http://h/ -q", "--runs=3 -q", "--rate 5 http://h/");
        check("-H a:b -Lc 5 http://h/ --strict", "", "-H a:b -Lc 5 http://h/ --strict");
        check("-s x.lua http://h/ -- -n 5", "", "-s x.lua http://h/ -- -n 5");
        check("--pin -c5 http://h/", "", "--pin -c5 http://h/");
        check("-b -n http://h/ -n 4", "-n 4", "-b -n http://h/");
    }

    #[test]
    fn flags_of_a_variant_replace_the_common_ones() {
        let check = |words: &str, own: &str, expected: &str| {
            let split = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            let left = without_those_of(&split(words), &split(own), &Cli::command());
            let left: Vec<_> = left.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(left.join(" "), expected, "{words}, {own}");
        };
        check("-c 5 -d2s http://h/", "-c6", "-d2s http://h/");
        check("--connections=5 -Lc 5 -q http://h/", "-c6", "-L -q http://h/");
        check("-Lc5 http://h/ --connections 7", "-Lqc 6", "-L http://h/");
        check("-H a:b -d 2s", "-H c:d --duration=3s", "-H a:b");
        check("-H -c5 http://h/", "-c6", "-H -c5 http://h/");
        check("-c5 http://h/ -- -c5", "-c6 -- -d5", "http://h/ -- -c5");
        check("--strict --pin=2 http://h/", "--strict=bounded", "--pin=2 http://h/");
    }
}
