//! The ring itself: set-up according to the kernel's features, submission, completion.
//!
//! Unlike the crate's own submitter, it keeps the registered ring descriptor across calls, and
//! passes the newer flags of io_uring_enter(2).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, squeue};
use weir_machine::sys::check;

use super::kind;
use crate::token::Token;

/// A completion, taken out of the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompletionEntry {
    pub(super) word: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// Requests of one submission that may be refused for lack of memory before that counts as a
/// failure of the system.
const REFUSALS: u32 = 1000;

/// Submission entries of all rings of a process. A ring is resident as a whole.
const ALL_ENTRIES: u32 = 32_768;

/// Returns the numbers of submission and completion entries of one of `rings` rings, with
/// `connections` connections.
pub(super) fn sizes(connections: u32, rings: u32) -> (u32, u32) {
    let share = |of: u32| (of / rings.max(1)).max(1).next_power_of_two();
    // Usually one submission per connection and batch; a full queue is submitted early.
    let entries = connections.clamp(32, 4096).next_power_of_two();
    let entries = entries.min(share(ALL_ENTRIES).max(64));
    let completions = connections.clamp(32, 4096).next_power_of_two() * 4;
    (entries, completions.min(share(4 * ALL_ENTRIES)).max(4 * entries))
}

/// An io_uring of the thread that made it.
pub(super) struct Ring {
    pub(super) uring: IoUring,
    /// Descriptor for io_uring_enter: the ring's own, or its registered index.
    enter_fd: RawFd,
    /// Flags of every enter.
    always: EnterFlags,
    /// Flags of every enter that may sleep.
    asleep: EnterFlags,
}

impl Ring {
    /// Creates a ring with room for `entries` submissions at once, using every feature that the
    /// kernel offers.
    ///
    /// # Errors
    /// If the kernel has no io_uring, forbids it, or lacks a feature that this backend requires.
    pub(super) fn new(entries: u32, completions: u32) -> io::Result<Ring> {
        let mut builder = IoUring::builder();
        // Linux 6.1. Completions are processed when this thread requests them, not whenever one
        // arrives. Without this epoll is as fast, so no older kernel is supported.
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        builder.setup_submit_all().setup_clamp().setup_cqsize(completions);
        let old = builder.clone();
        // Linux 6.6.
        builder.setup_no_sqarray();
        let uring = match builder.build(entries) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => old.build(entries),
            built => built,
        }?;
        let params = uring.params();
        if !params.is_feature_ext_arg()
            || !params.is_feature_nodrop()
            || !params.is_feature_skip_cqe_on_success()
        {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let no_iowait = params.is_feature_no_iowait();
        let enter_fd = uring.as_raw_fd();
        let always = EnterFlags::empty();
        let asleep = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let mut ring = Ring { uring, enter_fd, always, asleep };
        if no_iowait {
            ring.asleep |= EnterFlags::NO_IOWAIT;
        }
        ring.register_descriptor();
        Ok(ring)
    }

