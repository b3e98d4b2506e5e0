//! Rules for the Markdown pages: sections and commits that are cited, decisions, limits on words.

use super::finding::Finding;
use crate::source::{File, Tree, line_of, words};

const PAGE: &str = "METHOD.md";

/// Citations of METHOD.md in comments: each names a section that exists.
pub(super) fn citations(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |page| page.text.as_str());
    let sections: Vec<&str> = page.lines().filter_map(section).collect();
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, cited) in cited_sections(file) {
            if !sections.contains(&cited) {
                let advice = format!("{PAGE} has no section {cited}");
                findings.push(Finding::new(&file.path, line, "citation", advice));
            }
        }
    }
    findings
}

/// Returns the number in `### 1.5 Run phases` or `## 2. Ground truth`.
fn section(line: &str) -> Option<&str> {
    let heading = line.strip_prefix("## ").or_else(|| line.strip_prefix("### "))?;
    heading.split(' ').next().map(|number| number.trim_end_matches('.'))
}

/// Returns the numbers that follow the word METHOD in comments, with their lines.
fn cited_sections(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let comments = &file.masked.comments;
    words(comments, "METHOD").filter_map(|at| {
        let after = comments[at..].strip_prefix("METHOD ")?;
        let number = after.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let number = number.trim_end_matches('.');
        (!number.is_empty()).then(|| (line_of(comments, at), number))
    })
}

const DIR: &str = "docs/decisions/";
const LINES_MAX: usize = 80;

/// The decision pages: numbered without gaps, one screen or two each, under a heading.
pub(super) fn decisions(tree: &Tree) -> Vec<Finding> {
    let mut pages: Vec<&File> = tree.files.iter().filter(|file| is_page(file)).collect();
    pages.sort_by_key(|page| &page.path);
    let mut findings = Vec::new();
    for (index, page) in pages.into_iter().enumerate() {
        let number = format!("{:04}", index + 1);
        if !page.name().starts_with(&format!("{number}-")) {
            let advice = format!("the next number is {number}: no gaps, no number twice");
            findings.push(Finding::new(&page.path, 1, "decision-number", advice));
        }
        let lines = page.text.lines().count();
        if lines > LINES_MAX {
            let advice = format!("{lines} lines, {LINES_MAX} at most: keep what decided it");
            findings.push(Finding::new(&page.path, LINES_MAX + 1, "decision-length", advice));
        }
        if !page.text.starts_with("# ") {
            let advice = "begin with a heading that states the decision";
            findings.push(Finding::new(&page.path, 1, "decision-heading", advice));
        }
    }
    findings
}

fn is_page(file: &File) -> bool {
    file.path.starts_with(DIR) && file.path.ends_with(".md") && file.name() != "README.md"
}

/// Where figures are committed, with the commit that they were measured at.
const PLACES: [&str; 2] = ["README.md", "docs/"];

/// Digits of a cited commit.
const DIGITS_MIN: usize = 7;
const DIGITS_MAX: usize = 40;

/// The commit of a measured figure is in this history: one can build what was measured.
pub(super) fn commits(tree: &Tree) -> Vec<Finding> {
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
        let commit = after.split(|c: char| !matches!(c, '0'..='9' | 'a'..='f')).next()?;
        let is_long = (DIGITS_MIN..=DIGITS_MAX).contains(&commit.len());
        // English words of the letters a to f have no digit.
        (is_long && commit.contains(|c: char| c.is_ascii_digit())).then_some(commit)
    })
}

/// The path that a finding names, the set of pages, and its limit.
type Limit = (&'static str, &'static str, fn(&str) -> bool, usize);

/// They may fall; to raise one takes a decision page with its reason.
const LIMITS: [Limit; 3] = [
    ("METHOD.md", "it", |path| path == "METHOD.md", 9_500),
    ("docs/README.md", "docs/*.md", is_doc, 22_000),
    ("README.md", "all Markdown", |_| true, 78_000),
];

/// Limits on the words of the Markdown pages. Words are what `wc -w` counts.
pub(super) fn word_limits(tree: &Tree) -> Vec<Finding> {
    let pages = || tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings = Vec::new();
    for (path, what, holds, words_max) in LIMITS {
        let words: usize = pages()
            .filter(|page| holds(&page.path))
            .map(|page| page.text.split_whitespace().count())
            .sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check_comment(comment: &str, expected: &[usize]) {
        let page = "# A\n\n## 1. B\n\n### 1.5 C\n";
        let code = format!("//! A.\n{comment}\nconst A: &str = \"METHOD 9\";\n");
        let tree = Tree::of(&[(PAGE, page), ("crates/weir/src/main.rs", &code)]);
        let lines: Vec<usize> = citations(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "in {comment}");
    }

    #[test]
    fn sections_that_exist_are_cited() {
        check_comment("// METHOD 1.5.", &[]);
        check_comment("// (METHOD 1, and METHOD 1.5, 1.6)", &[]);
        check_comment("// METHOD defines it", &[]);
        check_comment("// METHOD 1.6", &[2]);
        check_comment("// METHOD 1.55", &[2]);
    }

    fn check_pages(pages: &[(&str, &str)], expected: &[&str]) {
        let pages: Vec<(String, &str)> =
            pages.iter().map(|(name, text)| (format!("{DIR}{name}"), *text)).collect();
        let pages: Vec<(&str, &str)> = pages.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let found: Vec<_> = decisions(&Tree::of(&pages)).iter().map(|f| f.rule).collect();
        assert_eq!(found, expected, "in {pages:?}");
    }

    #[test]
    fn numbers_have_no_gaps() {
        check_pages(&[("README.md", ""), ("0002-b.md", "# B"), ("0001-a.md", "# A")], &[]);
        check_pages(&[("0001-a.md", "# A"), ("0003-b.md", "# B")], &["decision-number"]);
        check_pages(&[("0001-a.md", "# A"), ("0001-b.md", "# B")], &["decision-number"]);
    }

    #[test]
    fn pages_are_short_and_have_a_heading() {
        check_pages(&[("0001-a.md", &format!("# A\n{}", "b\n".repeat(79)))], &[]);
        check_pages(&[("0001-a.md", &format!("# A\n{}", "b\n".repeat(80)))], &["decision-length"]);
        check_pages(&[("0001-a.md", "A\n")], &["decision-heading"]);
    }

    fn check_text(path: &str, text: &str, lines: &[usize]) {
        let mut tree = Tree::of(&[(path, text)]);
        assert!(commits(&tree).is_empty(), "a shallow clone is not asked");
        tree.ancestors = Some(vec!["0be07073cef9a211dd5a".to_owned()]);
        let found: Vec<usize> = commits(&tree).iter().map(|finding| finding.line).collect();
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

    fn check_page(path: &str, words: usize, expected: &[&str]) {
        let found = word_limits(&Tree::of(&[(path, &"word\n".repeat(words))]));
        let found: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, expected, "{words} words in {path}");
    }

    #[test]
    fn pages_with_too_many_words_are_found() {
        check_page("METHOD.md", 9_500, &[]);
        check_page("METHOD.md", 9_501, &["METHOD.md"]);
        check_page("docs/A.md", 22_000, &[]);
        check_page("docs/A.md", 22_001, &["docs/README.md"]);
        check_page("docs/decisions/0001-a.md", 22_001, &[]);
        check_page("docs/decisions/0001-a.md", 78_001, &["README.md"]);
        check_page("docs/measured/a.json", 95_000, &[]);
    }
}
