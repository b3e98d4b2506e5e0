//! CPU usage of a worker thread, the share spent polling without an event, and the decision to
//! sleep instead of polling.

use std::thread;

use weir_machine::OwnSchedStat;
use weir_machine::sys::thread_cpu_ns;

use crate::backend::{ThreadUsage, WaitPolicy};
use crate::contention::Contention;
use crate::time::Nanos;

/// Most that one empty poll counts, in nanoseconds. Anything longer was not polling: another thread
/// had the CPU. Counting it would make the thread seem less busy than it was.
const LOOK_NS: u64 = 20_000;

/// Shortest remaining wait in which to yield, in nanoseconds: a yield costs a fraction of a
/// microsecond.
const NO_YIELD_NS: u64 = 2_000;

/// Time spent in polls that found nothing. The time between two polls is not counted. It is a few
/// percent of the total, and the error makes the thread seem busier.
#[derive(Debug, Default)]
pub(crate) struct Spinning {
    spun_ns: u64,
    contention: Contention,
    /// Time until which the thread does not yield.
    kept_until: Nanos,
}

impl Spinning {
    /// Counts a poll that started at `from` and had found nothing at `now`.
    #[inline]
    pub(crate) fn looked_in_vain(&mut self, from: Nanos, now: Nanos) {
        let span_ns = now.since(from);
        self.spun_ns += span_ns.min(LOOK_NS);
        self.contention.spun(span_ns);
    }

    /// Returns the policy for a wait from `now` to `until`: sleeping replaces spinning under
    /// contention.
    #[inline]
    pub(crate) fn temper(&mut self, now: Nanos, until: Nanos, policy: WaitPolicy) -> WaitPolicy {
        match policy {
            WaitPolicy::Sleep | WaitPolicy::Gather { .. } => policy,
            _ if self.is_contended(now, until) => WaitPolicy::Sleep,
            _ => policy,
        }
    }

    /// True if a wait until `until` should sleep, because other threads need this CPU.
    #[inline]
    pub(crate) fn is_contended(&mut self, now: Nanos, until: Nanos) -> bool {
        self.contention.is_present(now, until)
    }

    /// Yields the CPU to another runnable thread (sched_yield(2)), unless `until` is near or the
    /// CPU is kept. Returns at once if there is none.
    #[inline]
    pub(crate) fn give_way(&self, now: Nanos, until: Nanos) {
        if until.since(now) > NO_YIELD_NS && now >= self.kept_until {
            thread::yield_now();
        }
    }

    /// Keeps the CPU until `until`, in waits that spin. A thread that yields stays runnable, so
    /// that it does not take the CPU back by waking up: even a thread of `SCHED_IDLE` would then
    /// run to the end of its time slice.
    pub(crate) fn keep_cpu(&mut self, until: Nanos) {
        self.kept_until = until;
        self.contention.pause(until);
    }

    /// Returns the calling thread's CPU time so far, less the time spent polling in vain.
    pub(crate) fn busy_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.spun_ns)
    }

    /// Returns the calling thread's usage so far.
    pub(crate) fn usage(&self) -> ThreadUsage {
        ThreadUsage {
            cpu_ns: thread_cpu_ns(),
            spun_ns: self.spun_ns,
            run_delay_ns: OwnSchedStat::open().read().map(|times| times.waited_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_look_counts_with_what_a_look_may_take() {
        let mut spinning = Spinning::default();
        spinning.looked_in_vain(Nanos(1_000), Nanos(1_400));
        spinning.looked_in_vain(Nanos(2_000), Nanos(9_002_000));
        assert_eq!(spinning.usage().spun_ns, 400 + LOOK_NS);
    }

    #[test]
    fn under_contention_nothing_spins() {
        let mut spinning = Spinning::default();
        let policy = |spinning: &mut Spinning, policy| spinning.temper(Nanos(5), Nanos(9), policy);
        let attentive = WaitPolicy::Attentive { awake_until: Nanos(9) };
        for spins in [WaitPolicy::Spin, WaitPolicy::Hybrid, attentive] {
            assert_eq!(policy(&mut spinning, spins), spins);
        }
        // Another thread had the CPU twice.
        spinning.looked_in_vain(Nanos(0), Nanos(3_000_000));
        assert_eq!(policy(&mut spinning, WaitPolicy::Spin), WaitPolicy::Spin);
        spinning.looked_in_vain(Nanos(0), Nanos(3_000_000));
        for spins in [WaitPolicy::Spin, WaitPolicy::Hybrid, attentive] {
            assert_eq!(policy(&mut spinning, spins), WaitPolicy::Sleep);
        }
        let gather = WaitPolicy::Gather { events: 2, within_ns: 1 };
        assert_eq!(policy(&mut spinning, gather), gather);
    }

    #[test]
    fn the_thread_is_this_one() {
        let spinning = Spinning::default();
        let before = spinning.usage();
        let mut sum = 0u64;
        while spinning.usage().cpu_ns < before.cpu_ns + 1_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(spinning.usage().run_delay_ns >= before.run_delay_ns);
    }
}
