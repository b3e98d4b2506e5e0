//! The commit that is packaged, and the directories of the work. It makes no package.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{output, root, target_dir};

/// The commit of which packages are made, and the places of the work.
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
        Ok(Release {
            // All crates have the workspace's version.
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: git(&["show", "--no-patch", "--format=%ct"])?,
            created: output(created.current_dir(root()?))?,
            work: target_dir()?.join("dist-work"),
            packages: target_dir()?.join("dist"),
        })
    }
}
