//! Values of this process and machine that need system calls; tests give them directly.

use std::io;

use weir_io::{Clock, Endpoint, Engine};
use weir_machine::Unreadable;
use weir_machine::sys::{self, DescriptorLimit};

use crate::target::TargetServer;

/// Clock readings over which the cost of one is averaged.
const CLOCK_READINGS: u32 = 1_000;

/// Number of averages. The least counts: the others include pauses of this process.
const CLOCK_AVERAGES: u32 = 20;

/// Values that need system calls.
#[derive(Clone, Debug)]
pub struct Facts {
    /// This process, whose own CPU time is no neighbour's.
    pub process_id: u32,
    /// CPUs on which this process may run, in ascending order.
    pub usable_cpus: Result<Vec<u32>, Unreadable>,
    /// Limits on open descriptors, as this process was started.
    pub descriptors: Result<DescriptorLimit, Unreadable>,
    /// Timer slack of this process, in nanoseconds, as it was started.
    pub timer_slack_ns: Result<u64, Unreadable>,
    /// Timer slack of a thread that lowers it as weir's workers do, in nanoseconds.
    pub lowered_slack_ns: Result<u64, Unreadable>,
    /// Resolution of the monotonic clock and its timers, in nanoseconds.
    pub clock_resolution_ns: Result<u64, Unreadable>,
    /// Cost of one reading of the monotonic clock, in nanoseconds.
    pub clock_read_ns: f64,
    /// Congestion control of new connections to the target, or to loopback without one.
    pub congestion_control: Option<String>,
    /// Use of io_uring as weir's engine needs it.
    pub uring: Result<(), UringRefusal>,
}

/// The reason why io_uring does not work here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UringRefusal {
    /// Kind of the failure, such as `PermissionDenied`.
    pub kind: io::ErrorKind,
    /// Failed step, with the kernel's error.
    pub message: String,
}

impl Facts {
    /// Determines the values on this machine. Besides the calling thread's timer slack it changes
    /// nothing.
    pub fn gather(target: Option<&TargetServer>) -> Facts {
        let timer_slack_ns = read("PR_GET_TIMERSLACK", sys::timer_slack_ns());
        let lowered = sys::set_timer_slack(1).and_then(|()| sys::timer_slack_ns());
        let loopback = ([127, 0, 0, 1], 80).into();
        let endpoint = Endpoint::Tcp(target.map_or(loopback, |target| target.address));
        Facts {
            process_id: std::process::id(),
            usable_cpus: read("sched_getaffinity", sys::usable_cpus()),
            descriptors: read("getrlimit", sys::descriptor_limit()),
            timer_slack_ns,
            lowered_slack_ns: read("PR_SET_TIMERSLACK", lowered),
            clock_resolution_ns: read("clock_getres", sys::clock_resolution_ns()),
            clock_read_ns: clock_read_ns(Clock::start()),
            congestion_control: weir_io::congestion_control(&endpoint),
            uring: Engine::Uring
                .probe()
                .map_err(|error| UringRefusal { kind: error.kind(), message: error.to_string() }),
        }
    }
}

fn read<T>(call: &str, result: io::Result<T>) -> Result<T, Unreadable> {
    result.map_err(|error| Unreadable::call(call, &error))
}

fn clock_read_ns(clock: Clock) -> f64 {
    let averages = (0..CLOCK_AVERAGES).map(|_| {
        let before = clock.now();
        for _ in 0..CLOCK_READINGS {
            std::hint::black_box(clock.now());
        }
        clock.now().since(before) as f64 / f64::from(CLOCK_READINGS)
    });
    averages.fold(f64::INFINITY, f64::min)
}
