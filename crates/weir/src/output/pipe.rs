//! A pipe by name (fifo(7)) as a result file. To open or to write one may wait for its reader
//! without end; here both have a limit, and a signal ends them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weir_machine::sys;
use weir_runner::{Interrupts, Over};

use crate::terminal::shown;

/// Longest wait for a reader to open the pipe.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// Longest wait for a reader to read on.
const LIMIT: Duration = Duration::from_secs(10);

/// The same for a pipe of the shell, which may lead to a pager: its reader is a person.
const PAGER_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Interval between two attempts to open a pipe.
const EVERY: Duration = Duration::from_millis(20);

/// An open pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    file: File,
    limit: Duration,
    interrupts: Interrupts,
}

impl Pipe {
    /// Opens the pipe at `path`, which stays open until it is dropped, so that its reader sees no
    /// earlier end. `None` if there is something else.
    ///
    /// # Errors
    /// When it has no reader in time, or cannot be opened.
    pub(super) fn at(flag: &str, path: &Path, interrupts: &Interrupts) -> Result<Option<Pipe>> {
        if !fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
            return Ok(None);
        }
        let is_of_shell = path.starts_with("/dev") || path.starts_with("/proc");
        let until = Instant::now() + OPEN_LIMIT;
        let file = loop {
            let opened = sys::open_pipe(path);
            let opened = opened.with_context(|| {
                format!("{flag} {} cannot be written: choose another place", shown(path))
            })?;
            match opened {
                Some(file) => break file,
                None if Instant::now() < until => thread::sleep(EVERY),
                None => bail!("{flag} {} is a pipe without a reader: start it first", shown(path)),
            }
        };
        let limit = if is_of_shell { PAGER_LIMIT } else { LIMIT };
        Ok(Some(Pipe { file, limit, interrupts: interrupts.clone() }))
    }

    /// Returns another handle on the same pipe.
    pub(super) fn try_clone(&self) -> io::Result<Pipe> {
        let file = self.file.try_clone()?;
        Ok(Pipe { file, limit: self.limit, interrupts: self.interrupts.clone() })
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let patience = self.interrupts.patience(self.limit);
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
            let slice = patience.slice().map_err(in_words)?;
            sys::await_writable(self.file.as_fd(), slice)?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn in_words(over: Over) -> io::Error {
    io::Error::other(match over {
        Over::Late(_) => format!("the reader of the pipe has read nothing for {LIMIT:?}"),
        Over::Signal => "a signal ended the wait for the reader of the pipe".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use weir_machine::sys::Signal;

    use super::*;

    #[test]
    fn a_signal_ends_the_wait_for_a_reader_that_has_stopped() {
        let path = std::env::temp_dir().join(format!("weir-pipe-{}", std::process::id()));
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        let interrupts = Interrupts::default();
        let reader = {
            let path = path.clone();
            thread::spawn(move || File::open(path).expect("it is a pipe"))
        };
        let mut pipe = Pipe::at("-o", &path, &interrupts).expect("a reader").expect("a pipe");
        let _reads_nothing = reader.join().expect("it opens the pipe");
        fs::remove_file(&path).expect("it is there");
        interrupts.begin_wait();
        interrupts.receive(Signal::Interrupt, |stage| panic!("{stage:?}"));
        let error = pipe.write_all(&[0; 1 << 20]).expect_err("it is full").to_string();
        assert_eq!(error, "a signal ended the wait for the reader of the pipe");
    }

    #[test]
    fn other_files_are_no_pipes() {
        let none = Pipe::at("-o", Path::new("/dev/null"), &Interrupts::default());
        assert!(none.expect("nothing is opened").is_none());
    }
}
