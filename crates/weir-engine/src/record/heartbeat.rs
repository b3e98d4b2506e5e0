//! Stops of the whole program, found by a heartbeat: something that only sleeps, and records how
//! late it woke. Nothing here sleeps or reads a clock, so that it serves in virtual time too.

use weir_io::Nanos;
use weir_result::{Measurements, Stops};

/// Length of one sleep, in nanoseconds. A stop of twice the length is late for at least one sleep
/// by that length; 400 wake-ups per second take 0.3% of one CPU.
pub const BEAT_NS: u64 = 2_500_000;

/// Least length of a stop, in nanoseconds. A timer alone is never so late.
const STOP_NS: u64 = 2_000_000;

/// The same where the kernel does not report the time for which the heartbeat's thread waited for
/// a CPU: shorter ones are scheduling on a busy machine.
const LONG_STOP_NS: u64 = 10_000_000;

/// Most stops that are kept; of more the shortest are dropped.
const STOPS_MAX: usize = 4_096;

/// The beats of a run.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat {
    stops: Vec<Stop>,
    /// The longest lateness inside the window, in nanoseconds, whatever its cause.
    pub gap_max_ns: u64,
    /// Start of that lateness, in nanoseconds from t0.
    pub gap_at_ns: u64,
}

/// A span `[from, until)` in which the program did not run. It may have begun up to one sleep
/// earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    from: Nanos,
    until: Nanos,
}

impl Heartbeat {
    /// Records a beat that was due at `due_at` and came at `woken_at`, in a run with this window,
    /// if it is set. Its thread was runnable but not running for `waited_ns` of that time; `None`
    /// if the kernel does not report it.
    pub fn beat(
        &mut self,
        due_at: Nanos,
        woken_at: Nanos,
        waited_ns: Option<u64>,
        window: Option<(Nanos, Nanos)>,
    ) {
        let least_ns = if waited_ns.is_some() { STOP_NS } else { LONG_STOP_NS };
        // A thread that is continued waits for a CPU afterwards.
        let stop = Stop { from: due_at, until: woken_at.before(waited_ns.unwrap_or(0)) };
        if stop.ns() > least_ns {
            self.keep(stop);
        }
        let Some((t0, t1)) = window else { return };
        let gap_ns = Stop { from: due_at, until: woken_at }.within(t0, t1);
        if gap_ns > self.gap_max_ns {
            (self.gap_max_ns, self.gap_at_ns) = (gap_ns, due_at.max(t0).since(t0));
        }
    }

    #[cold]
    fn keep(&mut self, stop: Stop) {
        if self.stops.len() >= STOPS_MAX {
            let shortest = (0..self.stops.len()).min_by_key(|index| self.stops[*index].ns());
            shortest.map(|index| self.stops.remove(index));
        }
        self.stops.push(stop);
    }

    /// Returns the stops that could delay requests of the window: those between t0 and the time at
    /// which the last of these requests was resolved, and in the warm-up those whose backlog
    /// reached the window.
    pub fn stops(&self, measured: &Measurements) -> Stops {
        let Some(span) = StopSpan::of(measured) else { return Stops::default() };
        let touching = || self.stops.iter().filter(|stop| stop.within(span.from, span.until) > 0);
        let sum = |from, until| touching().map(|stop| stop.within(from, until)).sum();
        // Of equal ones the first.
        let longest = touching().rev().max_by_key(|stop| stop.ns());
        Stops {
            count: u32::try_from(touching().count()).unwrap_or(u32::MAX),
            longest_ns: longest.map_or(0, |stop| stop.ns()),
            longest_at_ns: longest.map_or(0, |stop| offset_ns(span.t0, stop.from)),
            effective_ns: sum(span.from, span.until),
            window_ns: sum(span.t0, span.t1),
        }
    }
}

impl Stop {
    fn ns(&self) -> u64 {
        self.until.since(self.from)
    }

    /// The part of the stop in `[from, until)`, in nanoseconds.
    fn within(&self, from: Nanos, until: Nanos) -> u64 {
        self.until.min(until).since(self.from.max(from))
    }
}

/// The window, and the longer span in which a stop delays its requests.
#[derive(Clone, Copy, Debug)]
struct StopSpan {
    from: Nanos,
    t0: Nanos,
    t1: Nanos,
    until: Nanos,
}

impl StopSpan {
    /// Returns the span over all workers; `None` if there is none.
    fn of(measured: &Measurements) -> Option<StopSpan> {
        let workers = || measured.workers.iter();
        let t0 = Nanos(workers().map(|phases| phases.window_ns.0).min()?);
        let t1 = Nanos(workers().map(|phases| phases.window_ns.1).max()?);
        let resolved = Nanos(workers().map(|phases| phases.resolved_ns).max()?);
        let carried_ns = workers().map(|phases| phases.usage.carried_ns).max()?;
        Some(StopSpan { from: t0.before(carried_ns), t0, t1, until: resolved.max(t1) })
    }
}

