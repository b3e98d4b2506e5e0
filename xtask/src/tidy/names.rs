//! Names of types: one word, one thing. No name is declared twice in a crate, nor in a crate and in
//! one that it imports.
//!
//! Types that stand in for a feature that is off (`absent.rs`), tests and associated types do not
//! count, and neither does `Error` of two crates, which is always named with its crate.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::manifests::{DependencyKind, dependencies};
use crate::source::{File, Tree, item};

/// Words that declare a type.
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Names that crates have beside each other, but none has twice.
const BESIDE: [&str; 1] = ["Error"];

/// The files and lines that declare each name.
type Declared<'a> = BTreeMap<&'a str, Vec<(&'a str, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut declared: BTreeMap<&str, Declared> = BTreeMap::new();
    let has_types = |file: &&File| file.path.contains("/src/") && !file.is_tests();
    for file in tree.rust().filter(has_types).filter(|file| file.name() != "absent.rs") {
        let declared = declared.entry(file.crate_name()).or_default();
        for (index, line) in file.masked.production.lines().enumerate() {
            if let Some((_, name)) = item(line).filter(|(keyword, _)| TYPES.contains(keyword)) {
                declared.entry(name).or_default().push((&file.path, index + 1));
            }
        }
    }
    let manifests = tree.files.iter().filter(|file| file.name() == "Cargo.toml");
    manifests.flat_map(|manifest| names(manifest, &declared)).collect()
}

/// Returns a finding for each name that a crate shares with itself or a crate it imports, at its
/// manifest.
fn names(manifest: &File, declared: &BTreeMap<&str, Declared>) -> Vec<Finding> {
    let Some(own) = declared.get(manifest.crate_name()) else { return Vec::new() };
    let imports = dependencies(&manifest.text).into_iter();
    let imports = imports.filter(|import| !matches!(import.used, DependencyKind::Dev));
    let imported: Vec<&Declared> = imports.filter_map(|import| declared.get(import.name)).collect();
    let mut findings = Vec::new();
    for (name, places) in own {
        let beside = imported.iter().filter(|_| !BESIDE.contains(name));
        let others = beside.filter_map(|imported| imported.get(name)).flatten();
        let all: Vec<String> =
            places.iter().chain(others).map(|(path, line)| format!("{path}:{line}")).collect();
        if all.len() > 1 {
            let advice = format!("`{name}` is declared in {}: one word, one thing", all.join(", "));
            findings.push(Finding::new(&manifest.path, 1, "names", advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let found = check(&Tree::of(files));
        let found: Vec<&str> =
            found.iter().map(|finding| finding.advice.split('`').nth(1).unwrap_or("")).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    const X: (&str, &str) = ("crates/x/Cargo.toml", "[dependencies]\ny.workspace = true\n");
    const A: (&str, &str) = ("crates/x/src/a.rs", "//! A.\npub(crate) struct Run<T>(T);\n");

    #[test]
    fn a_name_twice_in_a_crate() {
        check_files(&[X, A, ("crates/x/src/b.rs", "enum Run {}\n")], &["Run"]);
        check_files(&[X, A, ("crates/x/src/b.rs", "enum Runs {}\nfn run() {}\n")], &[]);
    }

    #[test]
    fn a_name_of_an_imported_crate() {
        let y = ("crates/y/Cargo.toml", "[package]\n");
        check_files(&[X, y, A, ("crates/y/src/b.rs", "pub trait Run {}\n")], &["Run"]);
        let z = ("crates/z/src/b.rs", "pub trait Run {}\n");
        check_files(&[X, y, A, ("crates/z/Cargo.toml", "[package]\n"), z], &[]);
    }

    #[test]
    fn tests_doubles_and_errors_do_not_count() {
        let tests = "//! B.\n#[cfg(test)]\nmod tests {\nstruct Run;\n}\n";
        check_files(&[X, A, ("crates/x/src/b.rs", tests)], &[]);
        check_files(&[X, A, ("crates/x/src/a/absent.rs", "struct Run;\n")], &[]);
        check_files(&[X, A, ("crates/x/src/b.rs", "impl B {\n    type Run = u8;\n}\n")], &[]);
        let error = |path| (path, "pub enum Error {}\n");
        check_files(&[X, error("crates/x/src/e.rs"), error("crates/y/src/e.rs")], &[]);
        check_files(&[X, error("crates/x/src/e.rs"), error("crates/x/src/f.rs")], &["Error"]);
    }
}
