//! The heads of items at module level, as rustfmt writes them: without indentation.

use crate::source::scanner::identifier;

/// Words that begin an item with a name.
const KEYWORDS: [&str; 10] =
    ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "mod", "macro_rules"];

/// Returns the keyword and the name of the item that begins in a line of code.
pub(crate) fn item(line: &str) -> Option<(&'static str, &str)> {
    let mut rest = line;
    loop {
        let word = identifier(rest);
        let behind = rest[word.len()..].trim_start();
        match (word, identifier(behind)) {
            ("pub", _) if behind.starts_with('(') => {
                rest = behind.split_once(')')?.1.trim_start();
            }
            ("pub" | "async" | "unsafe" | "extern", _)
            | ("const", "fn" | "async" | "unsafe" | "extern") => rest = behind,
            _ => {
                let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == word)?;
                let name = identifier(behind.trim_start_matches(['!', ' ']));
                return (!name.is_empty()).then_some((keyword, name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_behind_their_qualifiers() {
        let check = |line, expected| assert_eq!(item(line), expected, "in {line}");
        check("struct A {", Some(("struct", "A")));
        check("pub(crate) enum A<T> {", Some(("enum", "A")));
        check("pub(in crate::a) const fn a() {", Some(("fn", "a")));
        check("pub unsafe extern fn a();", Some(("fn", "a")));
        check("const A: u8 = 1;", Some(("const", "A")));
        check("macro_rules! a {", Some(("macro_rules", "a")));
        check("pub mod a;", Some(("mod", "a")));
        check("    fn a() {", None);
        check("impl A {", None);
        check("pub use a::b;", None);
    }
}
