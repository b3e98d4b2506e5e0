//! The wait between two trials: until enough ports are free, and the target is as idle as it was
//! before the first trial.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use weir_result::study::Settling;
use weir_runner::RunSpec;

use crate::interrupts::Interrupts;
use crate::runner;

/// Least pause between two trials.
const PAUSE: Duration = Duration::from_millis(200);

/// Longest wait: as long as a port is in TIME_WAIT, and a little more.
const LONGEST: Duration = Duration::from_secs(65);

/// Longest wait for the target's idle latency.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// Ratio to the idle latency before the first trial up to which a target counts as idle.
const IDLE_RATIO: f64 = 1.5;

/// Waits after a trial of `spec`. `idle_ns` is the idle latency before the first trial, if it is
/// known.
pub(super) fn settle(spec: &RunSpec, idle_ns: Option<u64>, interrupts: &Interrupts) -> Settling {
    let from = Instant::now();
    let is_interrupted = || interrupts.runs().received().is_some();
    thread::sleep(PAUSE);
    let limit = ports() / 2;
    while time_wait() > limit && from.elapsed() < LONGEST && !is_interrupted() {
        thread::sleep(PAUSE);
    }
    let ports_are_free = time_wait() <= limit;
    let idle_from = Instant::now();
    let (mut found, mut is_idle) = (None, true);
    // A script's requests may change the target, so they are not sent between trials.
    if let Some(idle_ns) = idle_ns.filter(|_| spec.script.is_none()) {
        loop {
            found = runner::of(spec).idle_latency(spec, interrupts.runs()).ok().flatten();
            is_idle = found.is_none_or(|ns| ns as f64 <= IDLE_RATIO * idle_ns as f64);
            if is_idle || idle_from.elapsed() > LONGEST_IDLE || is_interrupted() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    Settling {
        waited_ns: u64::try_from(from.elapsed().as_nanos()).unwrap_or(u64::MAX),
        time_wait: time_wait(),
        idle_ns: found,
        is_incomplete: !(ports_are_free && is_idle),
    }
}

/// Sockets in TIME_WAIT on this machine; 0 if unknown (proc(5), /proc/net/sockstat).
fn time_wait() -> u64 {
    let text = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let mut words =
        text.lines().filter(|line| line.starts_with("TCP:")).flat_map(str::split_whitespace);
    words.find(|word| *word == "tw");
    words.next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Ports that connections may come from (ip(7), ip_local_port_range).
fn ports() -> u64 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let range: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match range[..] {
        [low, high] if low <= high => high - low + 1,
        _ => 28_232,
    }
}
