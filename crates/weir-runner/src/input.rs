//! Files that a user names, read up to a limit: a device, a pipe or a wrong file never fills the
//! memory. It is the one place that reads them whole.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use weir_machine::sys;

use crate::errors::shown;

/// Greatest length of a file with settings, such as a certificate, a curve or a plan, in bytes.
pub const SETTINGS_MAX_BYTES: u64 = 16 << 20;

/// Greatest length of a file with data, such as rows, a schema or a specification, in bytes.
pub const DATA_MAX_BYTES: u64 = 256 << 20;

/// Greatest length of a file that is kept whole, such as a body or a short list, in bytes.
pub(crate) const WHOLE_MAX_BYTES: u64 = 1 << 30;

/// Greatest length of what is no regular file, such as a pipe or a device, in bytes.
const UNSIZED_MAX_BYTES: u64 = 64 << 20;

/// Opens a file that `name`, a flag or a setting, gives.
///
/// # Errors
/// When it cannot be opened, or is a pipe without a writer; the message has the name and the path.
pub fn open_input(name: impl Display, path: &Path) -> Result<File> {
    sys::open_input(path).map_err(|error| unreadable(&name, path, error))
}

/// Reads a file that `name` gives; `/dev/stdin` is standard input.
///
/// # Errors
/// When it cannot be read, or is longer than `limit` bytes.
pub fn read_input(name: impl Display, path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open_input(&name, path)?;
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    let limit = if is_file { limit } else { limit.min(UNSIZED_MAX_BYTES) };
    read_to_limit(&name, path, file, limit)
}

/// As [`read_input`], of a text, without the byte order mark that it may begin with.
///
/// # Errors
/// As [`read_input`], or when it is not UTF-8.
pub fn read_text_input(name: impl Display, path: &Path, limit: u64) -> Result<String> {
    let bytes = read_input(&name, path, limit)?;
    let text = String::from_utf8(bytes);
    let text = text.with_context(|| format!("{name} {} is not UTF-8", shown(path)))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads what is left of an open file.
///
/// # Errors
/// As [`read_input`].
fn read_to_limit(name: &impl Display, path: &Path, file: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    let count = read.map_err(|error| unreadable(name, path, error))?;
    if count as u64 > limit {
        bail!(
            "{name} {} is longer than {} MiB, the limit for this file: give a shorter one",
            shown(path),
            limit >> 20
        );
    }
    Ok(bytes)
}

fn unreadable(name: &impl Display, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("{name} {} cannot be read", shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_limit() {
        let zero = Path::new("/dev/zero");
        let error = read_input("--rows", zero, 1 << 20).expect_err("it never ends").to_string();
        let expected = "--rows /dev/zero is longer than 1 MiB, the limit for this file: give a \
                        shorter one";
        assert_eq!(error, expected);
        assert_eq!(read_input("--rows", Path::new("/dev/null"), 0).expect("it is empty"), b"");
        let error = read_input("--rows", Path::new("/no/such/file"), 1).expect_err("none");
        assert_eq!(error.to_string(), "--rows /no/such/file cannot be read");
    }
}
