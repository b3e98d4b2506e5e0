//! The processes behind a listening socket, and the CPUs on which they may run. Processes of other
//! users are visible to root alone.

use weir_machine::{ListeningSocket, Root, cpu_list, holders, processes, word};

/// Maximum descriptors that are looked at, at about 2 µs each.
const DESCRIPTORS_MAX: usize = 200_000;

/// Returns the CPUs of all processes that hold one of the sockets, in ascending order; none if no
/// process is visible.
pub(crate) fn cpus(root: &Root, listeners: &[ListeningSocket]) -> Vec<u32> {
    let inodes: Vec<u64> = listeners.iter().map(|listener| listener.inode).collect();
    let mut left = DESCRIPTORS_MAX;
    let goes_on = || {
        left = left.saturating_sub(1);
        left > 0
    };
    let mut cpus = Vec::new();
    for process in holders(root, processes(root), &inodes, goes_on) {
        let status = root.text(&format!("proc/{process}/status")).unwrap_or_default();
        let allowed = word(&status, "Cpus_allowed_list").and_then(cpu_list::parse);
        cpus.extend(allowed.unwrap_or_default());
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
