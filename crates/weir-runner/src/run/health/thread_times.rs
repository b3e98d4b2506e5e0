//! The time for which the calling thread ran, and for which it was runnable but not running, as the
//! kernel counts them: neither is a stop, although the thread wakes late.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The calling thread's `schedstat`, which the kernel makes anew at each reading.
#[derive(Debug)]
pub(super) struct ThreadTimes {
    file: Option<File>,
    last: Option<Times>,
}

/// Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Time on a CPU.
    pub(super) ran_ns: u64,
    /// Time waiting on a run queue.
    pub(super) waited_ns: u64,
}

impl ThreadTimes {
    /// Opens the file of the calling thread.
    pub(super) fn new() -> ThreadTimes {
        let file = File::open("/proc/thread-self/schedstat").ok();
        let last = file.as_ref().and_then(read);
        ThreadTimes { file, last }
    }

    /// Returns the times since the last call, or since the start; `None` if the kernel does not
    /// report them.
    pub(super) fn since_last(&mut self) -> Option<Times> {
        let now = self.file.as_ref().and_then(read);
        let since = now.zip(self.last).map(|(now, last)| Times {
            ran_ns: now.ran_ns.saturating_sub(last.ran_ns),
            waited_ns: now.waited_ns.saturating_sub(last.waited_ns),
        });
        self.last = now;
        since
    }
}

fn read(file: &File) -> Option<Times> {
    // Three numbers of at most 20 digits.
    let mut text = [0; 64];
    let bytes = file.read_at(&mut text, 0).ok()?;
    parse(std::str::from_utf8(&text[..bytes]).ok()?)
}

/// Parses the first two fields (the kernel's Documentation/scheduler/sched-stats.rst).
fn parse(schedstat: &str) -> Option<Times> {
    let mut fields = schedstat.split_ascii_whitespace().map(str::parse);
    Some(Times { ran_ns: fields.next()?.ok()?, waited_ns: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_fields_are_parsed() {
        assert_eq!(parse("123 456 7\n"), Some(Times { ran_ns: 123, waited_ns: 456 }));
        assert_eq!(parse("123\n"), None);
        assert_eq!(parse("1 x 2"), None);
    }

    #[test]
    fn times_are_known_always_or_never() {
        let mut times = ThreadTimes::new();
        let first = times.since_last();
        assert_eq!(first.is_some(), times.since_last().is_some());
    }
}
