//! Spans in which a process is stopped, as by SIGSTOP: pure arithmetic on instants.

use weir_io::Nanos;

/// A span `[from, until)` in which a process does not run; the kernel under it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pause {
    /// Begin of the pause.
    pub from: Nanos,
    /// End of the pause, exclusive.
    pub until: Nanos,
}

impl Pause {
    /// Returns a pause of `span_ns` that begins at `from`.
    pub fn new(from: Nanos, span_ns: u64) -> Pause {
        Pause { from, until: from.after(span_ns) }
    }
}

/// All pauses of one process, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    sorted: Vec<Pause>,
}

impl Pauses {
    /// Returns the pauses in order; they may be given in any order and may overlap.
    pub(crate) fn new(pauses: &[Pause]) -> Pauses {
        let mut sorted = pauses.to_vec();
        sorted.sort_unstable();
        Pauses { sorted }
    }

    /// Returns the first instant at or after `at` at which the process runs.
    pub(crate) fn resume(&self, at: Nanos) -> Nanos {
        let stopped = |at: Nanos, pause: &Pause| at >= pause.from && at < pause.until;
        self.sorted.iter().fold(at, |at, pause| if stopped(at, pause) { pause.until } else { at })
    }

    /// Returns the end of `work_ns` of work begun at `from`. Work stops during a pause. Work that
    /// is done in the instant in which a pause begins is done.
    pub(crate) fn finish(&self, from: Nanos, work_ns: u64) -> Nanos {
        let mut at = self.resume(from);
        let mut left_ns = work_ns;
        for pause in &self.sorted {
            if pause.until <= at {
                continue;
            }
            if at.after(left_ns) <= pause.from {
                break;
            }
            left_ns -= pause.from.since(at);
            at = pause.until;
        }
        at.after(left_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stands_still_in_a_pause() {
        let pauses = Pauses::new(&[Pause::new(Nanos(200), 50), Pause::new(Nanos(100), 20)]);
        let check = |from: u64, work_ns: u64, end: u64| {
            assert_eq!(pauses.finish(Nanos(from), work_ns), Nanos(end), "{from} + {work_ns}");
        };
        check(0, 50, 50);
        check(50, 50, 100);
        check(50, 51, 121);
        check(100, 10, 130);
        check(110, 0, 120);
        check(119, 10, 130);
        check(120, 10, 130);
        check(0, 1_000, 1_070);
        check(250, 10, 260);
        assert_eq!(pauses.resume(Nanos(99)), Nanos(99));
        assert_eq!(pauses.resume(Nanos(100)), Nanos(120));
        assert_eq!(pauses.resume(Nanos(120)), Nanos(120));
    }

    #[test]
    fn overlapping_pauses_count_once() {
        let pauses = Pauses::new(&[Pause::new(Nanos(100), 50), Pause::new(Nanos(120), 50)]);
        assert_eq!(pauses.finish(Nanos(90), 20), Nanos(180));
        assert_eq!(pauses.resume(Nanos(110)), Nanos(170));
    }
}
