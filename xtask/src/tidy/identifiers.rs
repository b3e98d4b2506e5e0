//! Words in names of code. A name is split at `_` and at capitals, and none of its words may be one
//! of the coined ones, or one that makes a person of a program.

use super::finding::Finding;
use crate::source::{File, Tree, identifier, line_of};

/// Forbidden words, each with better ones. The list may only grow.
const WORDS: [(&str, &str); 27] = [
    ("accuse", "attribute"),
    ("asked", "requested"),
    ("dealt", "partitioned"),
    ("deed", "action"),
    ("deeds", "actions"),
    ("door", "listener, acceptor"),
    ("doors", "listeners, acceptors"),
    ("farewell", "close"),
    ("happening", "event"),
    ("happenings", "events"),
    ("harvest", "collect, process"),
    ("harvested", "collected"),
    ("harvests", "batches"),
    ("heed", "check"),
    ("heeds", "checks"),
    ("laboratory", "runner, bench"),
    ("lends", "leases, delivers"),
    ("lent", "leased"),
    ("manner", "settings"),
    ("nobody", "nothing, no"),
    ("programme", "plan, behaviour"),
    ("rests", "delays"),
    ("said", "reported"),
    ("somebody", "the thing's name"),
    ("stillborn", "failed"),
    ("told", "reported, distinguished"),
    ("whoever", "the thing's name"),
];

/// Forbidden pairs of words.
const PAIRS: [(&str, &str, &str); 2] =
    [("stand", "back", "lower_priority"), ("shake", "hands", "complete_handshake")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(names).collect()
}

/// Finds names with forbidden words, tests included.
fn names(file: &File) -> Vec<Finding> {
    let (code, mut at) = (&file.masked.code, 0);
    let mut findings = Vec::new();
    // Few files have one of the words at all, and splitting every name takes seconds.
    let small = code.to_ascii_lowercase();
    let singles = WORDS.iter().map(|(word, _)| word);
    if !singles.chain(PAIRS.iter().map(|(one, ..)| one)).any(|word| small.contains(word)) {
        return findings;
    }
    while at < code.len() {
        let name = identifier(&code[at..]);
        if let Some((word, better)) = forbidden(name) {
            let advice = format!("`{name}` has the word `{word}`: say {better}");
            findings.push(Finding::new(&file.path, line_of(code, at), "identifiers", advice));
        }
        let separator = code[at + name.len()..].chars().next().map_or(1, char::len_utf8);
        at += name.len() + separator;
    }
    findings
}

/// Returns the first forbidden word of a name and what to say instead.
fn forbidden(name: &str) -> Option<(String, &'static str)> {
    let words = words(name);
    let single = words.iter().find_map(|word| {
        WORDS.iter().find(|(bad, _)| bad == word).map(|(bad, better)| ((*bad).to_owned(), *better))
    });
    let pair = || {
        words.windows(2).find_map(|pair| {
            let found = PAIRS.iter().find(|(one, other, _)| *one == pair[0] && *other == pair[1]);
            found.map(|(one, other, better)| (format!("{one}_{other}"), *better))
        })
    };
    single.or_else(pair)
}

/// Splits a name at `_` and before each capital that follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for character in name.chars() {
        if character == '_' || (was_small && character.is_uppercase()) {
            words.push(String::new());
        }
        if character != '_' {
            words.last_mut().expect("one was pushed").extend(character.to_lowercase());
        }
        was_small = character.is_lowercase() || character.is_ascii_digit();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(code: &str, lines: &[usize]) {
        let text = format!("//! A door.\n{code}");
        let found = check(&Tree::of(&[("crates/x/src/a.rs", &text)]));
        let found: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "in {code}");
    }

    #[test]
    fn words_are_found_inside_names() {
        check_code("struct Manner;\nfn take_deed() {}\nconst LATE_HARVESTS: u8 = 1;\n", &[2, 3, 4]);
        check_code("struct OpenDoor;\nfn f(door_at: u8) {}\n", &[2, 3]);
        check_code("fn stand_back() {}\nfn shake_hands() {}\n", &[2, 3]);
    }

    #[test]
    fn longer_words_and_texts_are_not() {
        check_code("fn indeed(silent: u8, back_stand: u8) {}\nf(\"a door\"); // a deed\n", &[]);
    }
}
