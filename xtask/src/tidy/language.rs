//! Plain English: openings and words that comments, documents and messages must not have. Both
//! lists may only grow (STYLE.md).

use super::finding::Finding;
use crate::source::{File, Tree, prefixes};

/// First words of a doc comment that ask instead of naming the thing.
const OPENINGS: [&str; 9] = [
    "What ",
    "Who ",
    "Whose ",
    "How many ",
    "How much ",
    "Whether ",
    "Somebody ",
    "Nobody ",
    "To be ",
];

/// Words that treat programs as people, and constructions that read like a translation.
const WORDS: [&str; 9] = [
    "nobody",
    "somebody",
    "whoever",
    "is to be",
    "are to be",
    "heed",
    "farewell",
    "accuse",
    "stillborn",
];

/// Where the words may stand: the lists of them, pages of the past, and pages written by a command,
/// whose texts are checked where they are made.
const EXEMPT: [&str; 6] = [
    "xtask/src/tidy/identifiers.rs",
    "xtask/src/tidy/language.rs",
    "docs/decisions/",
    "docs/ACCURACY.md",
    "docs/PERFORMANCE.md",
    "CHANGELOG.md",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_exempt = |file: &&File| EXEMPT.iter().any(|path| file.path.starts_with(path));
    let files = tree.files.iter().filter(|file| !is_exempt(file));
    files.flat_map(|file| openings(file).into_iter().chain(forbidden(file))).collect()
}

/// Doc comments whose first line has one of [`OPENINGS`].
fn openings(file: &File) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut is_inside = false;
    for (index, line) in file.text.lines().enumerate() {
        let text = line.trim_start();
        let doc = ["/// ", "//! "].iter().find_map(|marker| text.strip_prefix(marker));
        let doc = doc.filter(|_| !is_inside).unwrap_or_default();
        if let Some(opening) = OPENINGS.iter().find(|opening| doc.starts_with(**opening)) {
            let advice = format!(
                "a doc comment begins with `{}`: name the thing, or begin with a verb",
                opening.trim_end()
            );
            findings.push(Finding::new(&file.path, index + 1, "language", advice));
        }
        is_inside = text.starts_with("//");
    }
    findings
}

/// Lines with one of [`WORDS`]. In Rust that includes names and strings.
fn forbidden(file: &File) -> Vec<Finding> {
    let is_text = file.is_rust() || file.path.ends_with(".md") || file.path.ends_with(".lua");
    if !is_text {
        return Vec::new();
    }
    Finding::in_lines(file, "language", |line| {
        let line = line.to_ascii_lowercase();
        let word = WORDS.iter().find(|word| prefixes(&line, word).next().is_some())?;
        Some(format!("`{word}`: say it in plain English"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, lines: &[usize]) {
        let found = check(&Tree::of(&[(path, text)]));
        let found: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "in {path}: {text}");
    }

    #[test]
    fn doc_comments_name_the_thing() {
        check_text("crates/a/src/b.rs", "//! A.\n\n/// What it is.\nfn a() {}\n", &[3]);
        check_text("crates/a/src/b.rs", "//! A.\n\n/// True if\n/// What it is.\nfn a() {}\n", &[]);
        check_text("crates/a/src/b.rs", "//! A.\nfn a() {\n    // What\n}\n", &[]);
        check_text("README.md", "What it is\n", &[]);
    }

    #[test]
    fn words_of_the_list_are_refused_everywhere() {
        check_text("README.md", "one\nNobody reads it.\n", &[2]);
        check_text("crates/a/src/b.rs", "//! A.\nfn heeds() {}\n", &[2]);
        check_text("crates/a/src/b.rs", "//! A.\nfn unheeded() {}\n", &[]);
        check_text("docs/decisions/0001-a.md", "# Nobody\n", &[]);
    }
}
