//! What a thread has taken and lost, and how much of it went into looking for nothing.

use std::fs;

use crate::time::thread_cpu_ns;
use crate::{Nanos, ThreadUsage};

/// The most that one look in vain counts with. What took longer was no looking: something else had
/// the processor meanwhile, and counting that would make the thread seem less busy than it was.
const LOOK_NS: u64 = 20_000;

/// The time spent in looks that found nothing. What lies between two of them is left out, a few
/// hundredths of it, which errs on the side of a busy thread.
#[derive(Debug, Default)]
pub(crate) struct Spinning {
    spun_ns: u64,
}

impl Spinning {
    /// Counts a look that began at `from` and had found nothing at `now`.
    #[inline]
    pub(crate) fn looked_in_vain(&mut self, from: Nanos, now: Nanos) {
        self.spun_ns += now.since(from).min(LOOK_NS);
    }

    /// What the calling thread has taken so far.
    pub(crate) fn usage(&self) -> ThreadUsage {
        ThreadUsage {
            cpu_ns: thread_cpu_ns(),
            spun_ns: self.spun_ns,
            run_delay_ns: fs::read_to_string("/proc/thread-self/schedstat")
                .ok()
                .and_then(|text| run_delay_ns(&text)),
        }
    }
}

/// The second field of schedstat: the time spent waiting on a run queue (the kernel's
/// Documentation/scheduler/sched-stats.rst).
fn run_delay_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_field_is_the_delay() {
        assert_eq!(run_delay_ns("123 456 7\n"), Some(456));
        assert_eq!(run_delay_ns("123\n"), None);
        assert_eq!(run_delay_ns(""), None);
        assert_eq!(run_delay_ns("1 x 2"), None);
    }

    #[test]
    fn an_interrupted_look_counts_with_what_a_look_may_take() {
        let mut spinning = Spinning::default();
        spinning.looked_in_vain(Nanos(1_000), Nanos(1_400));
        spinning.looked_in_vain(Nanos(2_000), Nanos(9_002_000));
        assert_eq!(spinning.usage().spun_ns, 400 + LOOK_NS);
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
