//! Signals that this program sends: to itself, and to a group of processes that it started.

use std::io;

use crate::errno::check;

/// Sends this process the signal of Ctrl-C (kill(2)), as a terminal in raw mode does not.
///
/// # Errors
/// None that kill(2) documents for the process itself.
pub fn interrupt_self() -> io::Result<()> {
    // SAFETY: kill and getpid take no pointers.
    check(unsafe { libc::kill(libc::getpid(), libc::SIGINT) }).map(drop)
}

/// Kills all processes of a process group (kill(2)), which is named by the id of its first process.
///
/// # Errors
/// When no process of the group is left, or this process must not send it signals.
pub fn kill_group(id: u32) -> io::Result<()> {
    let group = libc::pid_t::try_from(id).ok().filter(|group| *group > 1);
    let group = group.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: kill takes no pointers.
    check(unsafe { libc::kill(-group, libc::SIGKILL) }).map(drop)
}
