//! Turns of a thread on a CPU, and its waits for one, from its `schedstat` (the kernel's
//! Documentation/scheduler/sched-stats.rst).

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Counters of one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on a CPU, in nanoseconds.
    pub ran_ns: u64,
    /// Time runnable but not running, in nanoseconds.
    pub waited_ns: u64,
    /// Number of turns on a CPU that have begun. One ends with the thread or a preemption.
    pub slices: u64,
}

impl SchedStat {
    /// Parses /proc/PID/task/TID/schedstat.
    pub fn parse(schedstat: &str) -> Option<SchedStat> {
        let mut words = schedstat.split_ascii_whitespace().map(str::parse);
        let ran = words.next()?;
        let waited = words.next()?;
        let slices = words.next()?;
        Some(SchedStat { ran_ns: ran.ok()?, waited_ns: waited.ok()?, slices: slices.ok()? })
    }

    /// Returns the counters since an earlier reading.
    pub fn since(self, earlier: SchedStat) -> SchedStat {
        SchedStat {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            slices: self.slices.saturating_sub(earlier.slices),
        }
    }

    /// Returns the mean length of a turn, in nanoseconds. One that began before the span counts as
    /// one of it.
    pub fn mean_slice_ns(self) -> u64 {
        self.ran_ns / self.slices.max(1)
    }
}

/// The file of the thread that opened it, which the kernel makes anew at each reading.
#[derive(Debug)]
pub struct OwnSchedStat(Option<File>);

impl OwnSchedStat {
    /// Opens the file of the calling thread.
    pub fn open() -> OwnSchedStat {
        OwnSchedStat(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns the counters so far; `None` if the kernel does not report them.
    pub fn read(&self) -> Option<SchedStat> {
        // Three numbers of at most 20 digits.
        let mut text = [0; 64];
        let bytes = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        SchedStat::parse(std::str::from_utf8(&text[..bytes]).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_fields_are_parsed() {
        let expected = SchedStat { ran_ns: 123, waited_ns: 456, slices: 7 };
        assert_eq!(SchedStat::parse("123 456 7\n"), Some(expected));
        assert_eq!(SchedStat::parse("123 456\n"), None);
        assert_eq!(SchedStat::parse("123 x 7\n"), None);
        assert_eq!(SchedStat::parse(""), None);
    }

    #[test]
    fn a_turn_has_a_mean_length() {
        let span = SchedStat { ran_ns: 90, waited_ns: 1, slices: 4 }.since(SchedStat {
            ran_ns: 30,
            waited_ns: 2,
            slices: 1,
        });
        assert_eq!(span, SchedStat { ran_ns: 60, waited_ns: 0, slices: 3 });
        assert_eq!((span.mean_slice_ns(), SchedStat::default().mean_slice_ns()), (20, 0));
    }

    #[test]
    fn the_own_counters_are_known_always_or_never() {
        let own = OwnSchedStat::open();
        let first = own.read();
        let second = own.read();
        assert_eq!(first.is_some(), second.is_some());
        assert!(first.zip(second).is_none_or(|(first, second)| second.ran_ns >= first.ran_ns));
    }
}
