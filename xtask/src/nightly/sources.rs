//! The sources that a step covers: crates with all that they import, as their manifests say, and
//! other paths.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{cargo, output, root};

/// Paths that matter to every step: the versions, the compiler, the settings and the steps.
const ALWAYS: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "clippy.toml",
    ".cargo",
    "xtask/src/nightly.rs",
    "xtask/src/lint.rs",
];

/// Directories with a workspace of their own.
const APART: [&str; 2] = ["lab", "fuzz"];

/// Parts of a crate that are built for those who use it.
const PARTS: [&str; 5] = ["Cargo.toml", "src", "examples", "benches", "build.rs"];

/// The covered sources of a step.
#[derive(Debug)]
pub(super) struct Sources {
    /// Crates by name; empty for all. They count with the crates that they import, for their tests
    /// too, and without `tests/`.
    pub(super) crates: &'static [&'static str],
    /// Files and directories besides.
    pub(super) paths: &'static [&'static str],
}

/// One crate of the repository.
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    /// From the root of the repository.
    directory: String,
    /// Crates that it imports, and true for those that its tests and examples alone import.
    imports: Vec<(String, bool)>,
}

impl Sources {
    /// Returns their paths from the root of the repository.
    ///
    /// # Errors
    /// If there is no crate of a name.
    pub(super) fn all_paths(&self, members: &[Member]) -> Result<Vec<String>> {
        let is_wanted = |member: &&Member| !APART.contains(&member.directory.as_str());
        let names: Vec<&str> = match self.crates {
            [] => members.iter().filter(is_wanted).map(|member| member.name.as_str()).collect(),
            names => names.to_vec(),
        };
        let crates = directories(members, &names)?;
        let parts = |directory| PARTS.map(|part| format!("{directory}/{part}"));
        let others = ALWAYS.iter().chain(self.paths).map(|path| (*path).to_owned());
        Ok(crates.into_iter().flat_map(parts).chain(others).collect())
    }
}

/// Reads all crates of the repository; no network is needed.
pub(super) fn members() -> Result<Vec<Member>> {
    let root = root()?;
    let mut members = Vec::new();
    for workspace in [&["."][..], &APART].concat() {
        let words = ["metadata", "--no-deps", "--format-version=1"];
        let metadata = output(cargo(&words)?.current_dir(root.join(workspace)))?;
        let metadata: Value =
            serde_json::from_str(&metadata).context("cargo metadata is no JSON")?;
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        members.extend(packages.iter().filter_map(|package| member(&root, package)));
    }
    Ok(members)
}

/// Reads a package of cargo's metadata.
fn member(root: &Path, package: &Value) -> Option<Member> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let directory = manifest.parent()?.strip_prefix(root).ok()?.to_str()?.to_owned();
    // Those of other repositories have no path.
    let of_ours = package["dependencies"].as_array()?.iter().filter(|of| of["path"].is_string());
    let import = |of: &Value| Some((of["name"].as_str()?.to_owned(), of["kind"] == "dev"));
    let imports = of_ours.filter_map(import).collect();
    Some(Member { name: package["name"].as_str()?.to_owned(), directory, imports })
}

/// Returns the directories of these crates and of all that they import.
fn directories(members: &[Member], names: &[&str]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut open: Vec<(&str, bool)> = names.iter().map(|name| (*name, true)).collect();
    let mut seen = BTreeSet::new();
    while let Some((name, is_root)) = open.pop() {
        let member = members.iter().find(|member| member.name == name);
        let member = member.with_context(|| format!("the repository has no crate {name}"))?;
        found.insert(member.directory.clone());
        let imports = member.imports.iter().filter(|(_, is_for_tests)| is_root || !is_for_tests);
        let imports = imports.map(|(name, _)| name.as_str());
        open.extend(imports.filter(|name| seen.insert(*name)).map(|name| (name, false)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates(names: &[(&str, &[(&str, bool)])]) -> Vec<Member> {
        let member = |(name, imports): &(&str, &[(&str, bool)])| Member {
            name: (*name).to_owned(),
            directory: format!("crates/{name}"),
            imports: imports.iter().map(|(name, dev)| ((*name).to_owned(), *dev)).collect(),
        };
        names.iter().map(member).collect()
    }

    #[test]
    fn what_a_crate_imports_is_covered_too() {
        let members = crates(&[
            ("top", &[("middle", false), ("sim", true)]),
            ("middle", &[("bottom", false), ("other", true)]),
            ("bottom", &[]),
            ("sim", &[]),
            ("other", &[("middle", false)]),
        ]);
        let check = |names: &[&str], expected: &[&str]| {
            let found = directories(&members, names).expect("they are there");
            let expected: BTreeSet<String> =
                expected.iter().map(|name| format!("crates/{name}")).collect();
            assert_eq!(found, expected, "of {names:?}");
        };
        check(&["top"], &["top", "middle", "bottom", "sim"]);
        check(&["bottom", "sim"], &["bottom", "sim"]);
        check(&["middle"], &["middle", "bottom", "other"]);
        assert!(directories(&members, &["none"]).is_err());
    }

    #[test]
    fn the_repository_has_its_crates_in_all_workspaces() {
        let members = members().expect("the repository");
        let found = directories(&members, &["lab", "weir-fuzz"]).expect("they are there");
        for directory in ["lab", "fuzz", "crates/weir-result", "crates/weir-engine", "xtask"] {
            assert!(found.contains(directory), "{directory}");
        }
        let engine = directories(&members, &["weir-engine"]).expect("it is there");
        assert!(engine.contains("crates/weir-io") && !engine.contains("crates/weir-report"));
    }
}
