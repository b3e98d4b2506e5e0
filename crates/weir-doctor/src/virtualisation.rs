//! Signs of a hypervisor and of a container.

use weir_machine::Root;

/// True if this is a virtual machine; `None` if there is no sign of either.
pub(crate) fn is_virtual(root: &Root) -> Option<bool> {
    if root.has("sys/hypervisor/type") || root.has("proc/device-tree/hypervisor") {
        return Some(true);
    }
    // x86 guests see a flag; other architectures have none.
    let cpuinfo = root.text("proc/cpuinfo").ok()?;
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'))?.1;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// True if there are signs of a container, in which settings of the host cannot be changed.
pub(crate) fn is_container(root: &Root) -> bool {
    root.has(".dockerenv")
        || root.has("run/.containerenv")
        || root.has("var/run/secrets/kubernetes.io")
}
