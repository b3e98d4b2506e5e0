//! One `let` binds one thing. A tuple of names on the left and one of values on the right saves a
//! line and makes the reader pair them.

use super::finding::Finding;
use crate::source::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.rust();
    files
        .flat_map(|file| {
            let lines = pairs(&file.masked.code);
            lines.into_iter().map(|line| {
                let advice = "one `let` binds several values: write one for each".to_owned();
                Finding::new(&file.path, line, "bindings", advice)
            })
        })
        .collect()
}

/// Returns the lines, from 1, of each `let (a, b) = (x, y);`.
fn pairs(code: &str) -> Vec<usize> {
    let starts = code.match_indices("let (").filter(|(at, _)| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    });
    let is_pair = |at: usize| {
        let names = &code[at + "let ".len()..];
        let behind = &names[closing(names)?..];
        let (kind, value) = behind.split_once('=')?;
        let value = value.trim_start();
        let has_kind = kind.trim().is_empty() || kind.trim().starts_with(": (");
        (has_kind && value.starts_with('(') && value[closing(value)?..].starts_with(';'))
            .then_some(())
    };
    starts
        .filter(|(at, _)| is_pair(*at).is_some())
        .map(|(at, _)| 1 + code[..at].matches('\n').count())
        .collect()
}

/// Returns the length of the text up to the parenthesis that closes its first one, included.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_let_binds_one_thing() {
        assert_eq!(pairs("fn f() {\n    let (a, b) = (1, g(2));\n}\n"), [2]);
        assert_eq!(pairs("    let (a, b): (u8, u8) =\n        (1, 2);\n"), [1]);
        for fine in [
            "    let (a, b) = g(1);\n",
            "    let (a, b) = (1..9).map(f).unzip();\n",
            "    let [a, b] = [1, 2].map(f);\n",
            "    if let (Some(a), true) = (b, c) {\n",
            "    let (Some(a), true) = (b, c) else { return };\n",
            "    (a, b) = (1, 2);\n",
        ] {
            assert!(pairs(fine).is_empty(), "{fine}");
        }
    }
}
