//! Turns the signals that ask a program to end into values that one thread waits for.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`: the user typed Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGHUP`: the terminal has gone.
    HangUp,
}

impl Signal {
    /// The number, by which a shell tells how a program ended: 128 and this.
    pub fn number(self) -> i32 {
        match self {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
        }
    }
}

/// The requests to end, held back from killing the process so that a thread can wait for them.
///
/// Threads inherit what is blocked from the one that makes them, so this must be made in the first
/// thread before there are others.
#[derive(Debug)]
pub struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks the requests in the calling thread. `SIGHUP` is left alone where it is ignored, as
    /// nohup(1) has it.
    ///
    /// # Errors
    /// What pthread_sigmask(3) says.
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

    /// Has a write that cannot be return its error instead of ending the process: `SIGPIPE`, where
    /// the reader has gone, and `SIGXFSZ`, where a file may not grow (setrlimit(2)), are ignored.
    pub fn ignore_failed_writes() {
        for number in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: ignoring a signal runs no code of ours.
            unsafe { libc::signal(number, libc::SIG_IGN) };
        }
    }

    /// Waits for the next request; for a thread of its own.
    ///
    /// # Errors
    /// What sigwait(3) says, which is nothing for a valid set.
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

    /// Lets the requests through to the calling thread again, so that they kill the process as
    /// they do by default: for the time after the run. A thread in [`wait`](Signals::wait) does
    /// not keep them from it.
    ///
    /// # Errors
    /// What pthread_sigmask(3) says.
    pub fn release(&self) -> io::Result<()> {
        mask(libc::SIG_UNBLOCK, &self.set)
    }
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
    // SAFETY: the set is initialised, and the old mask is not wanted.
    match unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To this thread only: the others of the test program do not block it.
    fn raise(signal: Signal) {
        // SAFETY: raise takes no pointers, and the signal is blocked here.
        assert_eq!(unsafe { libc::raise(signal.number()) }, 0);
    }

    #[test]
    fn requests_arrive_as_values() {
        let signals = Signals::block().expect("mask");
        let all = [Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Interrupt];
        // As nohup(1) starts the tests.
        let awaited = |signal: &Signal| *signal != Signal::HangUp || !is_ignored(libc::SIGHUP);
        for signal in all.into_iter().filter(awaited) {
            raise(signal);
            assert_eq!(signals.wait().expect("sigwait"), signal);
        }
        assert_eq!((Signal::Interrupt.number(), Signal::Terminate.number()), (2, 15));
        signals.release().expect("mask");
    }
}
