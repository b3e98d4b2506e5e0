//! The epoll descriptor and its timer: registration, and waits with nanosecond precision.
//!
//! A timerfd among the watched descriptors ends a wait. It outlives the wait it was set for,
//! because a worker waits several times for the same instant between two slots. A timer per wait
//! (`epoll_pwait2`) would be armed and cancelled every time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, epoll_event};
use weir_machine::sys::check;

/// Largest and smallest number of events that one wait reports.
const BATCH: usize = 1024;
const BATCH_MIN: usize = 16;

/// End of a wait without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// At once.
    Now,
    /// At this instant of `CLOCK_MONOTONIC` in nanoseconds, or, once, at the earlier instant of a
    /// previous wait.
    At(u64),
    /// Never.
    Never,
}

/// The epoll descriptor.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: Timer,
    timer_word: u64,
    events: Box<[epoll_event]>,
    pub(super) ready: usize,
    cursor: usize,
}

struct Timer {
    fd: OwnedFd,
    /// Expiry in nanoseconds; `None` after it has expired.
    at_ns: Option<u64>,
}

impl Poller {
    /// Creates a poller for this many connections. `timer_word` identifies the timer's own event,
    /// which is never returned.
    pub(crate) fn new(timer_word: u64, connections: u32) -> io::Result<Poller> {
        let batch = (connections as usize).clamp(BATCH_MIN, BATCH);
        // SAFETY: epoll_create1 takes no pointers.
        let epoll = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel has just made it for us, and nothing else holds it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let timer = Timer::new()?;
        let events = vec![epoll_event { events: 0, u64: 0 }; batch].into_boxed_slice();
        let poller = Poller { epoll, timer, timer_word, events, ready: 0, cursor: 0 };
        poller.watch(poller.timer.fd.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, timer_word)?;
        Ok(poller)
    }

    /// Watches `fd` for `events`; its reports carry `word`.
    pub(crate) fn watch(&self, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, word)
    }

    /// Changes the events and the word of the reports on `fd`.
    pub(crate) fn rename(&self, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, word)
    }

    fn control(&self, what: c_int, fd: RawFd, events: c_int, word: u64) -> io::Result<()> {
        let mut event = epoll_event { events: events.cast_unsigned(), u64: word };
        // SAFETY: the kernel reads one event.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) };
        check(result).map(drop)
    }

    /// True if every event of the last wait has been taken.
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.cursor == self.ready
    }

    /// Returns the next event of the last wait: its flags and its word.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(c_int, u64)> {
        while !self.is_drained() {
            let event = self.events[self.cursor];
            self.cursor += 1;
            if event.u64 != self.timer_word {
                return Some((event.events.cast_signed(), event.u64));
            }
            self.timer.at_ns = None;
        }
        None
    }

    /// Waits for events. An interrupted wait returns none, and neither does one that only the timer
    /// ended.
    ///
    /// # Errors
    /// Only for an invalid descriptor.
    pub(crate) fn wait(&mut self, timeout: Timeout) -> io::Result<()> {
        debug_assert!(self.is_drained(), "events of the last wait would be lost");
        self.cursor = 0;
        self.ready = 0;
        if let Timeout::At(instant_ns) = timeout {
            self.timer.set(instant_ns)?;
        }
        let timeout_ms = if timeout == Timeout::Now { 0 } else { -1 };
        let events = self.events.as_mut_ptr();
        let count = self.events.len() as c_int;
        // SAFETY: the kernel writes at most `count` events to `events`, which has as many.
        let ready = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, count, timeout_ms) };
        match check(ready) {
            Ok(ready) => self.ready = ready.unsigned_abs() as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if self.ready == 1 && self.events[0].u64 == self.timer_word {
            (self.ready, self.timer.at_ns) = (0, None);
        }
        Ok(())
    }
}

impl Timer {
    fn new() -> io::Result<Timer> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create takes no pointers.
        let fd = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // SAFETY: the kernel has just made it for us, and nothing else holds it.
        Ok(Timer { fd: unsafe { OwnedFd::from_raw_fd(fd) }, at_ns: None })
    }

    /// Arms the timer for this instant, unless it already expires before. The expiry count is never
    /// read; setting the timer resets it.
    fn set(&mut self, instant_ns: u64) -> io::Result<()> {
        if self.at_ns.is_some_and(|at_ns| at_ns <= instant_ns) {
            return Ok(());
        }
        // Zero would disarm the timer.
        let it_value = timespec(instant_ns.max(1));
        let setting = libc::itimerspec { it_interval: timespec(0), it_value };
        let fd = self.fd.as_raw_fd();
        let flags = libc::TFD_TIMER_ABSTIME;
        // SAFETY: the setting lives until the call returns; the old one is not requested.
        check(unsafe { libc::timerfd_settime(fd, flags, &setting, ptr::null_mut()) })?;
        self.at_ns = Some(instant_ns);
        Ok(())
    }
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
    use crate::time::Clock;
    use crate::waker::Waker;

    const TIMER: u64 = u64::MAX;

    #[test]
    fn the_timer_ends_waits_in_time_and_hides_nothing() {
        let clock = Clock::start();
        let now_ns = || clock.epoch_monotonic_ns() + clock.now().0;
        let mut poller = Poller::new(TIMER, 1).expect("epoll");
        for ns in [0, 1, 1_000, 999_999, 3_000_000] {
            let instant_ns = now_ns() + ns;
            poller.wait(Timeout::At(instant_ns)).expect("wait");
            assert!(now_ns() >= instant_ns);
            assert_eq!(poller.take(), None);
        }
        let waker = Waker::new().expect("waker");
        poller.watch(waker.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, 7).expect("watch");
        waker.wake();
        poller.wait(Timeout::At(u64::MAX / 2)).expect("wait");
        assert_eq!(poller.take(), Some((libc::EPOLLIN, 7)));
        // The eventfd was not read, but its edge has passed.
        poller.wait(Timeout::Now).expect("wait");
        assert_eq!(poller.take(), None);
        waker.wake();
        poller.wait(Timeout::Never).expect("wait");
        assert_eq!(poller.take(), Some((libc::EPOLLIN, 7)));
    }

    #[test]
    fn the_timer_is_set_earlier_but_never_later() {
        let clock = Clock::start();
        let now_ns = || clock.epoch_monotonic_ns() + clock.now().0;
        let mut poller = Poller::new(TIMER, 1).expect("epoll");
        let waker = Waker::new().expect("waker");
        poller.watch(waker.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, 7).expect("watch");
        for later_ns in [u64::MAX / 2, now_ns() + 1_000_000] {
            waker.wake();
            poller.wait(Timeout::At(later_ns)).expect("wait");
            assert_eq!(poller.take(), Some((libc::EPOLLIN, 7)));
        }
        assert!(poller.timer.at_ns.is_some());
        // The pending timer ends this wait, and is free for the next.
        poller.wait(Timeout::At(u64::MAX / 2)).expect("wait");
        assert_eq!((poller.take(), poller.timer.at_ns), (None, None));
    }
}
