//! Output files that are one file: the second would replace the first, after the load. Looks at
//! names and what they lead to; opens nothing.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::terminal::shown;

/// Makes sure that no two flags name the same file, however its path is written.
///
/// # Errors
/// When two do.
pub(crate) fn check_distinct(files: &[(&str, Option<&Path>)]) -> Result<()> {
    let given: Vec<_> =
        files.iter().filter_map(|&(flag, path)| Some((flag, path?, Place::of(path?)))).collect();
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

/// Where a path leads.
#[derive(Debug)]
struct Place {
    /// Without links and dots, as far as that is known.
    path: PathBuf,
    /// Device and inode of what must not be replaced: a pipe, or a descriptor below /dev.
    inode: Option<(u64, u64)>,
    /// A device takes anything from anyone: /dev/null, a terminal.
    is_device: bool,
}

impl Place {
    fn of(path: &Path) -> Place {
        let found = fs::metadata(path).ok();
        Place {
            path: canonical(path),
            inode: found.as_ref().map(|found| (found.dev(), found.ino())),
            is_device: found.is_some_and(|found| found.file_type().is_char_device()),
        }
    }

    fn is_same(&self, other: &Place) -> bool {
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

/// A path without links and dots; the last part of it need not exist.
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
