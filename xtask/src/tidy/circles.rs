//! Import cycles between files of a crate. A module and its own submodules may import each other.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::scanner::{line_of, prefixes, tests_module};
use super::tree::{File, Tree};

/// First words of a path within the crate.
const ROOTS: [&str; 2] = ["crate::", "super::"];

/// A module's path from the root of its crate.
type Module = Vec<String>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(Module, &File)>> = BTreeMap::new();
    for file in tree.rust() {
        if let Some(module) = module_of(file) {
            crates.entry(file.crate_name()).or_default().push((module, file));
        }
    }
    crates.values().flat_map(|files| circles(files)).collect()
}

/// Returns the module of a file under `src/`, with no parts for the root.
fn module_of(file: &File) -> Option<Module> {
    let (_, inside) = file.path.split_once("/src/")?;
    let mut parts: Module = inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    Some(parts)
}

fn circles(files: &[(Module, &File)]) -> Vec<Finding> {
    let modules: BTreeSet<&Module> = files.iter().map(|(module, _)| module).collect();
    let imports: BTreeMap<&Module, Vec<(&Module, usize)>> =
        files.iter().map(|(module, file)| (module, imports_of(module, file, &modules))).collect();
    let mut findings = Vec::new();
    for (module, file) in files {
        for (imported, line) in &imports[module] {
            if reaches(imported, module, &imports) {
                let advice = format!(
                    "`{}` imports this file too, perhaps by way of others: move what both need",
                    imported.join("::")
                );
                findings.push(Finding::new(&file.path, *line, "circle", advice));
            }
        }
    }
    findings
}

/// Returns the files that a file names, each with the line of its first mention.
fn imports_of<'a>(
    module: &Module,
    file: &File,
    modules: &BTreeSet<&'a Module>,
) -> Vec<(&'a Module, usize)> {
    let code = &file.masked.code;
    let tests = tests_module(code).map_or(usize::MAX, |lines| lines.start);
    let mut found: Vec<(&Module, usize)> = Vec::new();
    let places = ROOTS.iter().flat_map(|root| prefixes(code, root).map(move |at| (root, at)));
    for (root, at) in places {
        let line = line_of(code, at);
        // In `super::super::a` only the first `super` begins a path.
        if line >= tests || code[..at].ends_with("::") {
            continue;
        }
        for path in paths(root, &code[at + root.len()..]) {
            let Some(imported) = resolve(module, &path, modules) else { continue };
            let is_kin = imported.starts_with(module) || module.starts_with(imported);
            if !is_kin && found.iter().all(|(known, _)| *known != imported) {
                found.push((imported, line));
            }
        }
    }
    found
}

/// Returns the paths that begin with `root`, given the text behind it: one, or those of a group in
/// braces.
fn paths(root: &str, rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else { return vec![format!("{root}{rest}")] };
    let (mut depth, mut from, mut found) = (1, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {}
            _ => continue,
        }
        if depth == 0 || (depth == 1 && character == ',') {
            found.push(format!("{root}{}", group[from..at].trim()));
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Returns the file that holds the item at the beginning of `text`.
fn resolve<'a>(module: &Module, text: &str, modules: &BTreeSet<&'a Module>) -> Option<&'a Module> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
    let mut path: Module = Vec::new();
    let mut is_first = true;
    for part in text[..end.unwrap_or(text.len())].split("::").filter(|part| !part.is_empty()) {
        match part {
            "crate" => path.clear(),
            "super" if is_first => path = module.split_last()?.1.to_vec(),
            "super" => drop(path.pop()),
            _ => path.push(part.to_owned()),
        }
        is_first = false;
    }
    (1..=path.len()).rev().find_map(|parts| modules.get(&path[..parts].to_vec()).copied())
}

/// True if `from` imports `to`, directly or through others.
fn reaches(from: &Module, to: &Module, imports: &BTreeMap<&Module, Vec<(&Module, usize)>>) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            next.extend(imports.get(module).into_iter().flatten().map(|(imported, _)| *imported));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(files: &[(&str, &str)], expected: &[(&str, usize)]) {
        let found = check(&Tree::of(files));
        let found: Vec<(&str, usize)> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn two_files_that_import_each_other() {
        let a = ("crates/x/src/a.rs", "//! A.\nuse crate::b::B;\n");
        let b = ("crates/x/src/b.rs", "//! B.\n\nuse super::a::A;\n");
        check_files(&[a, b], &[("crates/x/src/a.rs", 2), ("crates/x/src/b.rs", 3)]);
        check_files(&[a, ("crates/x/src/b.rs", "//! B.\n")], &[]);
        check_files(&[a, ("crates/y/src/b.rs", "//! B.\nuse crate::a::A;\n")], &[]);
    }

    #[test]
    fn by_way_of_a_third() {
        let a = ("crates/x/src/a.rs", "//! A.\nuse crate::b::{B, C};\n");
        let b = ("crates/x/src/b.rs", "//! B.\nfn b() -> crate::c::d::D {}\n");
        let d = ("crates/x/src/c/d.rs", "//! D.\nuse super::super::a::A;\n");
        let all = ["crates/x/src/a.rs", "crates/x/src/b.rs", "crates/x/src/c/d.rs"];
        check_files(&[a, b, d], &all.map(|path| (path, 2)));
    }

    #[test]
    fn a_module_and_its_submodule_are_one_room() {
        let a = ("crates/x/src/a.rs", "//! A.\nuse crate::a::b::B;\n");
        check_files(&[a, ("crates/x/src/a/b.rs", "//! B.\nuse super::A;\n")], &[]);
    }

    #[test]
    fn groups_are_taken_apart() {
        let a = ("crates/x/src/a.rs", "//! A.\nuse crate::{c::{D, E}, b::B};\n");
        let b = ("crates/x/src/b.rs", "//! B.\nuse super::a::A;\n");
        check_files(&[a, b], &[("crates/x/src/a.rs", 2), ("crates/x/src/b.rs", 2)]);
    }

    #[test]
    fn tests_may_import_what_they_like() {
        let a = ("crates/x/src/a.rs", "//! A.\nuse crate::b::B;\n");
        let tests = "//! B.\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        check_files(&[a, ("crates/x/src/b.rs", tests)], &[]);
    }
}
