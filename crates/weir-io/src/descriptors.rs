//! A thread's own table of open descriptors, instead of the one that the process's threads share.

use std::io;
use std::os::fd::RawFd;

use libc::c_uint;

use crate::socket::check;

/// Gives the calling thread a table of descriptors of its own (`CLOSE_RANGE_UNSHARE`,
/// close_range(2)), with those of `kept` and the standard streams in it under their old numbers.
///
/// `RLIMIT_NOFILE` counts by table, so that a process with many such threads may have that many
/// times more connections than it may have descriptors; and a table with one user is looked up
/// without counting references. What is not kept is left out so that a socket is closed when
/// whoever else has it closes it.
///
/// The thread must then neither use nor drop a descriptor that was opened before and is not kept,
/// as its number may be another's by then; nor may it pass one on that it opens later. What is kept
/// stays open here until the thread ends, and is still its owner's to close in the table of the
/// others.
///
/// # Errors
/// When the kernel is older than Linux 5.9 or a filter forbids the call; the table is then shared
/// as it was.
pub fn own_descriptors(kept: &[RawFd]) -> io::Result<()> {
    let streams = libc::STDIN_FILENO..=libc::STDERR_FILENO;
    let mut kept: Vec<c_uint> =
        kept.iter().copied().chain(streams).map(i32::cast_unsigned).collect();
    kept.sort_unstable();
    let last = kept.last().copied().unwrap_or_default();
    // First of all, so that nothing is copied that is closed at once, and nothing of the others'.
    close_range(last + 1, c_uint::MAX, libc::CLOSE_RANGE_UNSHARE)?;
    for pair in kept.windows(2).filter(|pair| pair[0] + 1 < pair[1]) {
        close_range(pair[0] + 1, pair[1] - 1, 0)?;
    }
    Ok(())
}

fn close_range(first: c_uint, last: c_uint, flags: c_uint) -> io::Result<()> {
    // By number, as older C libraries lack it.
    // SAFETY: the call takes no pointers; whose descriptors these are, the caller has promised.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    check(result as libc::c_int).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_has_what_it_keeps_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let stream = TcpStream::connect(listener.local_addr().expect("name")).expect("connect");
        let (mut peer, _) = listener.accept().expect("accept");
        let others: Vec<File> = (0..50).map(|_| File::open("/dev/null").expect("open")).collect();
        let (kept, dropped) = (others[40].as_raw_fd(), stream.as_raw_fd());
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            own_descriptors(&[kept]).expect("Linux 5.9");
            let is_open = |fd| {
                // SAFETY: this only asks for the flags of a number.
                unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
            };
            assert!(is_open(kept) && is_open(2) && !is_open(dropped));
            // The lowest number that is free here is taken for others.
            let mine = File::open("/dev/null").expect("open");
            tell.send(mine.as_raw_fd()).expect("heard");
            let _ended = ended.recv();
        });
        assert_eq!(told.recv(), Ok(3));
        // Had the thread a copy, the peer would see no end.
        drop(stream);
        assert_eq!(peer.read(&mut [0]).expect("read"), 0);
        drop(end);
        thread.join().expect("no panic");
        // And what the thread has closed is open here.
        assert!(others.iter().all(|file| file.metadata().is_ok()));
    }
}
