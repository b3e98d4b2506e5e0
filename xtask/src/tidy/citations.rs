//! Citations of METHOD.md in comments: each names a section that exists.

use super::finding::Finding;
use crate::source::{File, Tree, line_of, words};

const PAGE: &str = "METHOD.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |page| page.text.as_str());
    let sections: Vec<&str> = page.lines().filter_map(section).collect();
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, cited) in citations(file) {
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
fn citations(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let comments = &file.masked.comments;
    words(comments, "METHOD").filter_map(|at| {
        let after = comments[at..].strip_prefix("METHOD ")?;
        let end = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
        let number = after[..end].trim_end_matches('.');
        (!number.is_empty()).then(|| (line_of(comments, at), number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_comment(comment: &str, expected: &[usize]) {
        let page = "# A\n\n## 1. B\n\n### 1.5 C\n";
        let code = format!("//! A.\n{comment}\nconst A: &str = \"METHOD 9\";\n");
        let tree = Tree::of(&[(PAGE, page), ("crates/weir/src/main.rs", &code)]);
        let lines: Vec<usize> = check(&tree).iter().map(|finding| finding.line).collect();
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
}
