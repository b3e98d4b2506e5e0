//! Rules for manifests: versions in one place, each with its reason, and lints for every crate.

use super::finding::Finding;
use crate::source::{File, Tree};

/// Path of the manifest that holds every version.
const WORKSPACE: &str = "Cargo.toml";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        // The fuzz targets are a separate workspace, since they need another compiler.
        if file.path.starts_with("fuzz/") {
            continue;
        }
        findings.extend(dependencies(&file.text).iter().filter_map(|of| wrong(file, of)));
        if file.path != WORKSPACE {
            findings.extend(unlinted(file));
        }
    }
    findings
}

/// Kind of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

/// One line of a dependency table.
pub(super) struct Dependency<'a> {
    pub(super) name: &'a str,
    pub(super) used: DependencyKind,
    /// Text after the name: the version, or a reference to the workspace.
    pub(super) source: &'a str,
    pub(super) comment: Option<&'a str>,
    /// Line number, from 1.
    pub(super) line: usize,
}

/// Returns the dependencies of a manifest. It supports the subset of TOML that this repository
/// uses: one dependency per line, or one table per dependency.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut table = None;
    for (index, full_line) in manifest.lines().enumerate() {
        let (line, comment) = split_comment(full_line);
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = dependency_table(header);
            if let Some((used, Some(name))) = table {
                found.push(Dependency { name, used, source: "", comment, line: index + 1 });
            }
        } else if let Some((used, None)) = table
            && let Some(length) = line.find(|c: char| !c.is_alphanumeric() && !"_-".contains(c))
        {
            let (name, source) = line.split_at(length);
            found.push(Dependency { name, used, source, comment, line: index + 1 });
        } else if let (Some((_, Some(_))), Some(last)) = (table, found.last_mut())
            && last.source.is_empty()
        {
            last.source = line;
        }
    }
    found
}

/// Returns the kind of a dependency table, and its dependency if the table describes a single one.
fn dependency_table(header: &str) -> Option<(DependencyKind, Option<&str>)> {
    let kinds = [
        ("dev-dependencies", DependencyKind::Dev),
        ("build-dependencies", DependencyKind::Build),
        ("dependencies", DependencyKind::Normal),
    ];
    kinds.into_iter().find_map(|(kind, used)| {
        let at = header.find(kind).filter(|at| *at == 0 || header[..*at].ends_with('.'))?;
        let rest = &header[at + kind.len()..];
        Some((used, rest.strip_prefix('.')))
    })
}

/// Splits a line into its content and its comment. Within quotes, `#` is an ordinary character.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return (line[..at].trim(), Some(line[at + 1..].trim())),
            _ => {}
        }
    }
    (line.trim(), None)
}

/// Finds a dependency of the workspace without a reason, or one of a crate with its own version.
fn wrong(file: &File, of: &Dependency<'_>) -> Option<Finding> {
    let name = of.name;
    let (is_right, rule, advice) = if file.path == WORKSPACE {
        let is_ours = of.source.contains("path =");
        let is_right = is_ours || of.comment.is_some_and(|reason| !reason.is_empty());
        let advice = format!("say why `{name}` is here, in a comment behind it");
        (is_right, "dependency-reason", advice)
    } else {
        let is_right = of.source.contains("workspace = true");
        let advice = format!("write `{name}.workspace = true`; versions stand in {WORKSPACE}");
        (is_right, "dependency-version", advice)
    };
    (!is_right).then(|| Finding::new(&file.path, of.line, rule, advice))
}

fn unlinted(file: &File) -> Option<Finding> {
    let advice = "add `[lints]` with `workspace = true`";
    (!file.text.contains("[lints]\nworkspace = true"))
        .then(|| Finding::new(&file.path, 1, "lints", advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn check_manifest(path: &str, text: &str, expected: &[(&str, usize)]) {
        let tree = Tree::of(&[(path, text)]);
        let found = check(&tree);
        let found: Vec<_> = found.iter().map(|f| (f.rule, f.line)).collect();
        assert_eq!(found, expected, "in {text}");
    }

    #[test]
    fn all_kinds_of_tables_are_read() {
        let manifest = r#"[package]
name = "x"
[dependencies]
a.workspace = true # why

b = { version = "1#2" }
[target.'cfg(unix)'.dev-dependencies]
c = "1"
[build-dependencies.d]
workspace = true
"#;
        let found = dependencies(manifest);
        let found: Vec<_> = found.iter().map(|d| (d.name, d.used, d.source, d.line)).collect();
        let expected = [
            ("a", DependencyKind::Normal, ".workspace = true", 4),
            ("b", DependencyKind::Normal, " = { version = \"1#2\" }", 6),
            ("c", DependencyKind::Dev, " = \"1\"", 8),
            ("d", DependencyKind::Build, "workspace = true", 9),
        ];
        assert_eq!(found, expected);
        assert_eq!(dependencies(manifest)[0].comment, Some("why"));
    }

    #[test]
    fn the_workspace_explains_its_dependencies() {
        let with_reason = "[workspace.dependencies]\nours = { path = \"x\" }\na = \"1\" # why\n";
        check_manifest(WORKSPACE, with_reason, &[]);
        let without = "[workspace.dependencies]\na = \"1\"\nb = \"1\" #\n";
        check_manifest(WORKSPACE, without, &[("dependency-reason", 2), ("dependency-reason", 3)]);
    }

    #[test]
    fn crates_take_versions_and_lints_from_the_workspace() {
        let path = "crates/weir/Cargo.toml";
        check_manifest(path, &format!("[dependencies]\na.workspace = true\n{LINTS}"), &[]);
        let versioned = format!("[dependencies]\na = \"1\"\n{LINTS}");
        check_manifest(path, &versioned, &[("dependency-version", 2)]);
        check_manifest(path, "[package]\n", &[("lints", 1)]);
        check_manifest("fuzz/Cargo.toml", "[dependencies]\na = \"1\"\n", &[]);
    }
}
