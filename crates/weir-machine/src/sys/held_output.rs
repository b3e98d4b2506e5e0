//! Standard output and standard error, held back from the terminal while a program draws on all of
//! it. Independent of the text.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

use super::errno::check;

/// Bytes read at one time.
const READ_BYTES: usize = 16 * 1024;

/// The outputs that were terminals, until [`HeldOutput::end`] gives them back. Dropping it gives
/// them back too, and loses the text.
#[derive(Debug)]
pub struct HeldOutput {
    /// Numbers of the outputs, and the terminals that they were.
    terminals: Vec<(RawFd, OwnedFd)>,
    /// End of the channel that the outputs write to. A channel of sockets can be closed for all
    /// writers at once; threads with a descriptor table of their own have copies.
    written: UnixStream,
    reader: Option<JoinHandle<HeldText>>,
}

/// Text that was written meanwhile.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeldText {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// Number of bytes before them that were dropped.
    pub dropped: u64,
}

impl HeldOutput {
    /// Holds back standard output and standard error, each if it is a terminal. A thread reads what
    /// is written, and keeps the last `bytes_max` bytes.
    ///
    /// # Errors
    /// When a descriptor or the thread is missing.
    pub fn begin(bytes_max: usize) -> io::Result<HeldOutput> {
        let (read, written) = UnixStream::pair()?;
        let stdout = io::stdout();
        let stderr = io::stderr();
        let reader = Builder::new().name("weir-output".to_owned());
        let reader = Some(reader.spawn(move || tail(read, bytes_max))?);
        let mut held = HeldOutput { terminals: Vec::new(), written, reader };
        for output in [stdout.as_fd(), stderr.as_fd()].into_iter().filter(BorrowedFd::is_terminal) {
            held.terminals.push((output.as_raw_fd(), output.try_clone_to_owned()?));
            replace(output.as_raw_fd(), held.written.as_fd())?;
        }
        Ok(held)
    }

    /// Gives the outputs back, and returns the text written meanwhile.
    pub fn end(mut self) -> HeldText {
        self.give_back();
        self.reader.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
    }

    fn give_back(&mut self) {
        for (number, terminal) in self.terminals.drain(..) {
            let _never_fails = replace(number, terminal.as_fd());
        }
        let _ended = self.written.shutdown(Shutdown::Both);
    }
}

impl Drop for HeldOutput {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Reads to the end, and returns the last `bytes_max` bytes.
fn tail(mut read: impl Read, bytes_max: usize) -> HeldText {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut dropped = 0;
    // An error ends it like the end.
    while let Ok(count @ 1..) = read.read(&mut buffer) {
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(bytes_max);
        kept.drain(..excess);
        dropped += excess as u64;
    }
    HeldText { bytes: kept.into(), dropped }
}

/// Makes descriptor `number` another one for what `by` is (dup2(2)).
fn replace(number: RawFd, by: BorrowedFd) -> io::Result<()> {
    // SAFETY: this takes numbers; the descriptor that is closed is an output of the process, which
    // no object owns.
    check(unsafe { libc::dup2(by.as_raw_fd(), number) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept() {
        let text = |input: &str, bytes_max| tail(input.as_bytes(), bytes_max);
        assert_eq!(text("", 4), HeldText::default());
        assert_eq!(text("abc", 4), HeldText { bytes: b"abc".to_vec(), dropped: 0 });
        let long = "0123456789".repeat(READ_BYTES);
        let kept = text(&long, 4);
        assert_eq!(
            (kept.bytes.as_slice(), kept.dropped),
            (&b"6789"[..], 10 * READ_BYTES as u64 - 4)
        );
    }
}
