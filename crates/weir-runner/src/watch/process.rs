//! CPU time, memory, descriptors and threads of processes of this machine, from proc(5). Processes
//! with one name are added up.

use std::collections::BTreeMap;

use weir_io::Nanos;
use weir_machine::{
    Process, Root, TICK_NS, command_name, descriptor_count, processes, resident_bytes, value,
};
use weir_result::document::{Polls, ProcessSample, ProcessSection};
use weir_text::setting::WATCH_PID;

/// Length of a name in /proc/PID/comm, in bytes; the kernel cuts longer ones.
const NAME_MAX_BYTES: usize = 15;

/// Processes to watch.
#[derive(Debug)]
pub(super) struct Processes {
    pub(super) name: String,
    pids: Vec<u32>,
}

/// One reading of all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// CPU time so far by process, in nanoseconds.
    cpu_ns: BTreeMap<u32, u64>,
    resident_bytes: u64,
    descriptors: Option<u64>,
    threads: u64,
}

impl Processes {
    /// Takes a number or a name; the processes are found at the first reading.
    pub(super) fn of(name: &str) -> Processes {
        Processes { name: name.to_owned(), pids: Vec::new() }
    }

    /// Reads the processes. If one of them has ended, the name is looked up again: a server may
    /// replace its workers.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn read(&mut self) -> Result<Reading, String> {
        let mut found = read_all(&self.pids);
        if found.cpu_ns.is_empty() || found.cpu_ns.len() < self.pids.len() {
            self.pids = find(&self.name);
            found = read_all(&self.pids);
        }
        match found.cpu_ns.is_empty() {
            true => Err(format!("no process {:?} is on this machine", self.name)),
            false => Ok(found),
        }
    }

    /// Returns the advice if the processes of a name may belong to several servers: two or more of
    /// them were not started by another of the name, as a worker is by its master.
    pub(super) fn several_servers(&self) -> Option<String> {
        let root = Root::machine();
        let parent = |pid: u32| Process::read(&root, pid).map(|process| process.parent);
        let is_first = |pid: &&u32| !parent(**pid).is_some_and(|of| self.pids.contains(&of));
        let first: Vec<String> = self.pids.iter().filter(is_first).map(u32::to_string).collect();
        (first.len() > 1).then(|| {
            format!(
                "{WATCH_PID} {} adds up {} processes, and {} of them were started apart ({}); if \
                 these are different servers, give {WATCH_PID} the numbers of one",
                self.name,
                self.pids.len(),
                first.len(),
                first.join(", "),
            )
        })
    }

    /// Makes the section of these readings; `at_s` converts their times to seconds from t0.
    pub(super) fn section(
        self,
        polls: Polls,
        readings: &[(Nanos, Reading)],
        at_s: &impl Fn(Nanos) -> f64,
        window_s: f64,
    ) -> ProcessSection {
        let before = [None].into_iter().chain(readings.iter().map(Some));
        let samples = before.zip(readings).map(|(before, now)| ProcessSample {
            at_s: at_s(now.0),
            cpu: before.and_then(|(at, before)| cpu_between(before, &now.1, now.0.since(*at))),
            resident_bytes: now.1.resident_bytes,
            descriptors: now.1.descriptors,
            threads: now.1.threads,
        });
        let series: Vec<ProcessSample> = samples.collect();
        let (cpu_mean, cpu_max) = cpu_in_window(&series, window_s).unzip();
        ProcessSection {
            name: self.name,
            pids: self.pids,
            polls,
            cpu_mean,
            cpu_max,
            resident_max_bytes: series.iter().map(|s| s.resident_bytes).max().unwrap_or(0),
            series,
        }
    }
}

/// CPU time between two readings, `span_ns` apart, in CPUs. A process that was not there before
/// began at 0.
fn cpu_between(before: &Reading, after: &Reading, span_ns: u64) -> Option<f64> {
    let earlier = |pid| before.cpu_ns.get(pid).copied().unwrap_or(0);
    let spent = after.cpu_ns.iter().map(|(pid, ns)| ns.saturating_sub(earlier(pid)));
    (span_ns > 0).then(|| spent.sum::<u64>() as f64 / span_ns as f64)
}

