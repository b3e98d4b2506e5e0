//! Pipes by name (fifo(7)): opened without waiting for a reader.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a pipe by name for writing without waiting; `None` if it has no reader (fifo(7)). A write
/// fails with `WouldBlock` if the pipe has no room for it.
///
/// # Errors
/// Errors of open(2).
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        opened => opened.map(Some),
    }
}
