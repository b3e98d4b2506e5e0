//! `cargo xtask shape`: counts of what a reader must hold in the head, in any revision. They tell
//! whether a change made the code simpler. Tests do not count, and types that stand in for a
//! feature that is off (`absent.rs`) do not either.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::shell;
use crate::source::{File, Tree, crates as modules, item, production_text, words};

/// Fields from which on a structure is long.
const LONG: usize = 16;

/// Words of code that tell the kinds of load apart.
const KINDS_OF_LOAD: [&str; 3] = ["OpenLoop", "ClosedLoop", "is_open_loop"];

/// Prints the counts of a revision, or of the files as they are.
pub(crate) fn shape(revision: Option<&str>) -> Result<()> {
    let root = shell::root()?;
    let tree = match revision {
        Some(revision) => Tree::at(&root, revision)?,
        None => Tree::read(&root)?,
    };
    print!("{}", report(&tree));
    Ok(())
}

/// The counts of some files, one in each line.
fn report(tree: &Tree) -> String {
    let below = |directory: &str| -> Vec<&File> {
        tree.rust().filter(|file| is_counted(file, directory)).collect()
    };
    let product = below("crates/");
    let twice = names_twice(&product);
    let mut long = structs(&product);
    long.retain(|(_, fields)| *fields >= LONG);
    long.sort_by_key(|(_, fields)| std::cmp::Reverse(*fields));
    let listed = |names: &[String]| names.join(" ");
    let long_names: Vec<String> =
        long.iter().map(|(name, fields)| format!("{name}:{fields}")).collect();
    let rows = [
        ("lines of code in crates", lines(&product), String::new()),
        ("lines of code in xtask", lines(&below("xtask/")), String::new()),
        ("lines of code in lab", lines(&below("lab/")), String::new()),
        ("crates", crates(tree).len(), String::new()),
        ("packages in Cargo.lock", packages(tree), String::new()),
        ("structures with more than 15 fields", long.len(), listed(&long_names)),
        ("names of types in several files", twice.len(), listed(&twice)),
        ("places that tell kinds of load apart", kinds_of_load(&product), String::new()),
        ("imports from the root of the own crate", imports_from_root(tree), String::new()),
    ];
    let mut text = String::new();
    for (about, count, details) in rows {
        text += format!("{count:>7}  {about}\n").as_str();
        if !details.is_empty() {
            text += format!("         {details}\n").as_str();
        }
    }
    text
}

fn is_counted(file: &File, directory: &str) -> bool {
    let is_source = file.path.starts_with(directory) && file.path.contains("/src/");
    is_source && !file.is_tests() && file.name() != "absent.rs"
}

/// Counts lines with code.
fn lines(files: &[&File]) -> usize {
    let code = |file: &&File| production_text(&file.text);
    let count = |text: String| text.lines().filter(|line| !line.trim().is_empty()).count();
    files.iter().map(code).map(count).sum()
}

/// Returns the directories of the crates.
fn crates(tree: &Tree) -> BTreeSet<&str> {
    let product = tree.rust().filter(|file| file.is_product());
    product.map(File::crate_name).collect()
}

fn packages(tree: &Tree) -> usize {
    tree.file("Cargo.lock").map_or(0, |file| file.text.matches("[[package]]").count())
}

/// Returns the structures with named fields, and how many fields each has.
fn structs(files: &[&File]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for file in files {
        // The depth of braces of the structure's line, and whether one is open.
        let mut open = None;
        for line in file.masked.production.lines() {
            let depth = line.len() - line.trim_start().len();
            match (open, item(line.trim_start())) {
                (None, Some(("struct", name))) if line.ends_with('{') => {
                    found.push((name.to_owned(), 0));
                    open = Some(depth);
                }
                (Some(start), _) if depth == start && line.trim() == "}" => open = None,
                (Some(start), _) if depth == start + 4 && is_field(line.trim_start()) => {
                    found.last_mut().expect("a structure is open").1 += 1;
                }
                _ => {}
            }
        }
    }
    found
}

/// True if a line of a structure begins a field.
fn is_field(line: &str) -> bool {
    let name = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        rest.map_or(line.trim_start_matches("pub"), |(_, behind)| behind).trim_start()
    });
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let behind = name.trim_start_matches(is_name);
    behind.len() < name.len() && behind.starts_with(": ")
}

/// Returns the names of types that several files declare, in order.
fn names_twice(files: &[&File]) -> Vec<String> {
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        for line in file.masked.production.lines() {
            let types = ["struct", "enum", "union", "trait", "type"];
            // An indented `type` belongs to a trait or its implementation.
            if let Some((keyword, name)) = item(line)
                && types.contains(&keyword)
            {
                places.entry(name).or_default().insert(&file.path);
            }
        }
    }
    let twice = places.into_iter().filter(|(_, files)| files.len() > 1);
    twice.map(|(name, _)| name.to_owned()).collect()
}

/// Counts the names that files import from the root of their own crate.
fn imports_from_root(tree: &Tree) -> usize {
    let product = modules(tree).into_iter();
    let product = product.filter(|within| {
        within.rooms.values().next().is_some_and(|room| is_counted(room.file, "crates/"))
    });
    product.map(|within| within.imports_from_root()).sum()
}

fn kinds_of_load(files: &[&File]) -> usize {
    let in_file = |file: &&File| {
        let code = &file.masked.production;
        KINDS_OF_LOAD.iter().map(|word| words(code, word).count()).sum::<usize>()
    };
    files.iter().map(in_file).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 4] = [
        (
            "crates/a/src/lib.rs",
            "//! A.\n/// One.\nstruct One {\n    a: u8,\n    pub b: u8,\n    pub(crate) c: u8,\n}\n\
             \nfn f(load: &Load) -> bool {\n    load.is_open_loop() // is_open_loop\n}\n\n\
             #[cfg(test)]\nmod tests {\n    struct Two;\n}\n",
        ),
        (
            "crates/b/src/lib.rs",
            "//! B.\nstruct One;\npub(crate) enum Two {\n    Three { a: u8 },\n}\n",
        ),
        ("crates/b/src/tests.rs", "//! T.\nstruct One;\n"),
        ("Cargo.lock", "[[package]]\nname = \"a\"\n\n[[package]]\nname = \"b\"\n"),
    ];

    #[test]
    fn structures_names_and_lines_are_counted_without_tests() {
        let tree = Tree::of(&FILES);
        let product: Vec<&File> = tree.rust().filter(|file| is_counted(file, "crates/")).collect();
        assert_eq!(structs(&product), [("One".to_owned(), 3)]);
        assert_eq!(names_twice(&product), ["One"]);
        assert_eq!(lines(&product), 12);
        assert_eq!(kinds_of_load(&product), 1);
        assert_eq!((crates(&tree).len(), packages(&tree)), (2, 2));
    }

    /// The root's own item counts, and so does a name that it passes on; a module does not.
    #[test]
    fn imports_from_the_root_of_a_crate_are_counted() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! A.\nmod b;\nmod c;\npub use b::One;\nstruct Own;\n"),
            ("crates/a/src/b.rs", "//! B.\npub struct One;\n"),
            ("crates/a/src/c.rs", "//! C.\nuse crate::b::One as Two;\nuse crate::{One, Own, b};\n"),
        ]);
        assert_eq!(imports_from_root(&tree), 2);
    }

    #[test]
    fn every_count_has_a_line() {
        let report = report(&Tree::of(&FILES));
        assert!(
            report.contains("      1  names of types in several files\n         One\n"),
            "{report}"
        );
        assert_eq!(report.lines().count(), 10, "{report}");
    }
}
