//! Option parsing by the rules of GNU getopt_long(3): options and operands mix, long names may be
//! shortened, short ones combined, `--` ends the options. POSIXLY_CORRECT is ignored, so that a
//! command line means the same in every environment.
//!
//! The meaning of an option is defined elsewhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::slice;

/// An option that the parser accepts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    /// Its letter, which identifies it.
    pub(super) short: char,
    /// Its name, without the dashes; empty if it has only a letter.
    pub(super) long: &'static str,
    /// True if it takes a value.
    pub(super) takes_value: bool,
    /// True for an option of a fork: abbreviations match the tool's own options first.
    pub(super) is_addition: bool,
}

/// A problem with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// Error message in getopt's words.
    pub(super) text: String,
    /// The unknown option, as in `-x` or `--name`.
    pub(super) unknown: Option<String>,
}

impl From<String> for Complaint {
    fn from(text: String) -> Complaint {
        Complaint { text, unknown: None }
    }
}

/// The options among words, in their order.
#[derive(Debug)]
pub(super) struct Options<'a> {
    specs: &'a [Spec],
    words: slice::Iter<'a, OsString>,
    /// Rest of a word of short options: `tc7` of `-Ltc7`.
    cluster: &'a [u8],
    /// The words that are neither options nor their values; complete once the options are read.
    pub(super) operands: Vec<&'a OsStr>,
}

impl<'a> Options<'a> {
    /// Reads the options of `words`, without the program's name, as `specs` defines them.
    pub(super) fn of(words: &'a [OsString], specs: &'a [Spec]) -> Options<'a> {
        Options { specs, words: words.iter(), cluster: &[], operands: Vec::new() }
    }

    fn short(&mut self) -> Result<(char, &'a OsStr), Complaint> {
        let letter = String::from_utf8_lossy(self.cluster).chars().next().unwrap_or_default();
        let spec = self.specs.iter().find(|spec| spec.short == letter);
        let spec = spec.ok_or_else(|| Complaint {
            text: format!("invalid option -- '{letter}'"),
            unknown: Some(format!("-{letter}")),
        })?;
        // All letters of specs are ASCII, so each is one byte.
        let rest = &self.cluster[1..];
        if !spec.takes_value {
            self.cluster = rest;
            return Ok((spec.short, OsStr::new("")));
        }
        self.cluster = &[];
        let missing = || format!("option requires an argument -- '{letter}'");
        let value = match rest {
            [] => self.words.next().ok_or_else(missing)?.as_os_str(),
            glued => OsStr::from_bytes(glued),
        };
        Ok((spec.short, value))
    }

    /// Reads a long option; `text` is the word without its two dashes.
    fn long(&mut self, text: &'a [u8]) -> Result<(char, &'a OsStr), Complaint> {
        let (name, value) = match text.iter().position(|&byte| byte == b'=') {
            Some(at) => (&text[..at], Some(OsStr::from_bytes(&text[at + 1..]))),
            None => (text, None),
        };
        let spec = self.find_long(name, text)?;
        let name = spec.long;
        let value = match (spec.takes_value, value) {
            (false, Some(_)) => {
                return Err(format!("option '--{name}' doesn't allow an argument").into());
            }
            (false, None) => OsStr::new(""),
            (true, Some(value)) => value,
            (true, None) => {
                let missing = || format!("option '--{name}' requires an argument");
                self.words.next().ok_or_else(missing)?
            }
        };
        Ok((spec.short, value))
    }

    /// Finds the option with this name, or the only one whose name begins with it.
    fn find_long(&self, name: &[u8], text: &[u8]) -> Result<&'a Spec, Complaint> {
        let named = self.specs.iter().filter(|spec| !spec.long.is_empty());
        let mut candidates: Vec<&Spec> =
            named.filter(|spec| spec.long.as_bytes().starts_with(name)).collect();
        if let Some(exact) = candidates.iter().find(|spec| spec.long.len() == name.len()) {
            return Ok(exact);
        }
        if candidates.iter().any(|spec| !spec.is_addition) {
            candidates.retain(|spec| !spec.is_addition);
        }
        let text = String::from_utf8_lossy(text);
        match candidates.as_slice() {
            [] => Err(Complaint {
                text: format!("unrecognized option '--{text}'"),
                unknown: Some(format!("--{}", String::from_utf8_lossy(name))),
            }),
            [only] => Ok(only),
            several => {
                let names: String = several.iter().map(|s| format!(" '--{}'", s.long)).collect();
                Err(format!("option '--{text}' is ambiguous; possibilities:{names}").into())
            }
        }
    }
}

