//! Words in names of code. A name is split at `_` and at capitals, and none of its words may be one
//! of the coined ones, or one that makes a person of a program.

use super::finding::Finding;
use crate::source::{File, Tree, is_word_char};

/// Forbidden words and pairs of words, each with better ones. The list may only grow.
const WORDS: [(&str, &str); 29] = [
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
    ("stand_back", "lower_priority"),
    ("shake_hands", "complete_handshake"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(names).collect()
}

/// Finds names with forbidden words, tests included.
fn names(file: &File) -> Vec<Finding> {
    let code = &file.masked.code;
    let mut findings = Vec::new();
    // Few files have one of the words at all, and splitting every name takes seconds.
    let small = code.to_ascii_lowercase();
    if !WORDS.iter().any(|(words, _)| words.split('_').all(|word| small.contains(word))) {
        return findings;
    }
    for (index, line) in code.lines().enumerate() {
        for name in line.split(|c| !is_word_char(c)) {
            if let Some((word, better)) = forbidden(name) {
                let advice = format!("`{name}` has the word `{word}`: say {better}");
                findings.push(Finding::new(&file.path, index + 1, "identifiers", advice));
            }
        }
    }
    findings
}

/// Returns a forbidden word of a name and what to say instead.
fn forbidden(name: &str) -> Option<&'static (&'static str, &'static str)> {
    let name = format!("_{}_", in_snake_case(name));
    WORDS.iter().find(|(word, _)| name.contains(&format!("_{word}_")))
}

/// Returns a name with `_` before each capital that follows a small letter, and no capitals.
fn in_snake_case(name: &str) -> String {
    let mut words = String::new();
    let mut was_small = false;
    for character in name.chars() {
        if was_small && character.is_uppercase() {
            words.push('_');
        }
        words.extend(character.to_lowercase());
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
