//! The paths that code names besides the paths of `use`.

use crate::source::scanner::identifier;

/// Returns all paths of code with their offsets. A single name is a path of one part, but for
/// fields and methods, and for lower-case names that are not called: those are variables.
pub(super) fn paths(code: &str) -> Vec<(Vec<String>, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < code.len() {
        let first = identifier(&code[at..]);
        if first.is_empty() {
            at += code[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let (start, mut path) = (at, vec![first.to_owned()]);
        at += first.len();
        while let Some(next) = code[at..].strip_prefix("::").map(identifier) {
            if next.is_empty() {
                break;
            }
            path.push(next.to_owned());
            at += "::".len() + next.len();
        }
        let is_named = path.len() > 1
            || !first.starts_with(char::is_lowercase)
            || ["(", "!", "::"].iter().any(|next| code[at..].starts_with(next));
        if is_named && !first.starts_with(|c: char| c.is_ascii_digit()) && begins(&code[..start]) {
            found.push((path, start));
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
        let found: Vec<_> = paths(code).into_iter().map(|(path, _)| path.join("::")).collect();
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
