//! Number of methods of one type, in all its `impl` blocks in all files of its crate. Methods of
//! traits do not count, since the trait decides how many there are.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::source::{File, Tree, item, tests_module};

const METHODS_MAX: usize = 40;

/// Paths and lines by crate and name.
type Declarations<'a> = BTreeMap<(&'a str, &'a str), Vec<(&'a str, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files: Vec<&File> = tree.rust().filter(|file| file.path.contains("/src/")).collect();
    let declared = declarations(&files);
    let mut counts: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    for file in &files {
        for (name, methods) in inherent(file) {
            if let Some(declared) = nearest(&declared, name, file) {
                *counts.entry(declared).or_default() += methods;
            }
        }
    }
    counts.retain(|_, methods| *methods > METHODS_MAX);
    let finding = |((path, line), methods)| {
        let remedy = "separate it into objects that know less";
        let advice = format!("the type has {methods} methods, {METHODS_MAX} at most: {remedy}");
        Finding::new(path, line, "methods", advice)
    };
    counts.into_iter().map(finding).collect()
}

/// Returns the types with methods of their own in a file, and the number of them in each block.
fn inherent(file: &File) -> Vec<(&str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    let mut is_inside = false;
    for line in production(file) {
        if line.starts_with("impl") {
            let name = type_of(line);
            is_inside = name.is_some();
            found.extend(name.map(|name| (name, 0)));
        } else if line.starts_with('}') {
            is_inside = false;
        } else if is_inside && matches!(line.strip_prefix("    ").and_then(item), Some(("fn", _))) {
            found.last_mut().expect("the block has begun").1 += 1;
        }
    }
    found
}

/// Returns the lines of code before the tests.
fn production(file: &File) -> impl Iterator<Item = &str> {
    let tests = tests_module(&file.masked.code).map_or(usize::MAX, |lines| lines.start);
    file.masked.code.lines().take(tests.saturating_sub(1))
}

/// Returns the type of `impl<…> Type<…> {`; `None` for the implementation of a trait.
fn type_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let path = match rest.strip_prefix('<') {
        Some(generics) => behind_generics(generics)?,
        None => rest,
    };
    if path.contains(" for ") || path.trim_end().ends_with(" for") {
        return None;
    }
    let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let path = path.trim_start().split(end).next()?;
    path.rsplit("::").next().filter(|name| !name.is_empty())
}

/// Returns the text behind the generics that begin before `text`.
fn behind_generics(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            // The arrow of a function's type.
            '>' if text[..at].ends_with('-') => {}
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[at + 1..]);
        }
    }
    None
}

/// Returns the paths and lines at which each crate declares each type.
fn declarations<'a>(files: &[&'a File]) -> Declarations<'a> {
    let mut found = Declarations::new();
    for file in files {
        for (index, line) in production(file).enumerate() {
            if let Some(("struct" | "enum" | "union", name)) = item(line.trim_start()) {
                let places = found.entry((file.crate_name(), name)).or_default();
                places.push((file.path.as_str(), index + 1));
            }
        }
    }
    found
}

/// Returns the path and line at which `name` is declared: in the file of the crate that is nearest
/// to `file`.
fn nearest<'a>(declared: &Declarations<'a>, name: &str, file: &File) -> Option<(&'a str, usize)> {
    let places = declared.get(&(file.crate_name(), name))?.iter().copied();
    places.max_by_key(|(path, _)| common(path, &file.path))
}

/// Returns the length of the beginning that two paths have in common, without their extension.
fn common(one: &str, other: &str) -> usize {
    let one = one.strip_suffix(".rs").unwrap_or(one);
    let other = other.strip_suffix(".rs").unwrap_or(other);
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of a file with blocks of so many methods.
    fn file(declaration: &str, blocks: &[(&str, usize)]) -> String {
        let block = |(head, methods): &(&str, usize)| {
            format!("{head} {{\n{}}}\n", "    pub(crate) fn a() {}\n".repeat(*methods))
        };
        let blocks: String = blocks.iter().map(block).collect();
        format!("//! A.\n\n{declaration}\n{blocks}")
    }

    fn check_files(files: &[(&str, String)], expected: &[(&str, usize)]) {
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let found = check(&Tree::of(&files));
        let found: Vec<(&str, usize)> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(found, expected);
    }

    const A: &str = "crates/x/src/a.rs";
    const B: &str = "crates/x/src/a/b.rs";

    #[test]
    fn methods_of_all_files_add_up() {
        let head = "impl<'a, F: Fn(u8) -> u8> A<'a, F>";
        let a =
            |methods| (A, file("struct A<'a, F>(F);", &[(head, 30), ("impl A<'_, u8>", methods)]));
        let b = (B, file("", &[("impl<F> super::A<'_, F>", 5)]));
        check_files(&[a(5), b.clone()], &[]);
        check_files(&[a(6), b], &[(A, 3)]);
    }

    #[test]
    fn methods_of_traits_and_tests_do_not_count() {
        let mut text =
            file("pub(crate) enum A {}", &[("impl A", 40), ("impl<T> From<T> for A", 9)]);
        text += "#[cfg(test)]\nmod tests {\n}\nimpl A {\n    fn a() {}\n}\n";
        check_files(&[(A, text)], &[]);
    }

    #[test]
    fn equal_names_are_distinguished_by_their_files() {
        let own = |of| file("struct A;", &[("impl A", of)]);
        let one = "crates/x/src/one.rs";
        let other = "crates/x/src/other.rs";
        check_files(&[(one, own(30)), (other, own(30))], &[]);
        check_files(&[(one, own(30)), (other, own(41))], &[(other, 3)]);
        check_files(&[("crates/y/src/one.rs", own(30)), (one, own(30))], &[]);
    }
}
