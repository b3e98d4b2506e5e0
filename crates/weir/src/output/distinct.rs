//! The check that no two output files are the same: the second would replace the first, after the
//! load. It resolves names and opens nothing.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::terminal::shown;

/// Checks that no two flags name the same file, however its path is written.
///
/// # Errors
/// When two do.
pub(crate) fn check_distinct(files: &[(&str, &Path)]) -> Result<()> {
    let given: Vec<_> =
        files.iter().map(|&(flag, path)| (flag, path, OutputPlace::of(path))).collect();
    for (index, (flag, path, place)) in given.iter().enumerate() {
        for (other_flag, other_path, other_place) in &given[..index] {
            if place.is_same(other_place) {
                bail!(
                    "{other_flag} {} and {flag} {} are the same file: give each its own",
                    shown(other_path),
                    shown(path)
                );
            }
        }
    }
    Ok(())
}

/// True if two paths name one file, however they are written.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    OutputPlace::of(one).is_same(&OutputPlace::of(other))
}

/// The target of a path.
#[derive(Debug)]
struct OutputPlace {
    /// Path without links and dots, as far as it can be resolved.
    path: PathBuf,
    /// Device and inode of an existing file, to detect a descriptor or a pipe that has two names.
    inode: Option<(u64, u64)>,
    /// True for a device, such as /dev/null or a terminal, which any number of outputs may share.
    is_device: bool,
}

impl OutputPlace {
    fn of(path: &Path) -> OutputPlace {
        let found = fs::metadata(path).ok();
        OutputPlace {
            path: canonical(path),
            inode: found.as_ref().map(|found| (found.dev(), found.ino())),
            is_device: found.is_some_and(|found| found.file_type().is_char_device()),
        }
    }

    fn is_same(&self, other: &OutputPlace) -> bool {
        if self.is_device || other.is_device {
            return false;
        }
        // Two names of one inode are two files once each is replaced, but not below /dev.
        let is_descriptor = [self, other].iter().any(|place| place.is_descriptor());
        self.path == other.path
            || (is_descriptor && self.inode.is_some() && self.inode == other.inode)
    }

    fn is_descriptor(&self) -> bool {
        self.path.starts_with("/dev") || self.path.starts_with("/proc")
    }
}

/// Resolves links and dots; the last part of the path need not exist.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(whole) = fs::canonicalize(path) {
        return whole;
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (fs::canonicalize(parent), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}