/// Returns the offset of `at` from `t0`, in nanoseconds, negative before it.
fn offset_ns(t0: Nanos, at: Nanos) -> i64 {
    let ns = i128::from(at.0) - i128::from(t0.0);
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use weir_result::{WorkerPhases, WorkerUsage};

    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Nanos {
        Nanos(ms * MS)
    }

    /// A run with the window from 1,000 to 2,000 ms whose last request was resolved at 2,100 ms.
    fn measured(carried_ms: u64) -> Measurements {
        let usage = WorkerUsage { carried_ns: carried_ms * MS, ..WorkerUsage::default() };
        let phases = WorkerPhases {
            window_ns: (1_000 * MS, 2_000 * MS),
            resolved_ns: 2_100 * MS,
            usage,
            ..WorkerPhases::default()
        };
        Measurements { workers: vec![phases], ..Measurements::default() }
    }

    fn stops(beats: &[(u64, u64)], carried_ms: u64) -> Stops {
        let mut heartbeat = Heartbeat::default();
        for (due_ms, woken_ms) in beats {
            heartbeat.beat(at(*due_ms), at(*woken_ms), Some(0), None);
        }
        heartbeat.stops(&measured(carried_ms))
    }

    #[test]
    fn stops_count_where_they_can_delay_the_window() {
        let check = |beat, carried_ms, expected: Option<(i64, u64, u64)>| {
            let found = stops(&[beat], carried_ms);
            let (at_ms, effective, window) = expected.unwrap_or_default();
            let ms = MS as i64;
            assert_eq!(found.count, u32::from(expected.is_some()), "{beat:?}: {found:?}");
            assert_eq!(found.longest_at_ns, at_ms * ms, "{beat:?}");
            assert_eq!((found.effective_ns, found.window_ns), (effective * MS, window * MS));
        };
        check((1_100, 1_102), 0, None);
        check((1_100, 1_103), 0, Some((100, 3, 3)));
        check((500, 999), 0, None);
        check((500, 999), 450, Some((-500, 449, 0)));
        check((500, 3_000), 0, Some((-500, 1_100, 1_000)));
        check((1_900, 2_050), 0, Some((900, 150, 100)));
        check((2_010, 2_050), 0, Some((1_010, 40, 0)));
        check((2_100, 2_200), 0, None);
    }

    #[test]
    fn all_of_them_count() {
        let found = stops(&[(900, 990), (1_100, 1_150), (1_400, 1_600), (1_900, 2_000)], 0);
        let longest_at_ns = 400 * MS as i64;
        let count = 3;
        let longest_ns = 200 * MS;
        let sum = 350 * MS;
        let expected =
            Stops { count, longest_ns, longest_at_ns, effective_ns: sum, window_ns: sum };
        assert_eq!(found, expected);
    }

    #[test]
    fn waiting_for_a_cpu_is_no_stop() {
        let longest_ms = |late_ms: u64, waited_ms: Option<u64>| {
            let mut heartbeat = Heartbeat::default();
            let waited_ns = waited_ms.map(|ms| ms * MS);
            heartbeat.beat(at(1_100), at(1_100 + late_ms), waited_ns, None);
            heartbeat.stops(&measured(0)).longest_ns / MS
        };
        assert_eq!([7, 2, 9].map(|waited_ms| longest_ms(8, Some(waited_ms))), [0, 6, 0]);
        assert_eq!([8, 11].map(|late_ms| longest_ms(late_ms, None)), [0, 11]);
    }

    #[test]
    fn of_too_many_the_shortest_are_dropped() {
        let mut heartbeat = Heartbeat::default();
        for beat in 0..=STOPS_MAX as u64 {
            let late_ms = if beat == 7 { 3 } else { 5 };
            heartbeat.beat(at(10 * beat), at(10 * beat + late_ms), Some(0), None);
        }
        assert_eq!(heartbeat.stops.len(), STOPS_MAX);
        assert!(heartbeat.stops.iter().all(|stop| stop.ns() == 5 * MS));
    }

    #[test]
    fn the_longest_lateness_inside_the_window_is_kept() {
        let check = |beats: &[(u64, u64)], expected: (u64, u64)| {
            let mut heartbeat = Heartbeat::default();
            for (due_at, woken_at) in beats {
                let window = Some((Nanos(1000), Nanos(2000)));
                heartbeat.beat(Nanos(*due_at), Nanos(*woken_at), None, window);
            }
            assert_eq!((heartbeat.gap_max_ns, heartbeat.gap_at_ns), expected, "{beats:?}");
        };
        check(&[(1100, 1100)], (0, 0));
        check(&[(1100, 1150)], (50, 100));
        check(&[(500, 900)], (0, 0));
        check(&[(500, 1200)], (200, 0));
        check(&[(1900, 2500)], (100, 900));
        check(&[(500, 2500)], (1000, 0));
        check(&[(2100, 2500)], (0, 0));
        check(&[(1010, 1012), (1020, 1029), (1030, 1031), (1040, 1049)], (9, 20));
    }
}