/// Mean and greatest CPU time over the readings that overlap the window.
fn cpu_in_window(series: &[ProcessSample], window_s: f64) -> Option<(f64, f64)> {
    let mut spent = 0.0;
    let mut span = 0.0;
    let mut greatest = 0.0_f64;
    for pair in series.windows(2) {
        let [before, after] = pair else { continue };
        let Some(cpu) = after.cpu.filter(|_| after.at_s > 0.0 && before.at_s < window_s) else {
            continue;
        };
        spent += cpu * (after.at_s - before.at_s);
        span += after.at_s - before.at_s;
        greatest = greatest.max(cpu);
    }
    // Rounding must not put the mean above the greatest value.
    (span > 0.0).then(|| ((spent / span).min(greatest), greatest))
}

/// The processes of a name, or of a number.
fn find(name: &str) -> Vec<u32> {
    if let Ok(pid) = name.parse() {
        return vec![pid];
    }
    let wanted = name.as_bytes().get(..NAME_MAX_BYTES).unwrap_or(name.as_bytes());
    let root = Root::machine();
    let is_named = |pid: &u32| {
        *pid != std::process::id() && command_name(&root, *pid).is_some_and(|name| name == wanted)
    };
    let mut pids: Vec<u32> = processes(&root).filter(is_named).collect();
    pids.sort_unstable();
    pids
}

fn read_all(pids: &[u32]) -> Reading {
    let root = Root::machine();
    let mut sum = Reading { descriptors: Some(0), ..Reading::default() };
    for pid in pids {
        let Some(process) = Process::read(&root, *pid) else { continue };
        sum.cpu_ns.insert(*pid, process.ticks.saturating_mul(TICK_NS));
        let status = root.text(&format!("proc/{pid}/status")).unwrap_or_default();
        sum.resident_bytes += resident_bytes(&status).unwrap_or(0);
        sum.threads += value(&status, "Threads").unwrap_or(0);
        sum.descriptors =
            sum.descriptors.zip(descriptor_count(&root, *pid)).map(|(sum, more)| sum + more);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_number_alone_if_that_is_given() {
        let own = std::process::id();
        let mut processes = Processes::of(&own.to_string());
        let reading = processes.read().expect("this process");
        assert!(reading.resident_bytes > 0 && reading.threads > 0, "{reading:?}");
        assert!(reading.descriptors.is_some_and(|descriptors| descriptors > 2), "{reading:?}");
        assert_eq!(processes.pids, [own]);
        let error = Processes::of("no such process").read().expect_err("there is none");
        assert!(error.contains("no such process"), "{error}");
    }

    #[test]
    fn cpu_time_is_that_of_the_window() {
        let reading = |at_s: u64, ticks_ms: &[(u32, u64)]| {
            let cpu_ns = ticks_ms.iter().map(|(pid, ms)| (*pid, ms * 1_000_000)).collect();
            (Nanos(at_s * 1_000_000_000), Reading { cpu_ns, ..Reading::default() })
        };
        let readings = [
            reading(10, &[(1, 0)]),
            reading(11, &[(1, 900)]),
            reading(12, &[(1, 1_000), (2, 400)]),
            reading(13, &[(1, 1_200), (2, 1_200)]),
            reading(14, &[(2, 2_200)]),
        ];
        let at_s = |at: Nanos| at.0 as f64 / 1e9 - 11.0;
        let section = Processes::of("x").section(Polls::default(), &readings, &at_s, 2.0);
        let cpu: Vec<Option<f64>> = section.series.iter().map(|sample| sample.cpu).collect();
        assert_eq!(cpu, [None, Some(0.9), Some(0.5), Some(1.0), Some(1.0)]);
        assert_eq!((section.cpu_mean, section.cpu_max), (Some(0.75), Some(1.0)));
    }
}
