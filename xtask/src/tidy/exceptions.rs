//! The list of known violations. It states the exact number of findings, so that it must shrink
//! when one of them is fixed.

use super::finding::Finding;
use crate::source::{File, Tree};

const LIST: &str = "xtask/tidy-exceptions.txt";
const RULE: &str = "exception";

/// Removes the findings that the list excuses, and adds the defects of the list itself.
pub(super) fn apply(tree: &Tree, mut findings: Vec<Finding>) -> Vec<Finding> {
    let Some(list) = tree.file(LIST) else { return findings };
    let mut complaints = Vec::new();
    for (line, entry) in entries(list) {
        let Some(exception) = Exception::parse(entry) else {
            let advice = "write `path rule number reason`";
            complaints.push(Finding::new(LIST, line, RULE, advice));
            continue;
        };
        let count = findings.iter().filter(|finding| exception.covers(finding)).count();
        if count <= exception.count {
            findings.retain(|finding| !exception.covers(finding));
        }
        if count < exception.count {
            let advice = format!("only {count} left: lower the number, or delete the line at 0");
            complaints.push(Finding::new(LIST, line, RULE, advice));
        }
    }
    findings.append(&mut complaints);
    findings
}

/// One line of the list: this many findings of one rule in one file are excused, for a reason.
struct Exception<'a> {
    path: &'a str,
    rule: &'a str,
    count: usize,
}

impl<'a> Exception<'a> {
    /// Parses an entry; `None` if a part is missing, the reason included.
    fn parse(entry: &'a str) -> Option<Exception<'a>> {
        let mut words = entry.split_whitespace();
        let (path, rule) = (words.next()?, words.next()?);
        let count = words.next()?.parse().ok()?;
        words.next()?;
        Some(Exception { path, rule, count })
    }

    fn covers(&self, finding: &Finding) -> bool {
        finding.path == self.path && finding.rule == self.rule
    }
}

fn entries(list: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = list.text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies this list to two findings of one rule in one file.
    fn check_list(list: &str, expected: &[&str]) {
        let tree = Tree::of(&[(LIST, list)]);
        let findings = [1, 2].map(|line| Finding::new("a.rs", line, "columns", "break it"));
        let left = apply(&tree, findings.to_vec());
        let left: Vec<_> = left.iter().map(|finding| finding.rule).collect();
        assert_eq!(left, expected, "under {list}");
    }

    #[test]
    fn an_exact_exception_excuses() {
        check_list("# why\na.rs columns 2 a table\n", &[]);
    }

    #[test]
    fn too_few_are_no_excuse() {
        check_list("a.rs columns 1 a table\n", &["columns", "columns"]);
        check_list("b.rs columns 2 a table\n", &["columns", "columns", RULE]);
        check_list("a.rs header 2 a table\n", &["columns", "columns", RULE]);
    }

    #[test]
    fn an_exception_must_shrink() {
        check_list("a.rs columns 3 a table\n", &[RULE]);
    }

    #[test]
    fn an_exception_needs_a_reason() {
        check_list("a.rs columns 2\n", &["columns", "columns", RULE]);
    }
}
