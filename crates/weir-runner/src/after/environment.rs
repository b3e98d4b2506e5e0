//! The fingerprint of the machine on which a result was measured. Values that the machine does not
//! provide stay empty.

use weir_engine::Job;
use weir_io::Clock;
use weir_machine::{Description, Root, sys};
use weir_result::Environment;

/// Clock readings over which the cost of one is averaged.
const CLOCK_READINGS: u32 = 100_000;

/// Describes this machine: its kernel, CPUs, memory, clock and limits, and the engine of `job`.
/// `commit` is the program's.
pub(crate) fn describe(job: &Job, clock: Clock, commit: Option<&str>) -> Environment {
    let machine = Description::read(&Root::machine());
    Environment {
        hostname: machine.hostname,
        weir_commit: commit.map(str::to_owned),
        os: Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        kernel: machine.kernel,
        cpu_model: machine.cpu_model,
        cpus_online: machine.cpus_online,
        cpus_usable: sys::usable_cpus().ok().map(|cpus| cpus.len() as u32),
        cpu_governor: machine.cpu_governor,
        memory_total_bytes: machine.memory_total_bytes,
        clock_source: machine.clock_source,
        clock_read_ns: Some(clock_read_ns(clock)),
        congestion_control: weir_io::congestion_control(&job.target.endpoint),
        open_files_max: sys::raise_descriptor_limit().ok().map(|limit| limit.soft),
        ..Environment::unknown(env!("CARGO_PKG_VERSION"), job.plan.io)
    }
}

fn clock_read_ns(clock: Clock) -> f64 {
    let before = clock.now();
    for _ in 0..CLOCK_READINGS {
        std::hint::black_box(clock.now());
    }
    clock.now().since(before) as f64 / f64::from(CLOCK_READINGS)
}
