//! The names that `use` brings into a module.

use std::ops::Range;

use crate::source::scanner::{identifier, line_of, without, words};

/// One name that a `use` brings.
pub(super) struct UsedName {
    /// The path to what is used; of `a::*` it is `a`.
    pub(super) path: Vec<String>,
    /// The name in this module, `*` for all of them.
    pub(super) name: String,
    /// True for `pub use`.
    pub(super) is_public: bool,
    /// Line number, from 1.
    pub(super) line: usize,
}

/// Returns the names of all `use` declarations, those inside functions too.
pub(super) fn uses(code: &str) -> Vec<UsedName> {
    declarations(code).flat_map(|(span, is_public)| names(code, span, is_public)).collect()
}

/// Returns the code with its `use` declarations blanked.
pub(super) fn without_uses(code: &str) -> String {
    without(code, declarations(code).map(|(span, _)| span))
}

/// Returns the span of each `use` declaration up to its semicolon, and whether it is public.
fn declarations(code: &str) -> impl Iterator<Item = (Range<usize>, bool)> {
    words(code, "use").filter_map(|at| {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_public = before == "pub" || (before.starts_with("pub(") && before.ends_with(')'));
        let end = code[at..].find(';').map_or(code.len(), |length| at + length);
        (before.is_empty() || is_public).then_some((at..end, is_public))
    })
}

/// Returns the names of one declaration: a path, or a tree of paths in braces.
fn names(code: &str, span: Range<usize>, is_public: bool) -> Vec<UsedName> {
    let mut found = Vec::new();
    // The path so far, its lengths before each open brace, and the first offset behind those.
    let (mut path, mut prefixes, mut first) = (Vec::new(), vec![0], span.start);
    let (mut at, mut alias) = (span.start + "use".len(), None);
    while at <= span.end {
        let word = identifier(&code[at..span.end]);
        let next = code[at + word.len()..span.end].chars().next().unwrap_or(';');
        if word == "as" {
            alias = Some(String::new());
        } else if let Some(alias) = alias.as_mut().filter(|_| !word.is_empty()) {
            word.clone_into(alias);
        } else if !word.is_empty() {
            first = if prefixes.last() == Some(&path.len()) { at } else { first };
            path.push(word.to_owned());
        }
        let prefix = prefixes.last().copied().unwrap_or(0);
        match next {
            '*' => path.push("*".to_owned()),
            '{' => prefixes.push(path.len()),
            ',' | '}' | ';' => {
                if path.len() > prefix {
                    let line = line_of(code, first);
                    found.extend(used_name(path.clone(), alias.take(), is_public, line));
                }
                if next == '}' {
                    prefixes.pop();
                }
                path.truncate(prefixes.last().copied().unwrap_or(0));
            }
            _ => {}
        }
        at += word.len() + next.len_utf8();
    }
    found
}

fn used_name(
    mut path: Vec<String>,
    alias: Option<String>,
    is_public: bool,
    line: usize,
) -> Option<UsedName> {
    if path.len() > 1 {
        path.pop_if(|last| last == "self");
    }
    let name = alias.or_else(|| path.last().cloned())?;
    path.pop_if(|last| last == "*");
    Some(UsedName { path, name, is_public, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_taken_apart() {
        let code = "use a::b;\npub(crate) use super::{\n    c::{self, D as E},\n    f::*,\n};\n";
        let found = uses(code);
        let found: Vec<_> = found
            .iter()
            .map(|used| (used.path.join("::"), used.name.as_str(), used.is_public, used.line))
            .collect();
        let expected = [
            ("a::b", "b", false, 1),
            ("super::c", "c", true, 3),
            ("super::c::D", "E", true, 3),
            ("super::f", "*", true, 4),
        ];
        assert_eq!(
            found,
            expected.map(|(path, name, public, line)| (path.to_owned(), name, public, line))
        );
    }

    #[test]
    fn what_is_no_declaration_stays() {
        let code = "fn a() -> impl B + use<'_> {\n    use c::D;\n    D\n}\n";
        assert_eq!(uses(code).len(), 1);
        assert_eq!(without_uses(code), "fn a() -> impl B + use<'_> {\n            ;\n    D\n}\n");
    }
}