    /// Queues a submission; if the queue is full, its entries are submitted first.
    ///
    /// # Safety
    /// Memory that the entry points to must be valid until its completion. Memory that the kernel
    /// copies when it takes the entry (addresses, message headers) must be valid until the next
    /// enter has returned.
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: as promised by the caller.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit(false)?;
        }
    }

    /// Queues a submission whose completion is ignored.
    ///
    /// # Safety
    /// As for [`push`](Ring::push).
    pub(super) unsafe fn push_quiet(&mut self, entry: squeue::Entry) -> io::Result<()> {
        let word = Token::pack(kind::QUIET, 0, 0);
        // SAFETY: as promised by the caller.
        unsafe { self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(word)) }
    }

    /// True if entries wait to be submitted.
    pub(super) fn has_submissions(&mut self) -> bool {
        !self.uring.submission().is_empty()
    }

    /// True if an enter would bring completions, as far as the ring's flags show it.
    pub(super) fn has_news(&mut self) -> bool {
        let submission = self.uring.submission();
        let needs_enter = submission.taskrun() || submission.cq_overflow();
        drop(submission);
        needs_enter || !self.uring.completion().is_empty()
    }

    /// Submits all entries; with `collect` the kernel also finishes pending completion work.
    pub(super) fn submit(&mut self, collect: bool) -> io::Result<()> {
        let flags = if collect { EnterFlags::GETEVENTS } else { EnterFlags::empty() };
        self.enter(flags, 0, &SubmitArgs::new())
    }

    /// Submits all entries and sleeps until there are `want` completions, or at most for the span
    /// if one is given.
    pub(super) fn sleep(&mut self, span_ns: Option<u64>, want: u32) -> io::Result<()> {
        let Some(ns) = span_ns else {
            return self.enter(self.asleep, want, &SubmitArgs::new());
        };
        self.enter(self.asleep, want, &SubmitArgs::new().timespec(&timespec(ns)))
    }

    /// Takes the completions out of the queue.
    pub(super) fn completions(&mut self) -> impl Iterator<Item = CompletionEntry> + '_ {
        self.uring.completion().map(|entry: cqueue::Entry| CompletionEntry {
            word: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        })
    }

    /// True if there are completions that found no room in the queue.
    pub(super) fn has_overflown(&mut self) -> bool {
        self.uring.submission().cq_overflow()
    }

    fn enter(&mut self, flags: EnterFlags, want: u32, args: &SubmitArgs<'_, '_>) -> io::Result<()> {
        let mut refusals = 0;
        loop {
            // The kernel's own count, not the result of the last enter: an enter that was
            // interrupted or timed out has still taken its entries.
            let entries = self.uring.submission().len() as u32;
            let result = self.call(entries, want, flags, args);
            let left = self.uring.submission().len();
            match result {
                Ok(()) if left == 0 => return Ok(()),
                Ok(()) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::ETIME | libc::EINTR) if left == 0 => return Ok(()),
                    Some(libc::ETIME | libc::EINTR) => {}
                    // No memory for a request: finishing others may free some.
                    Some(libc::EAGAIN | libc::EBUSY) if refusals < REFUSALS => {
                        refusals += 1;
                        let _ = self.call(0, 0, EnterFlags::GETEVENTS, &SubmitArgs::new());
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    fn call(
        &self,
        entries: u32,
        want: u32,
        flags: EnterFlags,
        args: &SubmitArgs<'_, '_>,
    ) -> io::Result<()> {
        let flags = flags | self.always;
        let (args, len) = if flags.contains(EnterFlags::EXT_ARG) {
            (ptr::from_ref(args), size_of::<SubmitArgs<'_, '_>>())
        } else {
            (ptr::null(), 0)
        };
        let fd = self.enter_fd;
        let flags = flags.bits();
        // SAFETY: the arguments live until the call returns; the entries are valid as promised to
        // `push`.
        let result =
            unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, entries, want, flags, args, len) };
        check(result as libc::c_int).map(drop)
    }

    /// Registers the ring's descriptor, which saves each enter its lookup. There are 16 such slots
    /// per thread, and older kernels have none; failure is harmless.
    fn register_descriptor(&mut self) {
        let mut update = Update { offset: u32::MAX, resv: 0, data: self.enter_fd as u64 };
        if self.register(REGISTER_RING_FDS, &mut update).is_ok() {
            self.enter_fd = update.offset.cast_signed();
            self.always = EnterFlags::REGISTERED_RING;
        }
    }

    fn register(&self, what: u32, update: &mut Update) -> io::Result<()> {
        let fd = self.uring.as_raw_fd();
        let update = ptr::from_mut(update);
        // SAFETY: the kernel reads and writes one update.
        let result = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, what, update, 1) };
        check(result as libc::c_int).map(drop)
    }
}

impl Drop for Ring {
    /// Unregisters the descriptor, which would keep the ring alive until the thread ends.
    fn drop(&mut self) {
        if self.always.contains(EnterFlags::REGISTERED_RING) {
            let offset = self.enter_fd.cast_unsigned();
            let _ = self.register(UNREGISTER_RING_FDS, &mut Update { offset, resv: 0, data: 0 });
        }
    }
}

const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// `struct io_uring_rsrc_update` of linux/io_uring.h.
#[repr(C)]
struct Update {
    offset: u32,
    resv: u32,
    data: u64,
}

/// Converts the descriptor in a completion's result.
pub(super) fn descriptor(result: i32) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    // SAFETY: the kernel has just made it for us, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Converts an instant or a span in nanoseconds to the kernel's format.
pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
}

#[cfg(test)]
mod tests {
    use io_uring::opcode;

    use super::*;
    use crate::time::Clock;

    /// Creates a ring; `None` on a machine without io_uring.
    fn ring() -> Option<Ring> {
        crate::Engine::Uring.probe().ok().map(|()| Ring::new(8, 16).expect("a ring"))
    }

    #[test]
    fn no_completion_is_lost_when_the_queue_overflows() {
        let Some(mut ring) = ring() else { return };
        for word in 0..1000 {
            let nop = opcode::Nop::new().build().user_data(word);
            // SAFETY: the entry points to nothing.
            unsafe { ring.push(&nop).expect("push") };
        }
        ring.submit(false).expect("submit");
        assert!(ring.has_overflown() && ring.has_news());
        let mut words: Vec<u64> = ring.completions().map(|done| done.word).collect();
        while ring.has_overflown() {
            ring.submit(true).expect("submit");
            words.extend(ring.completions().map(|done| done.word));
        }
        words.sort_unstable();
        assert!(words.into_iter().eq(0..1000));
    }

    #[test]
    fn a_sleep_does_not_end_early() {
        let clock = Clock::start();
        let Some(mut ring) = ring() else { return };
        for span_ns in [1, 1_000, 3_000_000] {
            let until = clock.now().after(span_ns);
            ring.sleep(Some(span_ns), 1).expect("sleep");
            assert!(clock.now() >= until);
        }
    }

    #[test]
    fn many_rings_are_small_ones() {
        #[track_caller]
        fn check(connections: u32, rings: u32, expected: (u32, u32)) {
            assert_eq!(sizes(connections, rings), expected, "{connections} on {rings} rings");
        }
        check(1, 1, (32, 128));
        check(100, 1, (128, 512));
        check(10_000, 1, (4096, 16_384));
        check(1_000_000, 8, (4096, 16_384));
        check(20_000, 50, (1024, 4096));
        check(1, 5_000, (32, 128));
        check(200, 5_000, (64, 256));
    }
}
