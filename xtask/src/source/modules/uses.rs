//! The names that `use` brings into a module.

use crate::source::scanner::{line_of, words};

/// One name that a `use` brings.
#[derive(Debug, PartialEq, Eq)]
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
    let mut found = Vec::new();
    for (at, is_public) in declarations(code) {
        let (from, end) = (at + "use".len(), end(code, at));
        leaves(&code[from..end], from, &[], &mut |path, name, at| {
            found.push(UsedName { path, name, is_public, line: line_of(code, at) });
        });
    }
    found
}

/// Returns the code with its `use` declarations blanked.
pub(super) fn without_uses(code: &str) -> String {
    let mut text = code.to_owned();
    for (at, _) in declarations(code) {
        let blank: String =
            code[at..end(code, at)].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
        text.replace_range(at..end(code, at), &blank);
    }
    text
}

/// Returns the offset of each `use` that begins a declaration, and whether it is public.
fn declarations(code: &str) -> impl Iterator<Item = (usize, bool)> {
    words(code, "use").filter_map(|at| {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_public = before == "pub" || (before.starts_with("pub(") && before.ends_with(')'));
        (before.is_empty() || is_public).then_some((at, is_public))
    })
}

fn end(code: &str, at: usize) -> usize {
    code[at..].find(';').map_or(code.len(), |length| at + length)
}

/// Calls `leaf` for each name of a tree of paths, with its path, its name here and its offset.
fn leaves(
    tree: &str,
    offset: usize,
    prefix: &[String],
    leaf: &mut dyn FnMut(Vec<String>, String, usize),
) {
    for (from, branch) in branches(tree) {
        let group = branch.find('{').map(|open| (open + 1, branch.rfind('}').unwrap_or(open + 1)));
        let path = group.map_or(branch, |(inside, _)| &branch[..inside - 1]);
        let (path, alias) = path.split_once(" as ").unwrap_or((path, ""));
        let parts = path.split("::").map(str::trim).filter(|part| !part.is_empty());
        let mut path: Vec<String> =
            prefix.iter().cloned().chain(parts.map(str::to_owned)).collect();
        if let Some((inside, close)) = group {
            leaves(&branch[inside..close], offset + from + inside, &path, leaf);
            continue;
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let Some(last) = path.last().cloned() else { continue };
        if last == "*" {
            path.pop();
        }
        let indent = branch.len() - branch.trim_start().len();
        let name = if alias.is_empty() { last } else { alias.trim().to_owned() };
        leaf(path, name, offset + from + indent);
    }
}

/// Splits a group at its own commas, and returns each part with its offset.
fn branches(group: &str) -> Vec<(usize, &str)> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push((from, &group[from..at]));
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push((from, &group[from..]));
    found.retain(|(_, branch)| !branch.trim().is_empty());
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
