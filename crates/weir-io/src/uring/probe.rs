//! Test whether io_uring is usable here, by using it.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use io_uring::types::TimeoutFlags;
use io_uring::{Probe, opcode};
use weir_machine::sys;

use super::buffers::Buffers;
use super::ring::{Ring, timespec};
use super::sending;

/// Operations that the backend submits, and their names for error messages.
const NEEDED: [(u8, &str); 10] = [
    (opcode::Nop::CODE, "NOP"),
    (opcode::Send::CODE, "SEND"),
    (opcode::SendMsg::CODE, "SENDMSG"),
    (opcode::Recv::CODE, "RECV"),
    (opcode::RecvMsgMulti::CODE, "RECVMSG"),
    (opcode::Connect::CODE, "CONNECT"),
    (opcode::AcceptMulti::CODE, "ACCEPT"),
    (opcode::PollAdd::CODE, "POLL_ADD"),
    (opcode::AsyncCancel::CODE, "ASYNC_CANCEL"),
    (opcode::Close::CODE, "CLOSE"),
];

/// Time of a timer that must not expire, and for which one that has expired is waited for.
const HOUR_NS: u64 = 3_600_000_000_000;
const PATIENCE_NS: u64 = 20_000_000;

/// More bytes than a Unix socket holds.
const TOO_MUCH: usize = 4 << 20;

/// Checks that [`Uring`](crate::Uring) works here: sets up a small ring and uses it.
///
/// # Errors
/// The reason why it does not work, as a message for the user.
pub(crate) fn probe_uring() -> io::Result<()> {
    let explained = |what: &str, error: io::Error| {
        let why = reason(error.raw_os_error(), Restrictions::of_this_process());
        io::Error::new(error.kind(), format!("{what}: {error}{why}"))
    };
    let mut ring = Ring::new(8, 32).map_err(|error| explained("io_uring_setup", error))?;
    let mut probe = Probe::new();
    let registered = ring.uring.submitter().register_probe(&mut probe);
    registered.map_err(|error| explained("io_uring probe", error))?;
    for (code, name) in NEEDED {
        if !probe.is_supported(code) {
            return Err(io::Error::other(format!("io_uring lacks {name} here")));
        }
    }
    nop(&mut ring).map_err(|error| explained("io_uring NOP", error))?;
    timers_keep_our_time(&mut ring).map_err(|error| explained("io_uring TIMEOUT", error))?;
    stalls_are_reported(&mut ring).map_err(|error| explained("io_uring SEND", error))?;
    // The ring is dropped first, as the buffers must outlive it.
    let buffers = Buffers::new(&ring, 1, 1, false);
    drop(ring);
    buffers.map(drop).map_err(|error| explained("io_uring buffer ring", error))
}

/// Restrictions of system calls, as far as /proc tells them.
#[derive(Clone, Copy)]
struct Restrictions {
    /// Value of `kernel.io_uring_disabled`; absent before Linux 6.6, or without /proc.
    disabled: Option<u64>,
    /// True if system calls pass a seccomp filter.
    is_filtered: bool,
}

impl Restrictions {
    fn of_this_process() -> Restrictions {
        let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Restrictions {
            disabled: disabled.ok().and_then(|text| text.trim().parse().ok()),
            is_filtered: status.lines().any(|line| line == "Seccomp:\t2"),
        }
    }
}

/// Returns the reason for an error of io_uring(7), to append to a message.
fn reason(code: Option<i32>, Restrictions { disabled, is_filtered }: Restrictions) -> String {
    let is_disabled = disabled.is_some_and(|value| value > 0);
    let text = match code {
        Some(libc::EPERM | libc::EACCES) if is_disabled => {
            return format!(": denied by kernel.io_uring_disabled = {}", disabled.unwrap_or(0));
        }
        Some(libc::EPERM | libc::EACCES) if is_filtered => ": denied by a seccomp filter",
        // A kernel with io_uring has this setting, so it is not the kernel that lacks the call.
        Some(libc::ENOSYS) if is_filtered && disabled.is_some() => ": denied by a seccomp filter",
        Some(libc::ENOSYS) if is_filtered => ": the kernel has none, or a seccomp filter denies it",
        Some(libc::ENOSYS) => ": the kernel has none",
        Some(libc::EINVAL) => ": the kernel is older than Linux 6.1",
        _ => "",
    };
    text.to_owned()
}

