//! Counters of the kernel at the beginning and the end of a span, for checks of what happens now:
//! other programs, steal, throttling, swapping. Their meaning is in the checks.

use weir_machine::{CpuTicks, Process, Root, SchedStat, Unreadable, groups};

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// Maximum processes that are read, at about 10 µs each.
const PROCESSES_MAX: usize = 50_000;

/// Maximum threads whose time slices are read, likewise.
const THREADS_MAX: usize = 50_000;

/// Two readings, some time apart.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The earlier one.
    pub before: Reading,
    /// The later one.
    pub after: Reading,
}

/// The counters at one instant.
#[derive(Clone, Debug)]
pub struct Reading {
    /// /proc/stat.
    pub(crate) stat: Result<String, Unreadable>,
    /// /proc/net/netstat.
    pub(crate) netstat: Result<String, Unreadable>,
    /// /proc/vmstat.
    pub(crate) vmstat: Result<String, Unreadable>,
    /// `cpu.stat` of each control group that may throttle this process, by directory.
    pub(crate) groups: BTreeMap<String, String>,
    /// All processes, by id.
    pub(crate) processes: BTreeMap<u32, Process>,
    /// Turns on a CPU of their threads, by process and thread.
    pub(crate) threads: BTreeMap<(u32, u32), SchedStat>,
    /// /proc/uptime.
    pub(crate) uptime: Result<String, Unreadable>,
}

impl Sample {
    /// Reads the counters, waits for `span`, and reads them again.
    pub fn over(root: &Root, span: Duration) -> Sample {
        let before = Reading::take(root);
        thread::sleep(span);
        Sample { before, after: Reading::take(root) }
    }

    /// Returns the ticks of these CPUs since boot, at the beginning and at the end.
    pub(crate) fn cpu_ticks(&self, cpus: &[u32]) -> Result<(CpuTicks, CpuTicks), Unreadable> {
        let ticks = |reading: &Reading| {
            let stat = reading.stat.as_ref().map_err(Unreadable::clone)?;
            CpuTicks::parse(stat, cpus).ok_or_else(|| Unreadable::form("proc/stat"))
        };
        Ok((ticks(&self.before)?, ticks(&self.after)?))
    }
}

impl Reading {
    /// Reads the counters now.
    pub fn take(root: &Root) -> Reading {
        let stats = groups(root).into_iter().filter_map(|group| {
            let stat = root.text(&group.cpu_stat()).ok()?;
            Some((group.directory, stat))
        });
        let ids = root.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        // A process may end in between.
        let processes = ids.take(PROCESSES_MAX).filter_map(|id| {
            let stat = root.text(&format!("proc/{id}/stat")).ok()?;
            Some((id, Process::parse(&stat)?))
        });
        let processes: BTreeMap<u32, Process> = processes.collect();
        let threads = processes.keys().flat_map(|&process| threads(root, process));
        Reading {
            threads: threads.take(THREADS_MAX).collect(),
            uptime: root.text("proc/uptime"),
            stat: root.text("proc/stat"),
            netstat: root.text("proc/net/netstat"),
            vmstat: root.text("proc/vmstat"),
            groups: stats.collect(),
            processes,
        }
    }
}

/// Returns the time slices of a process's threads. One may end in between.
fn threads(root: &Root, process: u32) -> impl Iterator<Item = ((u32, u32), SchedStat)> {
    let directory = format!("proc/{process}/task");
    root.names(&directory).into_iter().filter_map(move |name| {
        let schedstat = root.text(&format!("{directory}/{name}/schedstat")).ok()?;
        Some(((process, name.parse().ok()?), SchedStat::parse(&schedstat)?))
    })
}
