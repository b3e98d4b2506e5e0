//! Signals that request termination, converted to values that one thread waits for.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// A request to terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`: the user typed Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGHUP`: the terminal was closed.
    HangUp,
}

impl Signal {
    /// Returns the signal's number. A shell reports a program ended by it with exit code 128 plus
    /// this.
    pub fn number(self) -> i32 {
        match self {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
        }
    }

    /// Returns the signal's name: `SIGTERM`.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::HangUp => "SIGHUP",
        }
    }
}

/// The termination signals, blocked so that a thread can wait for them instead of the process
/// dying.
///
/// New threads inherit the signal mask of their creator, so create this in the first thread before
/// there are others.
#[derive(Debug)]
pub struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals in the calling thread. An ignored `SIGHUP` stays ignored, as under
    /// nohup(1).
    ///
    /// # Errors
    /// Errors of pthread_sigmask(3).
    pub fn block() -> io::Result<Signals> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set that the others then add to.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
            if !is_ignored(libc::SIGHUP) {
                libc::sigaddset(set.as_mut_ptr(), libc::SIGHUP);
            }
            set.assume_init()
        };
        mask(libc::SIG_BLOCK, &set)?;
        Ok(Signals { set })
    }

    /// Makes a failing write return its error instead of ending the process. Ignores `SIGPIPE` (the
    /// reader closed its end) and `SIGXFSZ` (a file must not grow, setrlimit(2)).
    pub fn ignore_failed_writes() {
        for number in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: ignoring a signal runs no code of this program.
            unsafe { libc::signal(number, libc::SIG_IGN) };
        }
    }

    /// Waits for the next signal; blocks the calling thread.
    ///
    /// # Errors
    /// Errors of sigwait(3); none for a valid set.
    pub fn wait(&self) -> io::Result<Signal> {
        let mut number = 0;
        // SAFETY: the set was initialised by `block`; one number is written.
        let errno = unsafe { libc::sigwait(&self.set, &mut number) };
        match (errno, number) {
            (0, libc::SIGTERM) => Ok(Signal::Terminate),
            (0, libc::SIGHUP) => Ok(Signal::HangUp),
            (0, _) => Ok(Signal::Interrupt),
            _ => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Unblocks the signals in the calling thread, so that they kill the process by default again:
    /// for the time after the run. A thread blocked in [`wait`](Signals::wait) does not prevent
    /// that.
    ///
    /// # Errors
    /// Errors of pthread_sigmask(3).
    pub fn release(&self) -> io::Result<()> {
        mask(libc::SIG_UNBLOCK, &self.set)
    }
}

/// Makes a command begin with no signal blocked. It would inherit those that weir blocks, and a
/// server that a shell starts would not end by Ctrl-C or kill(1).
pub fn unblock_in(command: &mut Command) -> &mut Command {
    let unblock = || {
        let mut none = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set.
        let none = unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            none.assume_init()
        };
        mask(libc::SIG_SETMASK, &none)
    };
    // SAFETY: after the fork it only calls two functions that are safe there (signal-safety(7)).
    unsafe { command.pre_exec(unblock) }
}

/// True if the process was started with the signal ignored.
fn is_ignored(number: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, sigaction(2) only writes the present one.
    unsafe {
        libc::sigaction(number, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is initialised, and the old mask is not requested.
    match unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Raises a signal in this thread only, because other threads of the test program do not block
    /// it.
    fn raise(signal: Signal) {
        // SAFETY: raise takes no pointers, and the signal is blocked here.
        assert_eq!(unsafe { libc::raise(signal.number()) }, 0);
    }

    #[test]
    fn commands_begin_without_blocked_signals() {
        let signals = Signals::block().expect("mask");
        let status = |command: &mut Command| {
            let output = command.args(["SigBlk", "/proc/self/status"]).output().expect("grep");
            String::from_utf8(output.stdout).expect("text").split('\t').nth(1).map(str::to_owned)
        };
        let blocked = status(&mut Command::new("grep")).expect("a mask");
        assert_ne!(blocked.trim().trim_start_matches('0'), "", "inherited");
        let unblocked = status(unblock_in(&mut Command::new("grep"))).expect("a mask");
        assert_eq!(unblocked.trim().trim_start_matches('0'), "");
        signals.release().expect("mask");
    }

    #[test]
    fn requests_arrive_as_values() {
        let signals = Signals::block().expect("mask");
        let all = [Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Interrupt];
        // Under nohup(1), `SIGHUP` is ignored and never arrives.
        let awaited = |signal: &Signal| *signal != Signal::HangUp || !is_ignored(libc::SIGHUP);
        for signal in all.into_iter().filter(awaited) {
            raise(signal);
            assert_eq!(signals.wait().expect("sigwait"), signal);
        }
        assert_eq!((Signal::Interrupt.number(), Signal::Terminate.number()), (2, 15));
        signals.release().expect("mask");
    }
}
