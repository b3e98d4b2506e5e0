//! Signals that this program sends: to itself, to a group of processes that it started, and to
//! those that must not outlive it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::errno::check;

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
/// Makes the kernel kill the process of a command as soon as the calling thread ends, however it
/// ends (PR_SET_PDEATHSIG(2const)). It begins in a process group of its own: Ctrl-C is not for it.
pub fn end_with_this_thread(command: &mut Command) -> &mut Command {
    // SAFETY: getpid takes no pointers.
    let parent = unsafe { libc::getpid() };
    let arrange = move || {
        // SAFETY: this call takes no pointers.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // SAFETY: getppid takes no pointers.
        match unsafe { libc::getppid() } == parent {
            true => Ok(()),
            // It has ended before the call.
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    command.process_group(0);
    // SAFETY: after the fork it only calls functions that are safe there (signal-safety(7)).
    unsafe { command.pre_exec(arrange) }
}
