//! The kernel's files below a directory: `/` on a machine, a fake tree in tests. The meaning of a
//! file is the caller's affair.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory below which `proc` and `sys` are.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

/// The reason why a value could not be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl Root {
    /// Returns the root of this machine.
    pub fn machine() -> Root {
        Root(PathBuf::from("/"))
    }

    /// Returns a root at another directory, for tests.
    pub fn at(directory: &Path) -> Root {
        Root(directory.to_owned())
    }

    /// Reads a file such as `proc/stat`, without the blanks around its text.
    pub(crate) fn text(&self, path: &str) -> Result<String, Unreadable> {
        match fs::read(self.0.join(path)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => Err(Unreadable::file(path, &error)),
        }
    }

    /// Reads a file that holds one number.
    pub(crate) fn number(&self, path: &str) -> Result<u64, Unreadable> {
        let text = self.text(path)?;
        text.parse().map_err(|_| Unreadable::form(path))
    }

    /// True if the file or directory exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// Returns the target of a symbolic link; `None` if it cannot be read.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.0.join(path)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Returns the names in a directory, sorted; none if it cannot be read.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Unreadable {
    /// Creates the reason for a file that cannot be read.
    fn file(path: &str, error: &io::Error) -> Unreadable {
        Unreadable(match error.kind() {
            io::ErrorKind::NotFound => format!("/{path} does not exist here"),
            io::ErrorKind::PermissionDenied => format!("/{path} must not be read here"),
            _ => format!("/{path} cannot be read: {error}"),
        })
    }

    /// Creates the reason for a file whose text has an unknown form.
    pub(crate) fn form(path: &str) -> Unreadable {
        Unreadable(format!("/{path} has an unknown form"))
    }

    /// Creates the reason for a system call that failed.
    pub(crate) fn call(name: &str, error: &io::Error) -> Unreadable {
        Unreadable(format!("{name} failed: {error}"))
    }
}
