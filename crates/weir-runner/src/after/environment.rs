//! The fingerprint of the machine on which a result was measured. Values that the machine does not
//! provide stay empty.

use std::fs;

use weir_io::{Clock, Endpoint};
use weir_result::{Environment, IoEngine};

/// Clock readings over which the cost of one is averaged.
const CLOCK_READINGS: u32 = 100_000;

/// Describes this machine: its kernel, CPUs, memory, clock and limits. `commit` is that of the
/// program.
pub(crate) fn describe(
    engine: IoEngine,
    endpoint: &Endpoint,
    clock: Clock,
    commit: Option<&str>,
) -> Environment {
    Environment {
        hostname: line("/proc/sys/kernel/hostname"),
        weir_commit: commit.map(str::to_owned),
        os: Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        kernel: line("/proc/sys/kernel/osrelease"),
        cpu_model: field("/proc/cpuinfo", "model name"),
        cpus_online: cpus_online(),
        cpus_usable: weir_sys::usable_cpus().ok().map(|cpus| cpus.len() as u32),
        cpu_governor: governor(),
        memory_total_bytes: memory_total_bytes(),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_read_ns: Some(clock_read_ns(clock)),
        congestion_control: weir_io::congestion_control(endpoint),
        open_files_max: weir_sys::raise_descriptor_limit().ok().map(|limit| limit.soft),
        ..Environment::unknown(env!("CARGO_PKG_VERSION"), engine)
    }
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The value of the first `name : value` line of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

fn cpus_online() -> Option<u32> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// The frequency governor of the CPUs, `mixed` when they differ.
fn governor() -> Option<String> {
    let mut governors: Vec<String> = fs::read_dir("/sys/devices/system/cpu")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            line(entry.path().join("cpufreq/scaling_governor").to_str().unwrap_or_default())
        })
        .collect();
    governors.sort_unstable();
    governors.dedup();
    match governors.len() {
        0 | 1 => governors.pop(),
        _ => Some("mixed".to_owned()),
    }
}

pub(crate) fn memory_total_bytes() -> Option<u64> {
    let kib = field("/proc/meminfo", "MemTotal")?;
    kib.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn clock_read_ns(clock: Clock) -> f64 {
    let before = clock.now();
    for _ in 0..CLOCK_READINGS {
        std::hint::black_box(clock.now());
    }
    clock.now().since(before) as f64 / f64::from(CLOCK_READINGS)
}
