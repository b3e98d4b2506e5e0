//! A machine in a few words: its kernel, processors, memory and clock.

use crate::root::Root;
use crate::table::value;

/// Properties of a machine. One that the machine does not provide is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Name of the host.
    pub hostname: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Model of the first CPU.
    pub cpu_model: Option<String>,
    /// Number of CPUs that are online.
    pub cpus_online: Option<u32>,
    /// Frequency governor of the CPUs, `mixed` when they differ.
    pub cpu_governor: Option<String>,
    /// Memory, in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
}

impl Description {
    /// Reads the properties.
    pub fn read(root: &Root) -> Description {
        let line = |path: &str| root.text(path).ok().filter(|line| !line.is_empty());
        let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
        Description {
            hostname: line("proc/sys/kernel/hostname"),
            kernel: line("proc/sys/kernel/osrelease"),
            cpu_model: field(&cpuinfo, "model name").map(str::to_owned),
            cpus_online: cpus_in(&cpuinfo),
            cpu_governor: governor(root),
            memory_total_bytes: memory_total_bytes(root),
            clock_source: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }
}

/// Returns the machine's memory, in bytes.
pub fn memory_total_bytes(root: &Root) -> Option<u64> {
    value(&root.text("proc/meminfo").ok()?, "MemTotal")?.checked_mul(1024)
}

/// Returns the value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

fn cpus_in(cpuinfo: &str) -> Option<u32> {
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

fn governor(root: &Root) -> Option<String> {
    const CPUS: &str = "sys/devices/system/cpu";
    let read = |name| root.text(&format!("{CPUS}/{name}/cpufreq/scaling_governor")).ok();
    let mut governors: Vec<String> =
        root.entries(CPUS).filter_map(read).filter(|name| !name.is_empty()).collect();
    governors.sort_unstable();
    governors.dedup();
    match governors.len() {
        0 | 1 => governors.pop(),
        _ => Some("mixed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let text = "processor : 0\nmodel name\t: B c\nprocessor : 1\nmodel name\t: D\n";
        assert_eq!(field(text, "model name"), Some("B c"));
        assert_eq!(field(text, "name"), None);
        assert_eq!((cpus_in(text), cpus_in("")), (Some(2), None));
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let machine = Description::read(&Root::machine());
        assert!(machine.kernel.is_some() && machine.memory_total_bytes.is_some(), "{machine:?}");
    }
}
