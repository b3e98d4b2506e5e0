//! The list of known violations. It states the exact number of findings, so that it must shrink
//! when one of them is fixed.

use super::finding::Finding;
use crate::source::Tree;

const LIST: &str = "xtask/tidy-exceptions.txt";
const RULE: &str = "exception";

/// Removes the findings that the list excuses, and adds the defects of the list itself.
pub(super) fn apply(tree: &Tree, mut findings: Vec<Finding>) -> Vec<Finding> {
    let Some(list) = tree.file(LIST) else { return findings };
    let mut complaints = Vec::new();
    let lines = list.text.lines().map(str::trim).zip(1..);
    for (entry, line) in lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#')) {
        let Some((path, rule, excused)) = parsed(entry) else {
            let advice = "write `path rule number reason`";
            complaints.push(Finding::new(LIST, line, RULE, advice));
            continue;
        };
        let is_covered = |finding: &Finding| finding.path == path && finding.rule == rule;
        let count = findings.iter().filter(|finding| is_covered(finding)).count();
        if count <= excused {
            findings.retain(|finding| !is_covered(finding));
        }
        if count < excused {
            let advice = format!("only {count} left: lower the number, or delete the line at 0");
            complaints.push(Finding::new(LIST, line, RULE, advice));
        }
    }
    findings.append(&mut complaints);
    findings
}

/// Returns the path, the rule and the number of findings that an entry excuses; `None` if a part is
/// missing, the reason included.
fn parsed(entry: &str) -> Option<(&str, &str, usize)> {
    let [path, rule, count, _, ..] = entry.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    Some((path, rule, count.parse().ok()?))
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
