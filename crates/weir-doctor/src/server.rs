//! The processes behind a listening socket, and the CPUs on which they may run. Processes of other
//! users are visible to root alone.

use crate::cpu_list;
use crate::listeners::Listener;
use crate::proc;
use crate::root::Root;

/// Maximum descriptors that are looked at, at about 2 µs each.
const DESCRIPTORS_MAX: usize = 200_000;

/// Returns the CPUs of all processes that hold one of the sockets, in ascending order; none if no
/// process is visible.
pub(crate) fn cpus(root: &Root, listeners: &[Listener]) -> Vec<u32> {
    let sockets: Vec<String> =
        listeners.iter().map(|listener| format!("socket:[{}]", listener.inode)).collect();
    let mut left = DESCRIPTORS_MAX;
    let mut cpus = Vec::new();
    for process in root.names("proc").iter().filter(|name| name.parse::<u32>().is_ok()) {
        let descriptors = format!("proc/{process}/fd");
        let mut names = root.names(&descriptors).into_iter().take(left);
        left -= names.len();
        let holds = names.any(|name| {
            let target = root.link(&format!("{descriptors}/{name}"));
            target.is_some_and(|target| sockets.contains(&target))
        });
        if holds {
            let status = root.text(&format!("proc/{process}/status")).unwrap_or_default();
            let allowed = proc::word(&status, "Cpus_allowed_list").and_then(cpu_list::parse);
            cpus.extend(allowed.unwrap_or_default());
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
