//! Rules for every text file, whatever its language.

use super::finding::Finding;
use super::rust::columns;
use crate::source::{File, Tree};

/// Directories specific to one machine: of its users, its build jobs, its scratch space.
const MACHINE_DIRS: [&str; 5] = ["home/", "root/", "Users/", "work/", "tmp/wt"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.files.iter().flat_map(machine_paths).collect();
    let scripts = tree.files.iter().filter(|file| is_script(file));
    findings.extend(scripts.flat_map(columns));
    findings
}

/// Finds paths that begin at `/` and lead into a directory of one machine.
fn machine_paths(file: &File) -> Vec<Finding> {
    Finding::in_lines(file, "machine-path", |line| {
        let dir = MACHINE_DIRS.iter().find(|dir| names_from_root(line, dir))?;
        Some(format!("/{dir} exists on one machine only; say it relative to the root"))
    })
}

fn names_from_root(line: &str, dir: &str) -> bool {
    line.match_indices(dir).any(|(at, _)| {
        // The character before the slash distinguishes `x/home/` inside a path from its beginning.
        line[..at].strip_suffix('/').is_some_and(|before| {
            !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~}>)*".contains(c))
        })
    })
}

fn is_script(file: &File) -> bool {
    file.name() == "Makefile" || file.path.ends_with(".sh") || file.path.starts_with(".ci/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<_> = check(&Tree::of(&[(path, text)])).iter().map(|f| f.rule).collect();
        assert_eq!(found, expected, "in {text}");
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for dir in MACHINE_DIRS {
            check_text("README.md", &format!("see\n\"/{dir}x\""), &["machine-path"]);
            check_text("README.md", &format!("see /{dir}x"), &["machine-path"]);
            check_text("README.md", &format!("see a/{dir}x"), &[]);
            check_text("README.md", &format!("https://example.org/{dir}x"), &[]);
        }
    }

    #[test]
    fn scripts_have_short_lines_and_prose_need_not() {
        let line = "a ".repeat(60);
        check_text("Makefile", &line, &["columns"]);
        check_text(".ci/run", &line, &["columns"]);
        check_text("README.md", &line, &[]);
    }
}
