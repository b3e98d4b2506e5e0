//! Files that tidy checks: those that git tracks or would track.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::source::scanner::Masked;

/// All files of the repository, or files made up by a test.
pub(crate) struct Tree {
    /// The text files.
    pub(crate) files: Vec<File>,
    /// Path and bytes of each file, text or not.
    pub(crate) sizes: Vec<(String, u64)>,
    /// Commits of the history of HEAD; none in a shallow clone.
    pub(crate) ancestors: Option<Vec<String>>,
}

/// One text file.
pub(crate) struct File {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Text split into code and comments, for Rust; empty otherwise.
    pub(crate) masked: Masked,
}

impl Tree {
    /// Reads every tracked file, and every untracked one that is not ignored.
    pub(crate) fn read(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        let mut sizes = Vec::new();
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        for path in git(root, &list)?.split_terminator('\0') {
            // A file may be deleted and the deletion not yet committed.
            if let Ok(metadata) = fs::symlink_metadata(root.join(path)) {
                sizes.push((path.to_owned(), metadata.len()));
            }
            // Binary files have no style rules.
            if let Ok(text) = fs::read_to_string(root.join(path)) {
                files.push(File::new(path, &text));
            }
        }
        Ok(Tree { files, sizes, ancestors: ancestors(root)? })
    }

    /// Reads the Rust files and the lock file as they were at a revision.
    pub(crate) fn at(root: &Path, revision: &str) -> Result<Tree> {
        let list = ["ls-tree", "-r", "-z", "--name-only", revision];
        let is_read = |path: &&str| path.ends_with(".rs") || *path == "Cargo.lock";
        let mut files = Vec::new();
        for path in git(root, &list)?.split_terminator('\0').filter(is_read) {
            files.push(File::new(path, &git(root, &["show", &format!("{revision}:{path}")])?));
        }
        ensure!(!files.is_empty(), "{revision} has no Rust files");
        Ok(Tree { files, sizes: Vec::new(), ancestors: None })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

impl File {
    fn new(path: &str, text: &str) -> File {
        let masked = if path.ends_with(".rs") { Masked::new(text) } else { Masked::default() };
        File { path: path.to_owned(), text: text.to_owned(), masked }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// True if the whole file is tests.
    pub(crate) fn is_tests(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// True for code of a crate that users have, without files of tests.
    pub(crate) fn is_product(&self) -> bool {
        self.path.starts_with("crates/") && self.path.contains("/src/") && !self.is_tests()
    }

    /// True if a crate, a library or a program, begins with the file.
    pub(crate) fn is_root(&self) -> bool {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        ["lib.rs", "main.rs"].contains(&inside) || inside.starts_with("bin/")
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the directory under `crates/`, or the first directory of the path.
    pub(crate) fn crate_name(&self) -> &str {
        let inside = self.inside();
        inside.split('/').next().unwrap_or(inside)
    }

    /// True if the file is in this crate, or in this room of one, a path below `crates/`.
    pub(crate) fn is_in(&self, place: &str) -> bool {
        self.inside().strip_prefix(place).is_some_and(|rest| rest.starts_with(['/', '.']))
    }

    fn inside(&self) -> &str {
        self.path.strip_prefix("crates/").unwrap_or(&self.path)
    }
}

fn ancestors(root: &Path) -> Result<Option<Vec<String>>> {
    if git(root, &["rev-parse", "--is-shallow-repository"])?.trim() == "true" {
        return Ok(None);
    }
    Ok(Some(git(root, &["rev-list", "HEAD"])?.lines().map(str::to_owned).collect()))
}

/// Returns what git prints.
fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    // The repository may belong to another user than the one who builds it (a container).
    let git = Command::new("git")
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("failed to start git, which tells which files belong to the repository")?;
    let failed = || format!("git {}: {}", arguments[0], String::from_utf8_lossy(&git.stderr));
    ensure!(git.status.success(), failed());
    String::from_utf8(git.stdout).with_context(|| format!("git {} printed no text", arguments[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Tree {
        /// Returns the tree of files with these paths and texts.
        pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
            let size = |(path, text): &(&str, &str)| ((*path).to_owned(), text.len() as u64);
            let sizes = files.iter().map(size).collect();
            let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
            Tree { files, sizes, ancestors: None }
        }
    }
}
