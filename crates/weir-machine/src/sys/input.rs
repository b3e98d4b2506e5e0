//! Files to read, opened so that a pipe without a writer (fifo(7)) does not hold its reader for
//! ever.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::errno::check;
use super::readiness::await_readable;

/// Longest wait for a writer to open a pipe.
const WRITER_LIMIT: Duration = Duration::from_secs(5);

/// Opens a file to read. A pipe by name has a writer within 5 s, or is an error.
///
/// # Errors
/// Errors of open(2), or a pipe that has no writer.
pub fn open_input(path: &Path) -> io::Result<File> {
    // The writer of a descriptor that is open already was there before.
    let is_descriptor = path.starts_with("/dev") || path.starts_with("/proc");
    open_within(path, if is_descriptor { None } else { Some(WRITER_LIMIT) })
}

/// As [`open_input`]; without a `limit`, a pipe without a writer has ended.
fn open_within(path: &Path, limit: Option<Duration>) -> io::Result<File> {
    if !fs::metadata(path)?.file_type().is_fifo() {
        return File::open(path);
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if let Some(limit) = limit {
        // A signal may end the wait early, so that the pipe counts as one without a writer.
        let is_ready = await_readable(&[file.as_fd()], Some(limit))?[0];
        if !is_ready && !has_writer(&file)? {
            let text = "it is a pipe without a writer: start that first, or name a file";
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
    }
    // SAFETY: the descriptor is open, and the call changes no memory.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) })?;
    Ok(file)
}

/// True if a pipe, which was opened without waiting, has bytes or a writer. It reads none of them.
fn has_writer(pipe: &File) -> io::Result<bool> {
    let (_read, scratch) = io::pipe()?;
    let from = pipe.as_raw_fd();
    let to = scratch.as_raw_fd();
    // SAFETY: both descriptors are open pipes, and the call changes no memory of this process.
    let count = unsafe { libc::tee(from, to, 1, libc::SPLICE_F_NONBLOCK) };
    match io::Error::last_os_error() {
        _ if count >= 0 => Ok(count > 0),
        error if error.kind() == ErrorKind::WouldBlock => Ok(true),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::Command;

    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_nanos(1));

    /// Calls `test` with the name of a new pipe.
    fn with_pipe(name: &str, test: impl FnOnce(&Path)) {
        let path = std::env::temp_dir().join(format!("weir-input-{name}-{}", std::process::id()));
        let made = Command::new("mkfifo").arg(&path).status().expect("coreutils are there");
        assert!(made.success(), "{path:?}");
        test(&path);
        fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn a_pipe_without_a_writer_is_an_error() {
        with_pipe("none", |path| {
            let error = open_within(path, SHORT).expect_err("it has no writer");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            let mut ended = open_within(path, None).expect("a pipe that has ended");
            assert_eq!(ended.read(&mut [0; 4]).expect("the end"), 0);
        });
    }

    #[test]
    fn a_writer_may_be_slow() {
        with_pipe("slow", |path| {
            let mut both = OpenOptions::new().read(true).write(true).open(path).expect("a pipe");
            let mut found = open_within(path, SHORT).expect("it has a writer");
            both.write_all(b"abc").expect("there is room");
            drop(both);
            let mut text = String::new();
            found.read_to_string(&mut text).expect("the text");
            assert_eq!(text, "abc");
        });
    }

    #[test]
    fn other_files_are_opened_as_they_are() {
        assert!(open_input(Path::new("/dev/null")).is_ok());
        let error = open_input(Path::new("/no/such/file")).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
