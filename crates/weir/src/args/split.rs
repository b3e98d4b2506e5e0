//! Splits the command line of a study into flags of the study and flags of its runs. Both may stand
//! in any order; a flag that both have is the study's.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

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

    /// True if the value of the flag is the next word.
    fn lacks_value(&self, arg: &Arg, run: &Command) -> bool {
        match self {
            Flag::Long { has_value, .. } => !has_value && takes_word(arg),
            Flag::Short { letters } => {
                let mut letters = letters.chars();
                let mut arg = letters.next().map(|_| arg);
                while let Some(current) = arg {
                    if current.get_action().takes_values() {
                        return letters.as_str().is_empty() && takes_word(current);
                    }
                    arg = letters.next().and_then(|letter| short(run, letter));
                }
                false
            }
        }
    }
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
}
