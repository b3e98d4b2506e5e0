//! Rules for manifests: versions in one place, each with its reason, and lints for every crate.
//! Workspaces of their own repeat both.

use super::finding::Finding;
use crate::source::{File, Tree};

/// Path of the manifest that holds every version.
const WORKSPACE: &str = "Cargo.toml";

/// Manifests of workspaces that are built when they are used.
const APART: [&str; 2] = [FUZZ, "lab/Cargo.toml"];

/// The fuzz targets are what a macro makes of them, which no lint is for.
const FUZZ: &str = "fuzz/Cargo.toml";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let workspace = tree.file(WORKSPACE).map_or("", |file| &file.text);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        let found = dependencies(&file.text);
        findings.extend(found.iter().filter_map(|of| wrong(file, of, workspace)));
        if file.path != WORKSPACE && file.path != FUZZ {
            findings.extend(unlinted(file, workspace));
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

/// Finds a dependency of a workspace without a reason, one of a crate with its own version, or one
/// that has another version than in the workspace of the crates.
fn wrong(file: &File, of: &Dependency<'_>, workspace: &str) -> Option<Finding> {
    let name = of.name;
    let finding = |rule, advice| Some(Finding::new(&file.path, of.line, rule, advice));
    let is_apart = APART.contains(&file.path.as_str());
    if file.path != WORKSPACE && !is_apart {
        let advice = format!("write `{name}.workspace = true`; versions stand in {WORKSPACE}");
        return finding("dependency-version", advice)
            .filter(|_| !of.source.contains("workspace = true"));
    }
    let is_ours = of.source.contains("path =");
    if !is_ours && of.comment.is_none_or(str::is_empty) {
        let advice = format!("say why `{name}` is here, in a comment behind it");
        return finding("dependency-reason", advice);
    }
    let known = dependencies(workspace).into_iter().find(|known| known.name == name)?;
    let wanted = version(known.source)?;
    let is_other = !is_ours && version(of.source) != Some(wanted);
    let advice = format!("`{name}` has the version {wanted} in {WORKSPACE}");
    finding("dependency-version", advice).filter(|_| is_apart && is_other)
}

/// Returns the version of a dependency, which is the first quoted text.
fn version(source: &str) -> Option<&str> {
    source.split('"').nth(1)
}

/// Finds a crate that has not the workspace's lints.
fn unlinted(file: &File, workspace: &str) -> Option<Finding> {
    let is_like = |table: &str| {
        let own = table_lines(&file.text, table);
        own.is_some() && own == table_lines(workspace, &format!("workspace.{table}"))
    };
    let has_lints = match APART.contains(&file.path.as_str()) {
        true => is_like("lints.rust") && is_like("lints.clippy"),
        false => file.text.contains("[lints]\nworkspace = true"),
    };
    let advice = "add `[lints]` with `workspace = true`; another workspace repeats the lints";
    (!has_lints).then(|| Finding::new(&file.path, 1, "lints", advice))
}

/// Returns the lines of a table of a manifest.
fn table_lines<'m>(manifest: &'m str, table: &str) -> Option<Vec<&'m str>> {
    let (_, rest) = manifest.split_once(&format!("\n[{table}]\n"))?;
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    Some(lines.filter(|line| !line.is_empty()).collect())
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
    }

    #[test]
    fn another_workspace_has_the_same_versions_and_lints() {
        let tables = "\n[workspace.lints.rust]\na = 1\n\n[workspace.lints.clippy]\nb = 2\n";
        let root = format!("[workspace.dependencies]\na = \"1\" # why\n{tables}");
        let check_apart = |path, text: &str, expected: &[(&str, usize)]| {
            let found = check(&Tree::of(&[(WORKSPACE, &root), (path, text)]));
            let found: Vec<_> = found.iter().map(|f| (f.rule, f.line)).collect();
            assert_eq!(found, expected, "in {text}");
        };
        check_apart(FUZZ, "[dependencies]\na = { version = \"1\" } # why\n", &[]);
        check_apart(FUZZ, "[dependencies]\na = \"1\"\n", &[("dependency-reason", 2)]);
        let other = "[dependencies]\na = \"2\" # why\n";
        check_apart(FUZZ, other, &[("dependency-version", 2)]);
        let lints = tables.replace("workspace.", "");
        check_apart("lab/Cargo.toml", &lints, &[]);
        check_apart("lab/Cargo.toml", &lints.replace("b = 2", "b = 3"), &[("lints", 1)]);
    }
}
