//! The integration tests of a crate: one program, `tests/it/`, so that its dependencies are linked
//! once. Data of tests may stand beside it.

use super::finding::Finding;
use crate::source::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let astray = tree.rust().filter(|file| is_astray(file));
    astray
        .map(|file| {
            let advice = "move it below tests/it/, whose main.rs declares it: a crate has one \
                          program of integration tests";
            Finding::new(&file.path, 1, "integration", advice)
        })
        .collect()
}

/// True for code of integration tests outside the program.
fn is_astray(file: &File) -> bool {
    let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    let tests = inside.and_then(|(_, path)| path.strip_prefix("tests/"));
    tests.is_some_and(|path| !path.starts_with("it/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_path(path: &str, expected: &[&str]) {
        let found = check(&Tree::of(&[(path, "//! Tests.\n")]));
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
}
