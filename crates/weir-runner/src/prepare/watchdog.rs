//! Watchdog for script calls outside the load: it reports one that never returns, as a
//! compiled Lua loop cannot be interrupted. During the load the engine watches the callbacks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_io::Clock;
use weir_machine::{Memory, Root, sys};
use weir_script::{Call, Calling, ScriptError};

use crate::background::{Beside, End};
use crate::errors::shown;

/// Longest time without progress.
const PATIENCE: Duration = Duration::from_secs(10);

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Least CPU time of a loop within the patience. A call that uses less is blocked, for example on
/// input or on another program.
const BUSY: Duration = Duration::from_millis(100);

/// A thread that polls the current script call until this is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog(Option<Beside<()>>);

/// The function that is called, from another thread, with a call that never returns. By default
/// nothing happens, and the run never ends.
pub(crate) type OnStuck = Option<fn(&ScriptError)>;

impl Watchdog {
    /// Watches the main thread's calls. If no thread can be started, nothing is watched.
    pub(crate) fn start(calling: &Arc<Calling>, file: &Path, on_stuck: &OnStuck) -> Watchdog {
        let calling = Arc::clone(calling);
        let on_stuck = *on_stuck;
        let file = shown(file);
        let thread = Beside::start("weir-watchdog", move |end| {
            if let (Some(callback), Some(on_stuck)) = (await_endless(&calling, &end), on_stuck) {
                let seconds = PATIENCE.as_secs();
                let message =
                    format!("{file}: has not returned for {seconds} s: is it an endless loop?");
                on_stuck(&ScriptError { callback, message });
            }
        });
        Watchdog(thread.ok())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _panicked = self.0.take().and_then(Beside::finish);
    }
}

/// An observation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallSeen {
    call: Call,
    /// Bytes read and written by the main thread so far.
    moved_bytes: u64,
    /// Peak resident memory in MiB.
    memory_mib: u64,
    /// CPU time of the process.
    cpu: Duration,
    /// Time since the watchdog was started.
    at: Duration,
}

impl CallSeen {
    fn now(call: Call, at: Duration) -> CallSeen {
        let process = std::process::id();
        let root = Root::machine();
        let counters = root.text(&format!("proc/self/task/{process}/io"));
        let counters = counters.unwrap_or_default();
        let values = counters.lines().filter_map(|line| line.split_once("char: "));
        let moved_bytes = values.filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum();
        let memory_mib = Memory::of_this_process(&root).map_or(0, |memory| memory.peak_bytes >> 20);
        let cpu = sys::process_cpu_time().unwrap_or_default().total();
        CallSeen { call, moved_bytes, memory_mib, cpu, at }
    }

    /// True if this is another call than `before`, or the call made progress or is blocked.
    fn is_alive(&self, before: &CallSeen) -> bool {
        let is_waiting = self.cpu.saturating_sub(before.cpu) < BUSY;
        let traces = |seen: &CallSeen| (seen.call, seen.moved_bytes, seen.memory_mib);
        let is_same = traces(self) == traces(before);
        !is_same || (self.lasts(before) && is_waiting)
    }

    /// True if the patience has elapsed since `before`.
    fn lasts(&self, before: &CallSeen) -> bool {
        self.at.saturating_sub(before.at) >= PATIENCE
    }
}

/// Waits until a call loops without progress and returns it, or `None` at the end of the watch.
fn await_endless(calling: &Calling, end: &End) -> Option<&'static str> {
    let clock = Clock::start();
    let mut before: Option<CallSeen> = None;
    loop {
        end.sleep_until(clock, clock.now() + LOOK_EVERY);
        if end.has_come() {
            return None;
        }
        let call = calling.now();
        let Some(callback) = call.callback else { continue };
        let now = CallSeen::now(call, Duration::from_nanos(clock.now().0));
        match &before {
            Some(before) if !now.is_alive(before) => {
                if now.lasts(before) {
                    return Some(callback);
                }
            }
            _ => before = Some(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u64, moved_bytes: u64, cpu_ms: u64, at_s: u64) -> CallSeen {
        CallSeen {
            call: Call { number, callback: Some("init") },
            moved_bytes,
            memory_mib: 20,
            cpu: Duration::from_millis(cpu_ms),
            at: Duration::from_secs(at_s),
        }
    }

    #[test]
    fn a_call_that_computes_and_does_nothing_else_is_endless() {
        let before = seen(1, 100, 0, 1);
        for (now, is_alive) in [
            (seen(1, 100, 9_000, 10), false),
            (seen(1, 100, 9_000, 11), false),
            (seen(1, 100, 150, 11), false),
            // Another call, I/O, and a blocked call.
            (seen(2, 100, 9_000, 11), true),
            (seen(1, 101, 9_000, 11), true),
            (seen(1, 100, 50, 11), true),
        ] {
            assert_eq!(now.is_alive(&before), is_alive, "{now:?}");
        }
        assert!(CallSeen { memory_mib: 21, ..seen(1, 100, 9_000, 11) }.is_alive(&before));
        assert!(!seen(1, 100, 9_000, 10).lasts(&before), "patience is not over");
        assert!(seen(1, 100, 9_000, 11).lasts(&before));
    }

    #[test]
    fn it_ends_with_its_calls() {
        drop(Watchdog::start(&Arc::default(), Path::new("s.lua"), &OnStuck::default()));
    }
}
