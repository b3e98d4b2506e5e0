//! One shape, one struct. Two structs of a crate, or one and another of a crate it imports, that
//! have many fields of the same names and types in common are copied field by field: one should
//! hold the other, or both a third.
//!
//! Only structs with named fields that are written out count, no tests and none made by macros.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::manifests::{DependencyKind, dependencies};
use crate::source::{File, Tree, closing_brace, head_end, is_word_char, item, listed, typed};

/// The number of common fields from which two structs are a finding.
const COMMON_MIN: usize = 6;

/// A struct with named fields.
struct Shape<'a> {
    path: &'a str,
    /// Line number, from 1.
    line: usize,
    name: &'a str,
    /// Names with their types, without spaces.
    fields: BTreeSet<(&'a str, String)>,
}

impl Shape<'_> {
    /// Returns the number of fields that both have.
    fn common(&self, other: &Shape) -> usize {
        self.fields.intersection(&other.fields).count()
    }

    /// Returns the finding that this struct repeats fields of another, if there are enough.
    fn repeats(&self, other: &Shape) -> Option<Finding> {
        let common = self.common(other);
        (common >= COMMON_MIN).then(|| {
            let Shape { path, line, name, .. } = self;
            let advice =
                format!("`{name}` repeats {common} fields of `{}`: let it hold one", other.name);
            Finding::new(path, *line, "shapes", advice)
        })
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut shapes: BTreeMap<&str, Vec<Shape>> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.path.contains("/src/") && !file.is_tests()) {
        shapes.entry(file.crate_name()).or_default().extend(shapes_of(file));
    }
    // The struct that has more fields can hold the other.
    shapes.values_mut().for_each(|own| own.sort_by_key(|shape| shape.fields.len()));
    let mut findings = Vec::new();
    for manifest in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        let Some(own) = shapes.get(manifest.crate_name()) else { continue };
        let imports = dependencies(&manifest.text).into_iter();
        let imports = imports.filter(|import| !matches!(import.used, DependencyKind::Dev));
        let imported: Vec<&Shape> =
            imports.filter_map(|import| shapes.get(import.name)).flatten().collect();
        for (at, shape) in own.iter().enumerate() {
            let others = own[..at].iter().chain(imported.iter().copied());
            findings.extend(others.filter_map(|other| shape.repeats(other)));
        }
    }
    findings
}

/// Returns the structs of a file that have enough fields.
fn shapes_of(file: &File) -> Vec<Shape<'_>> {
    let code = &file.masked.production;
    let mut at = 0;
    let mut found = Vec::new();
    for (line, text) in (1..).zip(code.split_inclusive('\n')) {
        if let Some(("struct", name)) = item(text) {
            let fields = fields(&code[at..]);
            found.push(Shape { path: &file.path, line, name, fields });
        }
        at += text.len();
    }
    found.retain(|shape| shape.fields.len() >= COMMON_MIN);
    found
}

/// Returns the fields of the struct whose head begins `code`; none if they have no names.
fn fields(code: &str) -> BTreeSet<(&str, String)> {
    let open = head_end(code, 0);
    if !code[open..].starts_with('{') {
        return BTreeSet::new();
    }
    let declared = listed(&code[open + 1..closing_brace(code, open)]).into_iter();
    let fields = declared.filter_map(typed).map(|(before, of)| {
        // Before the name stand attributes and `pub`.
        let name = before.rsplit(|c| !is_word_char(c)).next().unwrap_or(before);
        (name, of.split_whitespace().collect())
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: (&str, &str) = ("crates/x/Cargo.toml", "[dependencies]\ny.workspace = true\n");
    const Y: (&str, &str) = ("crates/y/Cargo.toml", "[package]\n");
    const A: &str = "crates/x/src/a.rs";
    const SIX: &str = "a: u8, b: u8, c: u8, d: u8, e: u8, f: Vec<(u8, u8)>";

    fn check_files(files: &[(&str, &str)], expected: &[(&str, usize)]) {
        let found = check(&Tree::of(files));
        let found: Vec<_> = found.iter().map(|found| (found.path.as_str(), found.line)).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn the_larger_of_two_repeats_the_other() {
        let wide =
            "    #[serde(default)]\n    pub(crate) a: u8,\n    b: u8,\n    c: u8,\n    d: u8,\n";
        let wide = format!("pub struct A<'a> {{\n{wide}    e: u8, f: Vec<(\n u8, u8)>, g: u8 }}\n");
        let text = format!("{wide}struct B {{ {SIX} }}\n");
        check_files(&[X, (A, &text)], &[(A, 1)]);
        let mixed = SIX.replace("a: u8", "a: u16");
        check_files(&[X, (A, &format!("{wide}struct B {{ {mixed} }}\n"))], &[]);
        check_files(&[X, (A, &format!("{wide}struct B({SIX});\n"))], &[]);
    }

    #[test]
    fn imported_structs_count() {
        let a = format!("\nstruct A {{ {SIX} }}\n");
        let b = format!("struct B {{ {SIX}, g: u8 }}\n");
        check_files(&[X, Y, (A, &a), ("crates/y/src/b.rs", &b)], &[(A, 2)]);
        check_files(&[X, Y, (A, &a), ("crates/z/src/b.rs", &b)], &[]);
    }

    #[test]
    fn tests_and_macros_do_not_count() {
        let other =
            format!("struct A {{ {SIX} }}\n#[cfg(test)]\nmod tests {{\nstruct B {{ {SIX} }}\n}}\n");
        check_files(&[X, (A, &other)], &[]);
        let made = format!("struct A {{ {SIX} }}\nsection! {{\n    struct B {{ {SIX} }}\n}}\n");
        check_files(&[X, (A, &made)], &[]);
    }
}
