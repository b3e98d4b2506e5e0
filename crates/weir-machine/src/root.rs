//! The kernel's files below a directory: `/` on a machine, a fake tree in tests. The meaning of a
//! file is the caller's affair.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
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
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text(&self, path: &str) -> Result<String, Unreadable> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// Reads a file as it is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Unreadable> {
        fs::read(self.0.join(path)).map_err(|error| Unreadable::file(path, &error))
    }

    /// Reads a file line by line, for tables of any length; a reading that fails ends it.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn lines(&self, path: &str) -> Result<impl Iterator<Item = String> + use<>, Unreadable> {
        let file = File::open(self.0.join(path)).map_err(|error| Unreadable::file(path, &error))?;
        Ok(BufReader::new(file).lines().map_while(Result::ok))
    }

    /// Reads a file that holds one number.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub fn number(&self, path: &str) -> Result<u64, Unreadable> {
        let text = self.text(path)?;
        text.parse().map_err(|_| Unreadable::form(path))
    }

    /// True if the file or directory exists.
    pub fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// Returns the target of a symbolic link; `None` if it cannot be read.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.0.join(path)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Returns the names in a directory as the kernel lists them, each when it is asked for; none
    /// if it cannot be read.
    pub fn entries(&self, directory: &str) -> impl Iterator<Item = String> + use<> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
    }

    /// Returns the number of entries of a directory; `None` if it cannot be read.
    pub fn count(&self, directory: &str) -> Option<u64> {
        Some(fs::read_dir(self.0.join(directory)).ok()?.count() as u64)
    }

    /// Returns the names in a directory, sorted; none if it cannot be read.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let mut names: Vec<String> = self.entries(directory).collect();
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
    pub fn form(path: &str) -> Unreadable {
        Unreadable(format!("/{path} has an unknown form"))
    }

    /// Creates the reason for a system call that failed.
    pub fn call(name: &str, error: &io::Error) -> Unreadable {
        Unreadable(format!("{name} failed: {error}"))
    }
}
