//! Rules for files as such: their places and sizes, and the lines of texts of any kind.

use super::finding::Finding;
use super::rust::columns;
use crate::source::{File, Tree};

/// Directories specific to one machine: of its users, its build jobs, its scratch space.
const MACHINE_DIRS: [&str; 5] = ["home/", "root/", "Users/", "work/", "tmp/wt"];

/// Rules for every text file, whatever its language.
pub(super) fn text(tree: &Tree) -> Vec<Finding> {
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

/// The integration tests of a crate: one program, `tests/it/`, so that its dependencies are linked
/// once. Data of tests may stand beside it.
pub(super) fn integration(tree: &Tree) -> Vec<Finding> {
    let advice = "move it below tests/it/, whose main.rs declares it: a crate has one program of \
                  integration tests";
    let astray = tree.rust().filter(|file| is_astray(file));
    astray.map(|file| Finding::new(&file.path, 1, "integration", advice)).collect()
}

/// True for code of integration tests outside the program.
fn is_astray(file: &File) -> bool {
    let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    let tests = inside.and_then(|(_, path)| path.strip_prefix("tests/"));
    tests.is_some_and(|path| !path.starts_with("it/"))
}

const BYTES_MAX: u64 = 256 * 1024;

/// Size of each file of the tree, text or not: a clone should hold what people wrote. What tools
/// generate, other projects publish, or a run has measured is kept compressed, or installed by a
/// lock file.
pub(super) fn blobs(tree: &Tree) -> Vec<Finding> {
    let finding = |(path, bytes): &(String, u64)| {
        let remedy = "compress it, or install it by a lock file";
        Finding::new(path, 1, "blob", format!("{bytes} bytes, {BYTES_MAX} at most: {remedy}"))
    };
    tree.sizes.iter().filter(|(_, bytes)| *bytes > BYTES_MAX).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<_> =
            super::text(&Tree::of(&[(path, text)])).iter().map(|f| f.rule).collect();
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

    fn check_path(path: &str, expected: &[&str]) {
        let found = integration(&Tree::of(&[(path, "//! Tests.\n")]));
        let found: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_second_program_is_found() {
        check_path("crates/weir-http/tests/it/main.rs", &[]);
        check_path("crates/weir-http/tests/it/h2/client.rs", &[]);
        check_path("crates/weir-http/tests/h2.rs", &["integration"]);
        check_path("crates/weir-http/tests/all/main.rs", &["integration"]);
        check_path("crates/weir-http/tests/italy.rs", &["integration"]);
    }

    #[test]
    fn data_and_unit_tests_may_be_elsewhere() {
        check_path("crates/weir-http/tests/scipy.txt", &[]);
        check_path("crates/weir-http/src/args/tests.rs", &[]);
        check_path("crates/weir-http/src/tests/a.rs", &[]);
        check_path("lab/tests/a.rs", &[]);
    }

    fn check_size(bytes: u64, expected: &[&str]) {
        let sizes = vec![("a.bin".to_owned(), bytes)];
        let found = blobs(&Tree { sizes, ..Tree::of(&[]) });
        let found: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{bytes} bytes");
    }

    #[test]
    fn large_files_are_found() {
        check_size(0, &[]);
        check_size(BYTES_MAX, &[]);
        check_size(BYTES_MAX + 1, &["blob"]);
    }

    #[test]
    fn sizes_of_texts_are_in_bytes() {
        let text = "ä".repeat(usize::try_from(BYTES_MAX / 2).expect("a small number"));
        assert_eq!(blobs(&Tree::of(&[("a.md", &text)])), []);
        assert_eq!(blobs(&Tree::of(&[("a.md", &format!("{text}.")), ("b.md", "")])).len(), 1);
    }
}
