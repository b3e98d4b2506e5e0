//! A directory for one test, removed after it.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A new, empty directory.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        let place = std::env::temp_dir();
        for number in 0.. {
            let path = place.join(format!("weir-test-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Directory(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
        unreachable!("there is always one more number")
    }

    /// The path of `name` in it.
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.0.join(name);
        path.into_os_string().into_string().expect("temporary paths are text")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.0);
    }
}
