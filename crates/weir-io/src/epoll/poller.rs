//! The epoll descriptor and its clockwork: registers, and waits with nanosecond precision.
//!
//! Every call goes through libc, which a kernel-bypass library may have replaced; so
//! `epoll_pwait2` is looked up by name at run time instead of being called by number, and where
//! the C library has none a timerfd among the watched descriptors ends the wait.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, epoll_event};

use crate::socket::check;

/// How many events one wait can report, at most and at least.
const BATCH: usize = 1024;
const BATCH_MIN: usize = 16;

type Pwait2 = unsafe extern "C" fn(
    c_int,
    *mut epoll_event,
    c_int,
    *const libc::timespec,
    *const libc::sigset_t,
) -> c_int;

/// When a wait ends if nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// At once.
    Now,
    /// After this many nanoseconds.
    After(u64),
    /// Not at all.
    Never,
}

/// The epoll descriptor.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: Timer,
    events: Box<[epoll_event]>,
    ready: usize,
    cursor: usize,
}

enum Timer {
    Pwait2(Pwait2),
    Fd(OwnedFd),
}

impl Poller {
    /// For so many connections. `timer_word` is what the timerfd reports, should there be one; it
    /// is no event of anyone.
    pub(crate) fn new(timer_word: u64, connections: u32) -> io::Result<Poller> {
        // SAFETY: the name is a C string; a null result says that there is no such function.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"epoll_pwait2".as_ptr()) };
        // SAFETY: the symbol has this signature (epoll_wait(2)); null becomes `None`.
        let found = unsafe { mem::transmute::<*mut libc::c_void, Option<Pwait2>>(found) };
        Poller::with(found.filter(|pwait2| works(*pwait2)), timer_word, connections)
    }

    fn with(pwait2: Option<Pwait2>, timer_word: u64, connections: u32) -> io::Result<Poller> {
        let batch = (connections as usize).clamp(BATCH_MIN, BATCH);
        // SAFETY: epoll_create1 takes no pointers.
        let epoll = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel has just made it for us, and nothing else holds it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let timer = match pwait2 {
            Some(pwait2) => Timer::Pwait2(pwait2),
            None => Timer::Fd(timerfd()?),
        };
        let events = vec![epoll_event { events: 0, u64: 0 }; batch].into_boxed_slice();
        let poller = Poller { epoll, timer, events, ready: 0, cursor: 0 };
        if let Timer::Fd(fd) = &poller.timer {
            poller.watch(fd.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, timer_word)?;
        }
        Ok(poller)
    }

    /// Watches `fd` for `events`; reports come with `word`.
    pub(crate) fn watch(&self, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, word)
    }

    /// Has the reports on `fd` come with another word from now on.
    pub(crate) fn rename(&self, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, word)
    }

    fn control(&self, what: c_int, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        let mut event = epoll_event { events: events.cast_unsigned(), u64: word };
        // SAFETY: the kernel reads one event.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) };
        check(result).map(drop)
    }

    /// How many events the last wait brought.
    pub(crate) fn len(&self) -> usize {
        self.ready
    }

    /// Whether every event of the last wait has been taken.
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.cursor == self.ready
    }

    /// The next event of the last wait: what happened, and the word it was watched under.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(c_int, u64)> {
        if self.is_drained() {
            return None;
        }
        let event = self.events[self.cursor];
        self.cursor += 1;
        Some((event.events.cast_signed(), event.u64))
    }

    /// Waits for events. An interrupted wait ends with none.
    ///
    /// # Errors
    /// Only those of a broken descriptor.
    pub(crate) fn wait(&mut self, timeout: Timeout) -> io::Result<()> {
        debug_assert!(self.is_drained(), "events of the last wait would be lost");
        self.cursor = 0;
        self.ready = 0;
        let result = match (&self.timer, timeout) {
            (_, Timeout::Now) => self.epoll_wait(0),
            (_, Timeout::Never) => self.epoll_wait(-1),
            (Timer::Pwait2(pwait2), Timeout::After(ns)) => self.pwait2(*pwait2, ns),
            (Timer::Fd(fd), Timeout::After(ns)) => {
                arm(fd, ns)?;
                self.epoll_wait(-1)
            }
        };
        match check(result) {
            Ok(ready) => self.ready = ready.unsigned_abs() as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn epoll_wait(&mut self, timeout_ms: c_int) -> c_int {
        let (events, count) = (self.events.as_mut_ptr(), self.events.len() as c_int);
        // SAFETY: the kernel writes at most `count` events to `events`, which has as many.
        unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, count, timeout_ms) }
    }

    fn pwait2(&mut self, pwait2: Pwait2, ns: u64) -> c_int {
        let (events, count) = (self.events.as_mut_ptr(), self.events.len() as c_int);
        let timeout = timespec(ns);
        // SAFETY: as for epoll_wait; the timeout lives until the call returns, and a null mask
        // leaves the signals alone.
        unsafe { pwait2(self.epoll.as_raw_fd(), events, count, &timeout, ptr::null()) }
    }
}

/// Whether the kernel has the call that the C library offers (Linux 5.11).
fn works(pwait2: Pwait2) -> bool {
    let timeout = timespec(0);
    // SAFETY: a bad descriptor is refused before anything is written.
    let result = unsafe { pwait2(-1, ptr::null_mut(), 1, &timeout, ptr::null()) };
    result < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

fn timerfd() -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: timerfd_create takes no pointers.
    let fd = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
    // SAFETY: the kernel has just made it for us, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets the timer off in `ns` nanoseconds. Being set again takes back an expiry that nobody read.
fn arm(fd: &OwnedFd, ns: u64) -> io::Result<()> {
    // Zero would switch it off.
    let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(ns.max(1)) };
    // SAFETY: the setting lives until the call returns; the old one is not wanted.
    check(unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &setting, ptr::null_mut()) }).map(drop)
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::{Clock, Waker};

    const TIMER: u64 = u64::MAX;

    /// The timer never ends a wait early, and does not hide an event.
    fn check_timer(mut poller: Poller) {
        let clock = Clock::start();
        for ns in [0, 1, 1_000, 999_999, 3_000_000] {
            let before = clock.now();
            poller.wait(Timeout::After(ns)).expect("wait");
            assert!(clock.now().since(before) >= ns);
            assert!(poller.take().is_none_or(|(_, word)| word == TIMER));
            assert!(poller.is_drained());
        }
        let waker = Waker::new().expect("waker");
        poller.watch(waker.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, 7).expect("watch");
        waker.wake();
        poller.wait(Timeout::After(u64::MAX / 2)).expect("wait");
        assert_eq!(poller.take(), Some((libc::EPOLLIN, 7)));
        // Nobody read it, but its edge has passed.
        poller.wait(Timeout::Now).expect("wait");
        assert_eq!(poller.take(), None);
        waker.wake();
        poller.wait(Timeout::Never).expect("wait");
        assert_eq!(poller.take(), Some((libc::EPOLLIN, 7)));
    }

    #[test]
    fn waits_by_the_best_call_there_is() {
        check_timer(Poller::new(TIMER, 1).expect("epoll"));
    }

    #[test]
    fn waits_by_timerfd() {
        check_timer(Poller::with(None, TIMER, 1).expect("epoll"));
    }
}
