//! Rules for output to the user: no macros that panic on a closed output, and no bypass of the
//! functions that sanitize foreign text for the terminal. The contents of the output are irrelevant
//! here.

use super::finding::Finding;
use crate::source::{File, Tree, prefixes};

/// Files that may name standard output and standard error.
const HOMES: [&str; 4] = [
    "crates/weir/src/terminal.rs",
    "crates/weir/src/live/progress.rs",
    "crates/weir/src/tui/screen.rs",
    "crates/weir-machine/src/sys/stdout.rs",
];

/// Macros and functions that panic on failure.
const PANICKING: [(&str, &str); 6] = [
    ("print!", "it panics if standard output is closed: use weir's `terminal`"),
    ("println!", "it panics if standard output is closed: use weir's `terminal`"),
    ("eprint!", "it panics if standard output is closed: use weir's `terminal`"),
    ("eprintln!", "it panics if standard output is closed: use weir's `terminal`"),
    ("thread::spawn(", "it panics where no thread is left: use `thread::Builder`"),
    ("scope.spawn(", "it panics where no thread is left: use `thread::Builder::spawn_scoped`"),
];

/// Names that bypass the functions of `terminal`.
const AROUND: [(&str, &str); 5] = [
    ("stdout()", "write to standard output by `terminal::print`"),
    ("stderr()", "write to standard error by `terminal::eprint_line`"),
    ("Stdout::new", "write to standard output by `terminal::print`"),
    ("Stderr", "write to standard error by `terminal::eprint_line`"),
    (".display()", "a name may hold control characters: use `terminal::shown`"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.is_product()) {
        findings.extend(found(file, &PANICKING));
        let is_program = ["weir", "weir-runner"].contains(&file.crate_name());
        if is_program && !HOMES.contains(&file.path.as_str()) {
            findings.extend(found(file, &AROUND));
        }
    }
    findings
}

/// Returns the findings outside the file's tests.
fn found(file: &File, banned: &[(&str, &str)]) -> Vec<Finding> {
    let code = &file.masked.production;
    let found = |(word, advice): &(&str, &str)| {
        let advice = format!("`{word}`: {advice}");
        Finding::at_each(file, code, prefixes(code, word), "printing", &advice)
    };
    banned.iter().flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(path: &str, text: &str, lines: &[usize]) {
        let found = check(&Tree::of(&[(path, text)]));
        let mut found: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        found.sort_unstable();
        assert_eq!(found, lines, "in {path}: {text}");
    }

    #[test]
    fn panics_without_a_reader_are_found() {
        let body = "//! A.\nfn a() {\n    eprintln!(\"b\");\n}\n";
        check_file("crates/weir/src/a.rs", body, &[3]);
        check_file("crates/weir-serve/src/a.rs", body, &[3]);
        check_file("crates/weir/tests/a.rs", body, &[]);
        check_file("crates/weir-io/examples/a.rs", body, &[]);
        check_file("xtask/src/a.rs", body, &[]);
        check_file("lab/src/a.rs", body, &[]);
        let tests = "//! A.\n#[cfg(test)]\nmod tests {\n    fn a() { thread::spawn(b); }\n}\n";
        check_file("crates/weir-io/src/a.rs", tests, &[]);
        check_file("crates/weir-io/src/a.rs", "//! A.\nfn a() { thread::spawn(b); }\n", &[2]);
    }

    #[test]
    fn ways_around_the_terminal_are_found() {
        let body = "//! A.\nfn a() {\n    io::stderr().write(b);\n    c.display();\n}\n";
        check_file("crates/weir/src/a.rs", body, &[3, 4]);
        check_file("crates/weir/src/terminal.rs", body, &[]);
        check_file("crates/weir-report/src/a.rs", body, &[]);
        let around = "//! A.\nfn a() {\n    Stdout::new();\n    rustix::stdio::stderr();\n}\n";
        check_file("crates/weir/src/a.rs", around, &[3, 4]);
        check_file("crates/weir/src/a.rs", "//! A.\nfn flush_c_stdout() {}\n", &[]);
    }
}
