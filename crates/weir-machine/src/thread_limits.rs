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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const STATUS: &str = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t7\n";

    /// Makes up a machine with the limits and returns the lowest one. `name` is the test's.
    fn lowest(name: &str, files: &[(&str, &str)]) -> Option<ThreadLimit> {
        let name = format!("weir-threads-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        let limit = ThreadLimit::lowest(&Root::at(&directory));
        fs::remove_dir_all(directory).expect("it was made");
        limit
    }

    fn limit(name: &str, max: u64, used: u64) -> Option<ThreadLimit> {
        Some(ThreadLimit { name: name.to_owned(), max, used })
    }

    #[test]
    fn the_limit_with_the_least_room_is_named() {
        let kernel = [
            ("proc/loadavg", "0.1 0.1 0.1 3/80 11206\n"),
            ("proc/sys/kernel/threads-max", "1000\n"),
            ("proc/sys/kernel/pid_max", "400\n"),
        ];
        assert_eq!(lowest("kernel", &kernel), limit("kernel.pid_max", 400, 80));
        let group = [
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/pids.max", "max\n"),
            ("cg/a/pids.max", "100\n"),
            ("cg/a/pids.current", "9\n"),
        ];
        let both = [&kernel[..], &group].concat();
        assert_eq!(lowest("both", &both), limit("/cg/a/pids.max", 100, 9));
        let user = [
            ("proc/self/status", STATUS),
            ("proc/self/limits", "Max processes             50       50       processes\n"),
            ("proc/12/status", STATUS),
            ("proc/13/status", "Uid:\t0\t0\t0\t0\nThreads:\t900\n"),
        ];
        let all = [&both[..], &user].concat();
        assert_eq!(lowest("all", &all), limit("ulimit -u", 50, 7));
    }

    #[test]
    fn root_has_no_limit_of_its_user() {
        let files = [
            ("proc/self/status", "Uid:\t0\t0\t0\t0\n"),
            ("proc/self/limits", "Max processes             50       50       processes\n"),
        ];
        assert_eq!(lowest("root", &files), None);
        assert!(ThreadLimit::lowest(&Root::machine()).is_some_and(|limit| limit.used > 0));
    }
}
