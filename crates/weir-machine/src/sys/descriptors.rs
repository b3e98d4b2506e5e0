//! Open descriptors: their limit, and a table of them for one thread instead of the one that the
//! process's threads share.

use std::io;
use std::os::fd::RawFd;

use libc::c_uint;

use super::errno::check;

/// Limits on open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimit {
    /// The limit in force.
    pub soft: u64,
    /// The limit up to which this process may raise it.
    pub hard: u64,
}

/// Returns the limits on open descriptors, and leaves them as they are.
///
/// # Errors
/// Errors of getrlimit(2).
pub fn descriptor_limit() -> io::Result<DescriptorLimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one limit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    Ok(DescriptorLimit { soft: limit.rlim_cur, hard: limit.rlim_max })
}

/// Raises the limit on open descriptors as far as this process may, and returns the result.
///
/// # Errors
/// Errors of getrlimit(2) and setrlimit(2).
pub fn raise_descriptor_limit() -> io::Result<DescriptorLimit> {
    let DescriptorLimit { soft, hard } = descriptor_limit()?;
    if soft < hard {
        let limit = libc::rlimit { rlim_cur: hard, rlim_max: hard };
        // SAFETY: the kernel reads one limit.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    }
    Ok(DescriptorLimit { soft: hard.max(soft), hard })
}

/// Gives the calling thread its own descriptor table (`CLOSE_RANGE_UNSHARE`, close_range(2)), with
/// the descriptors of `kept` and the standard streams under their old numbers.
///
/// `RLIMIT_NOFILE` applies to each table, so a process with several such threads can have that many
/// times more connections than the limit. A table with one user is also searched without reference
/// counting. Other descriptors are left out, so that a socket closes when its other owner closes
/// it.
///
/// The thread must then neither use nor drop a descriptor that was opened before and is not kept:
/// its number may refer to another file. It must not pass on a descriptor that it opens later. Kept
/// descriptors stay open here until the thread ends, and their owner still has to close them in the
/// shared table.
///
/// # Errors
/// If the kernel is older than Linux 5.9 or a filter forbids the call; the table then stays shared.
pub fn own_descriptors(kept: &[RawFd]) -> io::Result<()> {
    let streams = libc::STDIN_FILENO..=libc::STDERR_FILENO;
    let mut kept: Vec<c_uint> =
        kept.iter().copied().chain(streams).map(i32::cast_unsigned).collect();
    kept.sort_unstable();
    let last = kept.last().copied().unwrap_or_default();
    // Comes first, so that no descriptor is copied only to be closed, and the shared table is
    // unchanged.
    close_range(last + 1, c_uint::MAX, libc::CLOSE_RANGE_UNSHARE)?;
    for pair in kept.windows(2).filter(|pair| pair[0] + 1 < pair[1]) {
        close_range(pair[0] + 1, pair[1] - 1, 0)?;
    }
    Ok(())
}

fn close_range(first: c_uint, last: c_uint, flags: c_uint) -> io::Result<()> {
    // Called by number, as older C libraries have no wrapper.
    // SAFETY: the call takes no pointers; the caller guarantees that no code uses those that close.
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
    fn the_limit_is_raised_to_its_maximum() {
        let limit = raise_descriptor_limit().expect("limit");
        assert_eq!(limit.soft, limit.hard);
        assert_eq!(descriptor_limit().expect("limit"), limit);
    }

    #[test]
    fn a_thread_has_what_it_keeps_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let stream = TcpStream::connect(listener.local_addr().expect("name")).expect("connect");
        let (mut peer, _) = listener.accept().expect("accept");
        let others: Vec<File> = (0..50).map(|_| File::open("/dev/null").expect("open")).collect();
        let kept = others[40].as_raw_fd();
        let dropped = stream.as_raw_fd();
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            own_descriptors(&[kept]).expect("Linux 5.9");
            let is_open = |fd| {
                // SAFETY: this only reads the flags of a number.
                unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
            };
            assert!(is_open(kept) && is_open(2) && !is_open(dropped));
            // This thread uses the lowest free number, which is open as another file in the shared
            // table.
            let mine = File::open("/dev/null").expect("open");
            sender.send(mine.as_raw_fd()).expect("the receiver is there");
            let _ended = ended.recv();
        });
        assert_eq!(receiver.recv(), Ok(3));
        // If the thread had a copy, the peer would not see the end.
        drop(stream);
        assert_eq!(peer.read(&mut [0]).expect("read"), 0);
        drop(end);
        thread.join().expect("no panic");
        // Descriptors closed in the thread are still open here.
        assert!(others.iter().all(|file| file.metadata().is_ok()));
    }
}
