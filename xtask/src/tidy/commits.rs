//! The commit of a measured figure is in this history: one can build what was measured.

use super::finding::Finding;
use crate::source::{File, Tree, words};

/// Where figures are committed, with the commit that they were measured at.
const PLACES: [&str; 2] = ["README.md", "docs/"];

/// Digits of a cited commit.
const DIGITS_MIN: usize = 7;
const DIGITS_MAX: usize = 40;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // A shallow clone does not have the history.
    let Some(ancestors) = &tree.ancestors else { return Vec::new() };
    let is_place = |file: &&File| PLACES.iter().any(|place| file.path.starts_with(place));
    let is_known = |commit: &&str| ancestors.iter().any(|known| known.starts_with(commit));
    let found = |file| {
        Finding::in_lines(file, "commit", |line| {
            let commit = cited(line).find(|commit| !is_known(commit))?;
            Some(format!("{commit} is no ancestor of HEAD: measure again"))
        })
    };
    tree.files.iter().filter(is_place).flat_map(found).collect()
}

/// Returns the commits in `commit 0be07073cef9` and in `"commit": "0be07073cef9"`.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    words(line, "commit").filter_map(|at| {
        let after = &line[at + "commit".len()..];
        let after = after.trim_start_matches(['"', ':', ' ', '`']);
        let end = after.find(|c: char| !matches!(c, '0'..='9' | 'a'..='f')).unwrap_or(after.len());
        let commit = &after[..end];
        let is_long = (DIGITS_MIN..=DIGITS_MAX).contains(&commit.len());
        // English words of the letters a to f have no digit.
        (is_long && commit.contains(|c: char| c.is_ascii_digit())).then_some(commit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, lines: &[usize]) {
        let mut tree = Tree::of(&[(path, text)]);
        assert!(check(&tree).is_empty(), "a shallow clone is not asked");
        tree.ancestors = Some(vec!["0be07073cef9a211dd5a".to_owned()]);
        let found: Vec<usize> = check(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "in {path}: {text}");
    }

    #[test]
    fn commits_of_other_histories_are_found() {
        check_text("docs/A.md", "one\ncommit 0be07073cef9, commit 7acc7fb0d270\n", &[2]);
        check_text("docs/measured/a/V1.json", "{\n  \"commit\": \"7acc7fb0d270\"\n}", &[2]);
        check_text("docs/measured/a/V1.json", "\"commit\": \"0be0707-dirty\"", &[]);
        check_text("docs/A.md", "a commit effaced it; commit 12; at 7acc7fb0d270\n", &[]);
        check_text("crates/a/src/b.rs", "// commit 7acc7fb0d270\n", &[]);
    }
}
