//! Splits the command line of a study into flags of the study and flags of its runs. Both may stand
//! in any order; a flag that both have is the study's. Abbreviated flags are sorted too, so that
//! the error names them and not their values.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use clap::{Arg, ArgAction, Command};

/// Splits the words after the subcommand. Words of the runs keep their order.
pub(super) fn split(
    words: &[OsString],
    study: &Command,
    run: &Command,
) -> (Vec<OsString>, Vec<OsString>) {
    let mut of_study = Vec::new();
    let mut of_run = Vec::new();
    // Words without a flag that the study takes, before the words of the runs.
    let mut own = study.get_positionals().filter(|arg| !arg.is_last_set()).count();
    let mut end = 0;
    for piece in pieces(words, Some(study), run) {
        let is_own = !piece.is_flag && own > 0;
        own -= usize::from(is_own);
        let side = if piece.is_of_study || is_own { &mut of_study } else { &mut of_run };
        end = piece.words.end;
        side.extend_from_slice(&words[piece.words]);
    }
    of_run.extend_from_slice(&words[end..]);
    (of_study, of_run)
}

/// Index of the word of a run that names its target: neither a flag, nor the value of one, nor
/// behind `--`.
pub(super) fn target_at(words: &[OsString], run: &Command) -> Option<usize> {
    let mut pieces = pieces(words, None, run).into_iter();
    pieces.find(|piece| !piece.is_flag).map(|piece| piece.words.start)
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
    let single = |piece: WordPiece<'_>| {
        let (arg, at) =
            piece.valued.filter(|(arg, _)| matches!(arg.get_action(), ArgAction::Set))?;
        Some((arg.get_id().clone(), at, piece.words))
    };
    let replaced: Vec<_> = pieces(own, None, run).into_iter().filter_map(single).collect();
    let mut kept = words.to_vec();
    // From the end, so that the indexes before stay right.
    for (id, at, range) in pieces(words, None, run).into_iter().rev().filter_map(single) {
        if replaced.iter().any(|(other, ..)| *other == id) {
            let before = &words[range.start].as_bytes()[..at];
            // Of `-Lc5` the letters before the flag stay.
            let letters = (before.len() > 1).then(|| OsStr::from_bytes(before).to_owned());
            kept.splice(range, letters);
        }
    }
    kept
}

/// A word that is a flag, with the word of its value, or one that is none.
struct WordPiece<'c> {
    words: Range<usize>,
    is_flag: bool,
    /// True if it begins with a flag of the study.
    is_of_study: bool,
    /// Of its flags the one that takes a value, and the offset in the word at which this begins; 0
    /// for a long one.
    valued: Option<(&'c Arg, usize)>,
}

/// Returns the pieces of words up to `--`, of a run or of a study and its run.
fn pieces<'c>(
    words: &[OsString],
    study: Option<&'c Command>,
    run: &'c Command,
) -> Vec<WordPiece<'c>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| *word != "--") {
        let mut piece = WordPiece::of(word, study, run);
        let count = piece.words.len();
        piece.words = at..(at + count).min(words.len());
        at = piece.words.end;
        pieces.push(piece);
    }
    pieces
}

impl<'c> WordPiece<'c> {
    /// The piece that begins with a word. A flag is known by its name, an unambiguous beginning of
    /// it, or its letter.
    fn of(word: &OsStr, study: Option<&'c Command>, run: &'c Command) -> WordPiece<'c> {
        let mut piece = WordPiece { words: 0..1, is_flag: false, is_of_study: false, valued: None };
        let name = word.to_str().and_then(|text| text.strip_prefix('-'));
        let Some(name) = name.filter(|name| !name.is_empty()) else { return piece };
        piece.is_flag = true;
        // Either `--name=value`, or letters. One letter may take the rest as its value.
        let long_name = name.strip_prefix('-').map(|name| name.split('=').next().unwrap_or(name));
        let found_in = |command: &'c Command| match long_name {
            Some(name) => long(command, name),
            None => short(command, name.chars().next()?),
        };
        let in_study = study.and_then(found_in);
        piece.is_of_study = in_study.is_some();
        let Some(first) = in_study.or_else(|| found_in(run)) else { return piece };
        let takes_value = |arg: &Arg| arg.get_action().takes_values();
        let valued = match long_name {
            Some(_) => takes_value(first).then_some((first, 0, name.contains('='))),
            None => {
                let mut known = name.char_indices().map_while(|(at, letter)| {
                    let arg = if at == 0 { Some(first) } else { short(run, letter) };
                    Some((arg?, "-".len() + at, at + letter.len_utf8() < name.len()))
                });
                known.find(|(arg, ..)| takes_value(arg))
            }
        };
        if let Some((arg, at, has_value)) = valued {
            piece.valued = Some((arg, at));
            piece.words.end += usize::from(!has_value && !arg.is_require_equals_set());
        }
        piece
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