fn nop(ring: &mut Ring) -> io::Result<()> {
    // SAFETY: the entry points to nothing.
    unsafe { ring.push(&opcode::Nop::new().build().user_data(1))? };
    ring.sleep(None, 1)?;
    match ring.completions().next() {
        Some(done) if done.word == 1 && done.result == 0 => Ok(()),
        done => Err(io::Error::other(format!("completed with {done:?}"))),
    }
}

/// Checks that the clock of timers is the CLOCK_MONOTONIC of this process. In a time namespace
/// (time_namespaces(7)) it is not, in Linux 6.18: nothing would ever be sent, or all at once.
fn timers_keep_our_time(ring: &mut Ring) -> io::Result<()> {
    let now_ns = sys::monotonic_ns();
    let times = [timespec(now_ns), timespec(now_ns + HOUR_NS)];
    for (time, word) in times.iter().zip([4, 5]) {
        let timeout = opcode::Timeout::new(time).flags(TimeoutFlags::ABS).build().user_data(word);
        // SAFETY: the kernel copies the time when it takes the entry, within this function.
        unsafe { ring.push(&timeout)? };
    }
    ring.sleep(Some(PATIENCE_NS), 1)?;
    match ring.completions().map(|done| done.word).collect::<Vec<_>>()[..] {
        [4] => Ok(()),
        _ => Err(io::Error::other("its clock is not that of this time namespace")),
    }
}

/// Checks the assumption of `sending` on a send that cannot be completed at once. Before the enter
/// returns, it must leave a completion with the number of bytes sent. Nothing may be sent after it.
fn stalls_are_reported(ring: &mut Ring) -> io::Result<()> {
    let (here, mut there) = UnixStream::pair()?;
    let bytes = vec![0; TOO_MUCH];
    for (len, word) in [(1, 2), (TOO_MUCH, 3)] {
        let entry = sending::at_once(here.as_raw_fd(), &bytes[..len]).user_data(word);
        // SAFETY: the bytes outlive the enter, and if the probe is right the send too; if it is
        // wrong they outlive it as well, since dropping the socket ends it and comes first.
        unsafe { ring.push(&entry)? };
    }
    ring.submit(false)?;
    let completions: Vec<_> = ring.completions().collect();
    let [done] = completions[..] else {
        return Err(io::Error::other(format!("a stalled send was reported as {completions:?}")));
    };
    let sent = usize::try_from(done.result).unwrap_or(0);
    if done.word != 3 || sent == 0 || sent >= TOO_MUCH {
        return Err(io::Error::other(format!("a stalled send was reported as {done:?}")));
    }
    // Nothing is sent once there is room.
    there.set_nonblocking(true)?;
    let mut all = Vec::with_capacity(TOO_MUCH);
    let ended = there.read_to_end(&mut all);
    ring.submit(true)?;
    let _ = there.read_to_end(&mut all);
    match ended {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && all.len() == sent + 1 => Ok(()),
        _ => Err(io::Error::other(format!("{} bytes of a send reported as {sent}", all.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_restriction() {
        let check = |code, disabled, is_filtered, expected: &str| {
            assert_eq!(reason(Some(code), Restrictions { disabled, is_filtered }), expected);
        };
        let filter = ": denied by a seccomp filter";
        check(libc::EPERM, Some(0), true, filter);
        check(libc::EACCES, None, true, filter);
        check(libc::ENOSYS, Some(0), true, filter);
        check(libc::EPERM, Some(2), true, ": denied by kernel.io_uring_disabled = 2");
        check(libc::EPERM, Some(0), false, "");
        check(libc::ENOSYS, Some(0), false, ": the kernel has none");
        check(libc::ENOSYS, None, true, ": the kernel has none, or a seccomp filter denies it");
        check(libc::EINVAL, Some(0), true, ": the kernel is older than Linux 6.1");
    }

    #[test]
    fn finds_what_the_backend_finds() {
        let options = crate::BackendOptions {
            clock: crate::Clock::start(),
            connections: 1,
            backends: 1,
            waker: None,
        };
        assert_eq!(probe_uring().is_ok(), crate::Uring::new(options).is_ok());
    }
}
