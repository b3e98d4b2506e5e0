//! The wait between two trials: until enough ports are free, and the target is as idle as it was
//! before the first trial.

use std::thread;
use std::time::{Duration, Instant};

use weir_machine::{EphemeralPorts, Root, time_wait_to};
use weir_result::study::Settling;
use weir_runner::{Interrupts, RunSpec, Runner};

/// Least pause between two trials.
const PAUSE: Duration = Duration::from_millis(200);

/// Longest wait: as long as a port is in TIME_WAIT, and a little more.
const LONGEST: Duration = Duration::from_secs(65);

/// Longest wait for the target's idle latency.
const LONGEST_IDLE: Duration = Duration::from_secs(15);

/// Ratio to the idle latency before the first trial up to which a target counts as idle.
const IDLE_RATIO: f64 = 1.5;

/// Number of ports that connections may come from, if it cannot be read: the kernel's default.
const DEFAULT_PORTS: u64 = 28_232;

/// Waits after a trial of `spec`. `idle_ns` is the idle latency before the first trial, if it is
/// known.
pub(super) fn settle(
    runner: &dyn Runner,
    spec: &RunSpec,
    idle_ns: Option<u64>,
    interrupts: &Interrupts,
) -> Settling {
    let from = Instant::now();
    let is_interrupted = || interrupts.received().is_some();
    thread::sleep(PAUSE);
    let limit = ports() / 2;
    let port = spec.target.port();
    while time_wait(port) > limit && from.elapsed() < LONGEST && !is_interrupted() {
        thread::sleep(PAUSE);
    }
    let ports_are_free = time_wait(port) <= limit;
    let idle_from = Instant::now();
    let mut found = None;
    let mut is_idle = true;
    // A script's requests may change the target, so they are not sent between trials.
    if let Some(idle_ns) = idle_ns.filter(|_| spec.script.is_none()) {
        loop {
            found = runner.idle_latency(spec, interrupts).ok().flatten();
            is_idle = found.is_none_or(|ns| ns as f64 <= IDLE_RATIO * idle_ns as f64);
            if is_idle || idle_from.elapsed() > LONGEST_IDLE || is_interrupted() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    Settling {
        waited_ns: u64::try_from(from.elapsed().as_nanos()).unwrap_or(u64::MAX),
        time_wait: time_wait(port),
        idle_ns: found,
        is_incomplete: !(ports_are_free && is_idle),
    }
}

/// Connections of this machine to `port` in TIME_WAIT; 0 without one.
fn time_wait(port: Option<u16>) -> u64 {
    port.map_or(0, |port| time_wait_to(&Root::machine(), port))
}

/// Ports that connections may come from.
fn ports() -> u64 {
    EphemeralPorts::read(&Root::machine()).map_or(DEFAULT_PORTS, EphemeralPorts::in_range)
}