impl<'a> Iterator for Options<'a> {
    /// An option and its value, which is empty if the option takes none; or getopt's error, after
    /// which further items are meaningless.
    type Item = Result<(char, &'a OsStr), Complaint>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.cluster.is_empty() {
            return Some(self.short());
        }
        loop {
            let word = self.words.next()?;
            match word.as_bytes() {
                b"--" => self.operands.extend(self.words.by_ref().map(OsString::as_os_str)),
                [b'-', b'-', long @ ..] => return Some(self.long(long)),
                [b'-', cluster @ ..] if !cluster.is_empty() => {
                    self.cluster = cluster;
                    return Some(self.short());
                }
                _ => self.operands.push(word),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(short: char, long: &'static str, takes_value: bool) -> Spec {
        Spec { short, long, takes_value, is_addition: false }
    }

    const SPECS: [Spec; 7] = [
        spec('c', "count", true),
        spec('d', "color", true),
        spec('e', "colors", false),
        spec('q', "quiet", false),
        spec('v', "verbose", false),
        spec('?', "", false),
        Spec { is_addition: true, ..spec('x', "quick", false) },
    ];

    /// Options as `c=value` or `q`, then operands in brackets; or the error message.
    fn read(words: &[&[u8]]) -> String {
        let words: Vec<OsString> = words.iter().map(|w| OsStr::from_bytes(w).to_owned()).collect();
        let mut options = Options::of(&words, &SPECS);
        let mut read = Vec::new();
        for option in options.by_ref() {
            match option {
                Ok((flag, value)) if "cd".contains(flag) => {
                    read.push(format!("{flag}={}", value.to_string_lossy()));
                }
                Ok((flag, _)) => read.push(flag.to_string()),
                Err(complaint) => return complaint.text,
            }
        }
        let operands = options.operands;
        read.extend(operands.iter().map(|word| format!("[{}]", word.to_string_lossy())));
        read.join(" ")
    }

    fn check(line: &str, expected: &str) {
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        assert_eq!(read(&words), expected, "{line}");
    }

    #[test]
    fn short_options_combine_and_take_what_follows() {
        check("", "");
        check("-q -v", "q v");
        check("-qv", "q v");
        check("-c7", "c=7");
        check("-c 7", "c=7");
        check("-qc7", "q c=7");
        check("-qc 7 -v", "q c=7 v");
        check("-cq", "c=q");
        check("-c -q", "c=-q");
        check("-c -- -q", "c=-- q");
        check("-c=7", "c==7");
        check("-?", "?");
    }

    #[test]
    fn long_options_may_be_shortened() {
        check("--count 7", "c=7");
        check("--count=7", "c=7");
        check("--cou=7", "c=7");
        check("--count=", "c=");
        check("--count=a=b", "c=a=b");
        check("--count --quiet", "c=--quiet");
        check("--q --verb", "q v");
    }

    #[test]
    fn additions_leave_shortened_names_as_they_were() {
        check("--qui --q --quick --quic -x", "q q x x x");
    }

    #[test]
    fn unknown_options_are_named() {
        let unknown = |word: &str| {
            let words = [OsString::from(word)];
            let mut options = Options::of(&words, &SPECS);
            options.next().and_then(Result::err).and_then(|complaint| complaint.unknown)
        };
        for (word, expected) in [("-z", Some("-z")), ("--foo=3", Some("--foo")), ("-c", None)] {
            assert_eq!(unknown(word).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn a_whole_name_is_not_ambiguous() {
        check("--color 1", "d=1");
        check("--colors", "e");
    }

    #[test]
    fn operands_may_stand_anywhere() {
        check("u -q", "q [u]");
        check("u -c 7 w --quiet x", "c=7 q [u] [w] [x]");
        check("- -q", "q [-]");
    }

    #[test]
    fn two_dashes_end_the_options() {
        check("-q -- -v", "q [-v]");
        check("u -- --quiet", "[u] [--quiet]");
        check("-- a -- b", "[a] [--] [b]");
        check("--", "");
    }

    #[test]
    fn complaints_are_those_of_getopt() {
        check("-z", "invalid option -- 'z'");
        check("-qz", "invalid option -- 'z'");
        check("-q=1", "invalid option -- '='");
        check("-:", "invalid option -- ':'");
        check("-é", "invalid option -- 'é'");
        check("-c", "option requires an argument -- 'c'");
        check("-qc", "option requires an argument -- 'c'");
        check("--count", "option '--count' requires an argument");
        check("--cou", "option '--count' requires an argument");
        check("--quiet=1", "option '--quiet' doesn't allow an argument");
        check("--q=1", "option '--quiet' doesn't allow an argument");
        check("--foo", "unrecognized option '--foo'");
        check("--foo=3", "unrecognized option '--foo=3'");
        check("--quiets", "unrecognized option '--quiets'");
        check("--col=1", "option '--col=1' is ambiguous; possibilities: '--color' '--colors'");
        check("--co", "option '--co' is ambiguous; possibilities: '--count' '--color' '--colors'");
    }

    #[test]
    fn words_need_not_be_utf8() {
        assert_eq!(read(&[b"-c\xff", b"\xfe"]), "c=\u{fffd} [\u{fffd}]");
        assert_eq!(read(&[b"-\xff"]), "invalid option -- '\u{fffd}'");
        assert_eq!(read(&[b"--\xff"]), "unrecognized option '--\u{fffd}'");
    }
}
