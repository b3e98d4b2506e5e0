//! The terminal that the program writes to or reads from: its width, and its end.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::errno::check;

/// Returns the width in columns of the terminal on standard output or, failing that, on standard
/// error; `None` if neither is a terminal.
pub fn terminal_columns() -> Option<u16> {
    [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().find_map(|fd| {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCGWINSZ writes one winsize.
        check(unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) }).ok()?;
        (size.ws_col > 0).then_some(size.ws_col)
    })
}

/// True if the other end of a terminal is gone, for example the window that showed it (`POLLHUP`,
/// poll(2)). From then on reads return at once, with nothing.
pub fn has_hung_up(terminal: BorrowedFd<'_>) -> bool {
    let mut entry = libc::pollfd { fd: terminal.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: the kernel reads and writes one entry.
    let ready = check(unsafe { libc::poll(&mut entry, 1, 0) });
    ready.is_ok() && entry.revents & (libc::POLLHUP | libc::POLLERR) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_columns() {
        assert!(terminal_columns().is_none_or(|columns| columns > 0));
    }
}
