//! Readiness of a few descriptors (poll(2)), for threads beside the load. It reads and writes
//! nothing.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::errno::check;

/// Waits until at least one of the sources can be read, or for `timeout`; without one, forever.
/// Returns for each source if it can be read, or has failed so that a read returns the error. A
/// signal may end the wait early.
///
/// # Errors
/// Errors of poll(2).
pub fn await_readable(
    sources: &[BorrowedFd<'_>],
    timeout: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let entry = |source: &BorrowedFd<'_>| entry(source.as_raw_fd(), libc::POLLIN);
    let mut entries: Vec<libc::pollfd> = sources.iter().map(entry).collect();
    poll(&mut entries, timeout)?;
    Ok(entries.iter().map(|entry| entry.revents != 0).collect())
}

/// Waits until the target takes bytes, or for `timeout`. Returns true if it does, or has failed so
/// that a write returns the error. A signal may end the wait early.
///
/// # Errors
/// Errors of poll(2).
pub fn await_writable(target: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let mut entries = [entry(target.as_raw_fd(), libc::POLLOUT)];
    poll(&mut entries, Some(timeout))?;
    Ok(entries[0].revents != 0)
}

/// True if a write of up to 4,096 bytes to standard output does not block: it is a file, a closed
/// pipe, or one with that much room (`PIPE_BUF`, pipe(7)).
pub fn is_stdout_writable() -> bool {
    let mut entries = [entry(libc::STDOUT_FILENO, libc::POLLOUT)];
    poll(&mut entries, Some(Duration::ZERO)).is_ok() && entries[0].revents != 0
}

fn entry(fd: libc::c_int, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

/// Polls the entries. The timeout is rounded up to milliseconds, so that it has passed when the
/// call returns.
fn poll(entries: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let rounded = |span: Duration| span.as_nanos().div_ceil(1_000_000);
    let timeout_ms = timeout.map_or(-1, |span| rounded(span).try_into().unwrap_or(i32::MAX));
    let count = entries.len() as libc::nfds_t;
    // SAFETY: the kernel reads and writes as many entries as the slice has.
    match check(unsafe { libc::poll(entries.as_mut_ptr(), count, timeout_ms) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_source_is_ready_when_bytes_or_the_end_are_there() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let connect = || TcpStream::connect(listener.local_addr().expect("bound")).expect("open");
        let mut silent = connect();
        let mut sending = connect();
        let accept = || listener.accept().expect("connected").0;
        let accepted = [accept(), accept()];
        sending.write_all(b"x").expect("there is room");
        let ready = |timeout| {
            let sources = [listener.as_fd(), accepted[0].as_fd(), accepted[1].as_fd()];
            await_readable(&sources, timeout).expect("three descriptors")
        };
        assert_eq!(ready(None), [false, false, true]);
        drop(sending);
        assert_eq!(ready(None), [false, false, true]);
        silent.write_all(b"y").expect("there is room");
        let sources = [accepted[0].as_fd()];
        assert_eq!(await_readable(&sources, None).expect("one descriptor"), [true]);
    }

    #[test]
    fn a_full_pipe_takes_nothing_until_it_is_read() {
        let (mut read, mut written) = io::pipe().expect("two descriptors");
        let is_ready = |written: &io::PipeWriter| {
            await_writable(written.as_fd(), Duration::from_nanos(1)).expect("a descriptor")
        };
        while is_ready(&written) {
            written.write_all(&[0; 4_096]).expect("there is room");
        }
        read.read_exact(&mut [0; 4_096]).expect("there are bytes");
        assert!(is_ready(&written));
        drop(read);
        assert!(is_ready(&written), "a write returns the error");
    }

    #[test]
    fn without_a_ready_source_the_wait_ends_with_its_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let ready = await_readable(&[listener.as_fd()], Some(Duration::from_nanos(1)));
        assert_eq!(ready.expect("one descriptor"), [false]);
    }
}
