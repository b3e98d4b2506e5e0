//! CPU contention, detected by a spinning thread, which then sleeps instead (METHOD 1.8).
//! Independent of sockets and events.

use weir_machine::{RunnableThreads, sys};

use crate::time::Nanos;

/// Interval between two counts of the runnable threads. One takes about 1 µs.
const SAMPLE_EVERY_NS: u64 = 1_000_000;

/// Shortest wait that may be delayed by a reading, in nanoseconds.
const SAMPLE_WITHIN_NS: u64 = 10_000;

/// Duration of a spin iteration, in nanoseconds, above which another thread has run.
const YIELDED_NS: u64 = 20_000;

/// Score from which a thread sleeps instead of spinning.
const CONTENDED: u32 = 4;

/// The highest score: as many calm samples less [`CONTENDED`] end the contention.
const SCORE_MAX: u32 = 8;

/// Weight of a yield to another thread, relative to a sample.
const YIELD_WEIGHT: u32 = 2;

/// Evidence of one thread that runnable threads outnumber CPUs. It is collected while the thread
/// spins and costs nothing while it sleeps. No file is opened before the first spin.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    threads: Option<RunnableThreads>,
    /// CPUs online, over which the kernel counts runnable threads.
    cpus: u32,
    /// Contention score: rises with each piece of evidence and falls with each calm sample.
    score: u32,
    sample_at: Nanos,
}

impl Contention {
    /// True if a wait until `until` should not spin.
    #[inline]
    pub(crate) fn is_present(&mut self, now: Nanos, until: Nanos) -> bool {
        if now >= self.sample_at && until.since(now) > SAMPLE_WITHIN_NS {
            self.sample_at = now.after(SAMPLE_EVERY_NS);
            let is_crowded = self.runnable() > self.cpus;
            self.sampled(is_crowded);
        }
        self.score >= CONTENDED
    }

    /// Takes no samples until `until`: the threads that run meanwhile are the program's own.
    pub(crate) fn pause(&mut self, until: Nanos) {
        self.sample_at = self.sample_at.max(until);
    }

    /// Records the duration of one spin iteration, its yield included.
    #[inline]
    pub(crate) fn spun(&mut self, span_ns: u64) {
        if span_ns > YIELDED_NS {
            self.score = (self.score + YIELD_WEIGHT).min(SCORE_MAX);
        }
    }

    fn sampled(&mut self, is_crowded: bool) {
        self.score = match is_crowded {
            true => (self.score + 1).min(SCORE_MAX),
            false => self.score.saturating_sub(1),
        };
    }

    /// Returns the number of runnable threads on the machine, this one included; 0 if unknown.
    fn runnable(&mut self) -> u32 {
        let threads = self.threads.get_or_insert_with(|| {
            self.cpus = sys::online_cpus();
            RunnableThreads::open()
        });
        threads.count().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evidence without samples of this machine.
    fn unsampled() -> Contention {
        Contention { sample_at: Nanos::MAX, ..Contention::default() }
    }

    fn is_present(contention: &mut Contention) -> bool {
        contention.is_present(Nanos(5), Nanos(1_000_000))
    }

    #[test]
    fn runnable_threads_are_read() {
        let mut contention = Contention::default();
        let runnable = contention.runnable();
        assert!(runnable >= 1 && contention.cpus >= 1, "{contention:?}");
    }

    #[test]
    fn a_pause_takes_no_samples() {
        let mut contention = Contention::default();
        contention.pause(Nanos(500));
        assert!(!contention.is_present(Nanos(499), Nanos::MAX) && contention.threads.is_none());
        contention.is_present(Nanos(500), Nanos::MAX);
        assert!(contention.threads.is_some(), "{contention:?}");
    }

    #[test]
    fn one_crowded_moment_is_no_contention() {
        let mut contention = unsampled();
        for _ in 0..100 {
            contention.sampled(true);
            contention.sampled(false);
        }
        contention.spun(YIELDED_NS + 1);
        assert!(!is_present(&mut contention));
    }

    #[test]
    fn contention_ends_once_it_has_been_calm() {
        let mut contention = unsampled();
        (0..3).for_each(|_| contention.sampled(true));
        assert!(!is_present(&mut contention));
        (0..100).for_each(|_| contention.sampled(true));
        assert!(is_present(&mut contention));
        (0..4).for_each(|_| contention.sampled(false));
        assert!(is_present(&mut contention));
        contention.sampled(false);
        assert!(!is_present(&mut contention));
    }

    #[test]
    fn two_yields_to_others_are_contention() {
        let mut contention = unsampled();
        contention.spun(YIELDED_NS);
        contention.spun(YIELDED_NS);
        assert!(!is_present(&mut contention));
        contention.spun(YIELDED_NS + 1);
        contention.spun(3_000_000);
        assert!(is_present(&mut contention));
    }

    #[test]
    fn a_sample_is_taken_once_a_millisecond_and_never_in_a_short_wait() {
        let mut contention = Contention::default();
        contention.is_present(Nanos(0), Nanos(SAMPLE_WITHIN_NS));
        assert_eq!(contention.sample_at, Nanos::ZERO);
        contention.is_present(Nanos(7), Nanos::MAX);
        assert_eq!(contention.sample_at, Nanos(7 + SAMPLE_EVERY_NS));
        contention.is_present(Nanos(8), Nanos::MAX);
        assert_eq!(contention.sample_at, Nanos(7 + SAMPLE_EVERY_NS));
    }
}
