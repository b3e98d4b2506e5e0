//! Flags in texts of libraries: a library names settings, and the program knows the flag of each.

use super::finding::Finding;
use crate::source::{File, Tree, line_of, production_text};

/// Crates with flags of their own, those that start programs, and the room that reads curl's.
const PROGRAMS: [&str; 4] = ["weir", "weir-doctor", "weir-requests/src/list", "weir-serve"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let has_flags = |file: &File| PROGRAMS.iter().any(|place| file.is_in(place));
    let is_of_library = |file: &&File| file.is_product() && !has_flags(file);
    tree.rust().filter(is_of_library).flat_map(flags).collect()
}

/// Finds flags in literals: two dashes before a letter, at the beginning of a word.
fn flags(file: &File) -> Vec<Finding> {
    if !file.text.contains("--") {
        return Vec::new();
    }
    let text = production_text(&file.text);
    let is_word = |c: char| c.is_alphanumeric() || c == '-';
    let places = text.match_indices("--").filter(|(at, _)| {
        !text[..*at].ends_with(is_word)
            && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    });
    // In code, `--a` negates twice, which clippy refuses.
    let finding = |(at, _): (usize, &str)| {
        let name = text[at + 2..].split(|c| !is_word(c)).next().unwrap_or_default();
        let advice = format!("`--{name}`: name the setting; the program knows its flag");
        Finding::new(&file.path, line_of(&text, at), "flags", advice)
    };
    places.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(path: &str, text: &str, lines: &[usize]) {
        let found = check(&Tree::of(&[(path, text)]));
        let found: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "in {path}: {text}");
    }

    #[test]
    fn flags_are_found_in_literals_of_libraries() {
        let text = "//! A.\nfn a() {\n    b(\"use --rate\");\n    c(r#\"`--pin`\"#);\n}\n";
        check_file("crates/weir-runner/src/a.rs", text, &[3, 4]);
        for path in ["crates/weir/src/a.rs", "crates/weir-serve/src/a.rs", "lab/src/a.rs"] {
            check_file(path, text, &[]);
        }
        check_file("crates/weir-runner/tests/it/a.rs", text, &[]);
    }

    #[test]
    fn dashes_comments_and_tests_are_no_flags() {
        check_file("crates/x/src/a.rs", "//! A --b.\nconst A: &str = \"a--b -- c ---d\";\n", &[]);
        let tests = "//! A.\n#[cfg(test)]\nmod tests {\n    const A: &str = \"--b\";\n}\n";
        check_file("crates/x/src/a.rs", tests, &[]);
    }
}
