//! Limits on the words of the Markdown pages. Words are what `wc -w` counts.

use super::finding::Finding;
use crate::source::{File, Tree};

/// The path that a finding names, the set of pages, and its limit.
const LIMITS: [(&str, &str, fn(&str) -> bool, usize); 3] = [
    ("METHOD.md", "it", |path| path == "METHOD.md", 9_000),
    ("docs/README.md", "docs/*.md", is_doc, 24_000),
    ("README.md", "all Markdown", |_| true, 82_000),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = || tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings = Vec::new();
    for (path, what, holds, words_max) in LIMITS {
        let words: usize = pages().filter(|page| holds(&page.path)).map(words).sum();
        if words > words_max {
            let advice = format!("{what} has {words} words, {words_max} at most: cut idle ones");
            findings.push(Finding::new(path, 1, "words", advice));
        }
    }
    findings
}

/// True for the pages for users, which are directly in docs/.
fn is_doc(path: &str) -> bool {
    path.strip_prefix("docs/").is_some_and(|name| !name.contains('/'))
}

fn words(page: &File) -> usize {
    page.text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(path: &str, words: usize, expected: &[&str]) {
        let found = check(&Tree::of(&[(path, &"word\n".repeat(words))]));
        let found: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, expected, "{words} words in {path}");
    }

    #[test]
    fn pages_with_too_many_words_are_found() {
        check_page("METHOD.md", 9_000, &[]);
        check_page("METHOD.md", 9_001, &["METHOD.md"]);
        check_page("docs/A.md", 24_000, &[]);
        check_page("docs/A.md", 24_001, &["docs/README.md"]);
        check_page("docs/decisions/0001-a.md", 24_001, &[]);
        check_page("docs/decisions/0001-a.md", 82_001, &["README.md"]);
        check_page("docs/measured/a.json", 90_000, &[]);
    }
}
