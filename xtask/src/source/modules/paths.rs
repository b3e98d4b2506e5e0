//! The paths that code names besides the paths of `use`.

use crate::source::scanner::is_word_char;

/// Returns all paths in a line of code. A single name is a path of one part, but for
/// fields and methods, and for lower-case names that are not called: those are variables.
pub(super) fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(skipped) = code[at..].find(is_word_char) {
        let (before, rest) = code.split_at(at + skipped);
        let length = rest.find(|c| !is_word_char(c) && c != ':').unwrap_or(rest.len());
        at = before.len() + length;
        let path = rest[..length].trim_end_matches(':');
        let is_named = path.contains("::")
            || !path.starts_with(char::is_lowercase)
            || ["(", "!", "::"].iter().any(|next| rest[path.len()..].starts_with(next));
        if is_named && !path.starts_with(|c: char| c.is_ascii_digit()) && begins(before) {
            found.push(path.split("::").map(str::to_owned).collect());
        }
    }
    found
}

/// True if a path may begin after this code: it continues no other, and names no field.
fn begins(before: &str) -> bool {
    let before = before.trim_end();
    !before.ends_with("::") && (!before.ends_with('.') || before.ends_with(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_code(code: &str, expected: &[&str]) {
        let found: Vec<_> = paths(code).into_iter().map(|path| path.join("::")).collect();
        assert_eq!(found, expected, "in {code}");
    }

    #[test]
    fn paths_are_found_whole() {
        check_code("a::b::C::new(D, 1)", &["a::b::C::new", "D"]);
        check_code("x: Vec<super::A>", &["Vec", "super::A"]);
        check_code("a::<B>()", &["a", "B"]);
        check_code("$crate::a!()", &["crate::a"]);
    }

    #[test]
    fn variables_fields_and_methods_are_no_paths() {
        check_code("let a = b.c.d(e);", &[]);
        check_code("f(a..g())", &["f", "g"]);
        check_code("a\n    .b()\n    .c()", &[]);
    }
}
