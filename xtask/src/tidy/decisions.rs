//! The decision pages: numbered without gaps, one screen or two each, under a heading.

use super::finding::Finding;
use crate::source::{File, Tree};

const DIR: &str = "docs/decisions/";
const LINES_MAX: usize = 80;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check_pages(pages: &[(&str, &str)], expected: &[&str]) {
        let pages: Vec<(String, &str)> =
            pages.iter().map(|(name, text)| (format!("{DIR}{name}"), *text)).collect();
        let pages: Vec<(&str, &str)> = pages.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let found: Vec<_> = check(&Tree::of(&pages)).iter().map(|f| f.rule).collect();
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
}
