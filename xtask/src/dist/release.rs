//! The commit that is packaged, and the directories of the work. It makes no package.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{output, root, target_dir};

/// The commit of which packages are made, and the places of the work.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) version: String,
    pub(super) commit: String,
    /// Time of the commit, in seconds since 1970: the time of every file in a package.
    pub(super) epoch: String,
    /// The same time as RFC 3339 text.
    pub(super) created: String,
    /// Directory of everything but the finished packages.
    pub(super) work: PathBuf,
    /// Directory of the finished packages.
    pub(super) packages: PathBuf,
}

impl Release {
    pub(super) fn of_head() -> Result<Release> {
        let git = |words: &[&str]| output(Command::new("git").args(words).current_dir(root()?));
        let format = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let mut created = Command::new("git");
        created.args(["show", "--no-patch", "--format=%cd", format]).env("TZ", "UTC");
        if !git(&["status", "--porcelain"])?.is_empty() {
            eprintln!("dist: there are uncommitted changes; packages are made of the last commit");
        }
        let manifest = fs::read_to_string(root()?.join("Cargo.toml"))?;
        Ok(Release {
            version: version_in(&manifest).context("failed to find the workspace's version")?,
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: git(&["show", "--no-patch", "--format=%ct"])?,
            created: output(created.current_dir(root()?))?,
            work: target_dir()?.join("dist-work"),
            packages: target_dir()?.join("dist"),
        })
    }
}

/// The version in the workspace's manifest.
fn version_in(manifest: &str) -> Option<String> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    let line = package.lines().find(|line| line.starts_with("version = "))?;
    Some(line.split('"').nth(1)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[workspace]\n[workspace.package]\nversion = \"1.2.3\"\n";
        assert_eq!(version_in(manifest).as_deref(), Some("1.2.3"));
        assert_eq!(version_in("version = \"1\""), None);
    }
}
