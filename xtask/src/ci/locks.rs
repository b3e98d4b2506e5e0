//! The lock files of the other workspaces, which `cargo xtask ci` does not build: they must have
//! the dependencies that the crates have, or the next build there begins with a change of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{cargo, host, output, root};

/// Names of the dependencies of each package.
type Edges<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Checks the lock files of the laboratory and of the fuzz targets.
pub(super) fn check() -> Result<()> {
    let words = ["metadata", "--locked", "--format-version=1", "--filter-platform"];
    let metadata = |directory: &str| {
        let directory = root()?.join(directory);
        output(cargo(&words)?.arg(host()?).current_dir(directory))
    };
    metadata("lab").context("lab/Cargo.lock is stale: run `cargo metadata` in lab/")?;
    let metadata: Value =
        serde_json::from_str(&metadata(".")?).context("cargo metadata is no JSON")?;
    // Cargo could compare these too, but not in a new clone without a network: no build has fetched
    // what only fuzzing needs.
    let lock = fs::read_to_string(root()?.join("fuzz/Cargo.lock"))?;
    let stale = stale(&locked(&lock), &built(&metadata));
    ensure!(
        stale.is_empty(),
        "fuzz/Cargo.lock has other dependencies of {}: run cargo metadata in fuzz/",
        stale.join(", ")
    );
    Ok(())
}

/// Crates of the workspace whose dependencies in the lock file are not theirs.
fn stale<'a>(locked: &Edges<'a>, built: &Edges<'_>) -> Vec<&'a str> {
    let ours = locked.iter().filter_map(|(name, edges)| Some((*name, edges, built.get(name)?)));
    ours.filter(|(_, locked, built)| locked != built).map(|(name, ..)| name).collect()
}

/// The packages of a lock file.
fn locked(lock: &str) -> Edges<'_> {
    let package = |text| {
        let name = quoted(str::lines(text).find(|line| line.starts_with("name = "))?)?;
        let edges = text.lines().filter(|line| line.starts_with(" \"")).filter_map(quoted);
        // `NAME VERSION` where there are several versions.
        Some((name, edges.filter_map(|edge| edge.split(' ').next()).collect()))
    };
    lock.split("[[package]]").skip(1).filter_map(package).collect()
}

fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

/// The crates of the workspace, without dependencies of tests.
fn built<'m>(metadata: &'m Value) -> Edges<'m> {
    let names: BTreeMap<&str, &str> = list(&metadata["packages"])
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let members: BTreeSet<&str> =
        list(&metadata["workspace_members"]).filter_map(Value::as_str).collect();
    let is_needed = |edge: &&Value| list(&edge["dep_kinds"]).any(|kind| kind["kind"] != "dev");
    let edges = |node: &'m Value| {
        let needed = list(&node["deps"]).filter(is_needed);
        needed.filter_map(|edge| names.get(edge["pkg"].as_str()?).copied()).collect()
    };
    let nodes = list(&metadata["resolve"]["nodes"]).map(|node| (node["id"].as_str(), node));
    let ours = nodes.filter_map(|(id, node)| Some((id.filter(|id| members.contains(id))?, node)));
    ours.filter_map(|(id, node)| Some((*names.get(id)?, edges(node)))).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"weir-a\"\nversion = \"0.1.0\"\n\
                        dependencies = [\n \"serde\",\n \"weir-b\",\n]\n\n[[package]]\n\
                        name = \"serde\"\nversion = \"1.0.0\"\n";

    fn metadata(dependencies: &[(&str, Option<&str>)]) -> Value {
        let edge = |(name, kind): &(&str, Option<&str>)| {
            let id = format!("{name} 1");
            json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] })
        };
        let package = |name: &str| json!({ "id": format!("{name} 1"), "name": name });
        let packages = ["weir-a", "weir-b", "serde", "toml"].map(package);
        let edges: Vec<Value> = dependencies.iter().map(edge).collect();
        json!({
            "packages": packages,
            "workspace_members": ["weir-a 1", "weir-b 1"],
            "resolve": { "nodes": [
                { "id": "weir-a 1", "deps": edges },
                { "id": "serde 1", "deps": [] },
            ]},
        })
    }

    #[test]
    fn a_dependency_that_only_one_of_them_has_is_stale() {
        let stale_with = |dependencies: &[(&str, Option<&str>)]| {
            let metadata = metadata(dependencies);
            stale(&locked(LOCK), &built(&metadata)).join(",")
        };
        let serde = ("serde", None);
        let weir = ("weir-b", None);
        assert_eq!(stale_with(&[serde, weir]), "");
        assert_eq!(stale_with(&[serde, weir, ("toml", Some("dev"))]), "", "for tests alone");
        assert_eq!(stale_with(&[serde, weir, ("toml", None)]), "weir-a");
        assert_eq!(stale_with(&[serde, weir, ("toml", Some("build"))]), "weir-a");
        assert_eq!(stale_with(&[serde]), "weir-a");
    }
}
