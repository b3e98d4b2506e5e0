//! The names that `use` brings into a module.

use std::ops::Range;

use crate::source::scanner::{line_of, without, words};

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
    // The paths before the open braces.
    let mut prefixes = vec![Vec::new()];
    let mut start = span.start + "use".len();
    let ends = code[span.clone()].match_indices(['{', ',', '}']);
    let ends = ends.map(|(length, end)| (span.start + length, end)).chain([(span.end, ";")]);
    for (at, end) in ends {
        let part = code[start..at].trim_start();
        let line = line_of(code, at - part.len());
        start = at + 1;
        let (path, alias) = match part.split_once(" as ") {
            Some((path, alias)) => (path, Some(alias.trim().to_owned())),
            None => (part, None),
        };
        let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
        let mut path = prefixes.last().cloned().unwrap_or_default();
        path.extend(names.map(str::to_owned));
        if end == "{" {
            prefixes.push(path);
            continue;
        }
        if end == "}" {
            prefixes.pop();
        }
        path.pop_if(|last| last == "self");
        if let Some(name) = alias.or_else(|| path.last().cloned()).filter(|_| !part.is_empty()) {
            path.pop_if(|last| last == "*");
            found.push(UsedName { path, name, is_public, line });
        }
    }
    found
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
