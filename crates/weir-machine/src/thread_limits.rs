//! Limits on the number of threads, and how many there are.

use crate::cgroup;
use crate::process::processes;
use crate::root::Root;
use crate::table::{value, word};

/// A limit on the number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLimit {
    /// Name that its manual has for it: a key of sysctl(8), a file of a control group, or an option
    /// of `ulimit`.
    pub name: String,
    /// Greatest number of threads.
    pub max: u64,
    /// Threads that count towards it now.
    pub used: u64,
}

impl ThreadLimit {
    /// Returns the limit that leaves room for the fewest further threads; `None` if none can be
    /// read.
    pub fn lowest(root: &Root) -> Option<ThreadLimit> {
        let limits = of_kernel(root).into_iter().chain(of_groups(root)).chain(of_user(root));
        limits.min_by_key(ThreadLimit::room)
    }

    /// Returns the number of further threads.
    pub fn room(&self) -> u64 {
        self.max.saturating_sub(self.used)
    }
}

/// The limits of the whole machine (proc_sys_kernel(5)).
fn of_kernel(root: &Root) -> Vec<ThreadLimit> {
    // The number behind the slash of the fourth field (proc_loadavg(5)).
    let loadavg = root.text("proc/loadavg").unwrap_or_default();
    let all = loadavg.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/'));
    let Some(used) = all.and_then(|(_, all)| all.parse().ok()) else { return Vec::new() };
    let limit = |name: &str| {
        let max = root.number(&format!("proc/sys/kernel/{name}")).ok()?;
        Some(ThreadLimit { name: format!("kernel.{name}"), max, used })
    };
    ["threads-max", "pid_max"].into_iter().filter_map(limit).collect()
}

/// The limits of this process's control groups.
fn of_groups(root: &Root) -> impl Iterator<Item = ThreadLimit> + '_ {
    cgroup::with_controller(root, "pids").into_iter().filter_map(|group| {
        let file = |name| format!("{}/{name}", group.directory);
        // The text of no limit, `max`, is no number.
        let max = root.number(&file("pids.max")).ok()?;
        let used = root.number(&file("pids.current")).ok()?;
        Some(ThreadLimit { name: format!("/{}", file("pids.max")), max, used })
    })
}

/// The limit of the user, which does not bind root (getrlimit(2), RLIMIT_NPROC).
fn of_user(root: &Root) -> Option<ThreadLimit> {
    let status = root.text("proc/self/status").ok()?;
    let user = word(&status, "Uid").filter(|user| *user != "0")?;
    let max = value(&root.text("proc/self/limits").ok()?, "Max processes")?;
    let of_process = |id| {
        let status = root.text(&format!("proc/{id}/status")).ok()?;
        (word(&status, "Uid") == Some(user)).then(|| value(&status, "Threads"))?
    };
    let used = processes(root).filter_map(of_process).sum();
    Some(ThreadLimit { name: "ulimit -u".to_owned(), max, used })
}
