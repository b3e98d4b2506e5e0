//! CPU time and stalls of the worker's thread inside the window: time on the CPU, time runnable but
//! not running, and the longest stretch in which it could not act (METHOD 1.9).

use weir_io::{Nanos, ThreadUsage};
use weir_result::WorkerUsage;

use crate::wait::WakeUps;

/// One worker's CPU time and stalls.
#[derive(Debug, Default)]
pub(crate) struct ThreadStalls {
    gap_max_ns: u64,
    gap_at: Nanos,
    t0: Nanos,
    at_t0: (ThreadUsage, WakeUps),
    usage: WorkerUsage,
}

impl ThreadStalls {
    /// Records a turn that ended at `end`. It had begun to wait at `from`, had to wake at `until`
    /// at the latest, and had something to handle from `woken` on. A wait that overran counts if a
    /// slot or a deadline was due. If a response ended it, the time of its arrival is unknown, and
    /// the wait does not count.
    #[inline]
    pub(crate) fn turn(&mut self, from: Nanos, until: Nanos, woken: Nanos, end: Nanos) {
        let should_act = until.min(woken).max(from);
        let gap_ns = end.since(should_act);
        if gap_ns > self.gap_max_ns {
            self.longer(should_act, gap_ns);
        }
    }

    #[cold]
    fn longer(&mut self, at: Nanos, gap_ns: u64) {
        (self.gap_max_ns, self.gap_at) = (gap_ns, at);
    }

    /// Begins the window, planned for `t0`, at `now`. `usage` is the thread's usage so far and
    /// `seen` the work done for it. Of earlier turns only the last one counts, from t0 on: it had
    /// to wake then.
    pub(crate) fn begin(&mut self, t0: Nanos, now: Nanos, usage: ThreadUsage, seen: WakeUps) {
        let gap_max_ns = now.since(t0);
        let gap_at = t0;
        let at_t0 = (usage, seen);
        *self = ThreadStalls { gap_max_ns, gap_at, t0, at_t0, ..ThreadStalls::default() };
    }

    /// Ends the window, which took `wall_ns` nanoseconds as this worker saw it, and fixes the
    /// thread's usage in it.
    pub(crate) fn end(&mut self, wall_ns: u64, usage: ThreadUsage, seen: WakeUps) {
        let (before, seen_before) = self.at_t0;
        let run_delay = usage.run_delay_ns.zip(before.run_delay_ns);
        self.usage = WorkerUsage {
            wall_ns,
            cpu_ns: usage.cpu_ns.saturating_sub(before.cpu_ns),
            spun_ns: usage.spun_ns.saturating_sub(before.spun_ns),
            wakes: seen.wakes - seen_before.wakes,
            events: seen.events - seen_before.events,
            run_delay_ns: run_delay.map(|(now, before)| now.saturating_sub(before)),
            ..WorkerUsage::default()
        };
    }

    /// Returns the thread's usage in the window, with the longest stretch of all turns since its
    /// begin: in the drain a stop delays the responses that the window still awaits.
    pub(crate) fn usage(&self) -> WorkerUsage {
        let gap_max_ns = self.gap_max_ns;
        let gap_at_ns = self.gap_at.since(self.t0);
        WorkerUsage { gap_max_ns, gap_at_ns, ..self.usage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(from: u64, until: u64, woken: u64, end: u64) -> u64 {
        let mut stalls = ThreadStalls::default();
        stalls.turn(Nanos(from), Nanos(until), Nanos(woken), Nanos(end));
        stalls.gap_max_ns
    }

    #[test]
    fn only_what_could_have_been_used_is_lost() {
        assert_eq!(gap(100, 500, 300, 310), 10, "a response woke it");
        assert_eq!(gap(100, 500, 900, 910), 410, "it overslept");
        assert_eq!(gap(100, 50, 900, 910), 810, "it should not have slept at all");
        assert_eq!(gap(100, 500, 501, 502), 2);
    }

    #[test]
    fn the_longest_is_kept_and_where_it_began() {
        let mut stalls = ThreadStalls::default();
        stalls.turn(Nanos(0), Nanos(10), Nanos(90), Nanos(95));
        let usage = |cpu_ns, run_delay_ns| ThreadUsage { cpu_ns, spun_ns: 0, run_delay_ns };
        stalls.begin(Nanos(100), Nanos(110), usage(5, Some(3)), WakeUps { wakes: 1, events: 2 });
        assert_eq!((stalls.usage().gap_max_ns, stalls.usage().gap_at_ns), (10, 0));
        stalls.turn(Nanos(200), Nanos(300), Nanos(350), Nanos(360));
        stalls.turn(Nanos(400), Nanos(500), Nanos(500), Nanos(501));
        stalls.end(800, usage(55, Some(10)), WakeUps { wakes: 4, events: 9 });
        let usage = stalls.usage();
        assert_eq!((usage.gap_max_ns, usage.gap_at_ns), (60, 200));
        assert_eq!((usage.wall_ns, usage.cpu_ns, usage.run_delay_ns), (800, 50, Some(7)));
        assert_eq!((usage.wakes, usage.events), (3, 7));
        stalls.turn(Nanos(910), Nanos(920), Nanos(1000), Nanos(1000));
        assert_eq!((stalls.usage().gap_max_ns, stalls.usage().cpu_ns), (80, 50), "in the drain");
    }
}
