//! The number of worker threads, and the CPUs they run on.

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Root, ThreadLimit, sys};
use weir_result::{Note, Pacing, Part};
use weir_text::setting::{PIN, THREADS};

use crate::spec::{Pin, RunSpec};

/// Threads of weir that carry no load.
const OTHER_THREADS: u64 = 16;

/// CPUs that the workers may use.
#[derive(Debug)]
pub(crate) struct Cpus {
    /// CPUs to which workers are pinned, in turn: none without `--pin`.
    pub(crate) pinned: Vec<u32>,
    /// Number of CPUs to run on, at least 1.
    count: u32,
    /// True if the user chose them.
    are_chosen: bool,
}

/// Number of worker threads, at most one per connection: a thread without a connection would be
/// idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads {
    /// Threads of all parts.
    pub(crate) all: u32,
    /// Threads of this part.
    pub(crate) own: u32,
    /// True if CPUs are left to a server on this machine.
    pub(crate) leaves_cpus: bool,
}

impl Threads {
    /// Returns the threads of this part.
    ///
    /// # Errors
    /// When the limits of the machine at `root` do not allow them; the message names one.
    pub(crate) fn within_limits(&self, root: &Root) -> Result<u32> {
        let own = self.own;
        if own < CHECKED_FROM {
            return Ok(own);
        }
        let Some(limit) = ThreadLimit::lowest(root) else { return Ok(own) };
        let room = limit.room().saturating_sub(OTHER_THREADS);
        ensure!(
            u64::from(own) <= room,
            "{THREADS} {own}: {} is {}, of which {} are in use, and allows {room} threads: raise \
             it, or use {THREADS} {room}",
            limit.name,
            limit.max,
            limit.used
        );
        Ok(own)
    }
}

impl Cpus {
    /// Returns the CPUs for a choice of `--pin`.
    ///
    /// # Errors
    /// When this process may not use one of them.
    pub(crate) fn of(pin: Option<&Pin>) -> Result<Cpus> {
        let pinned = pinned(pin)?;
        let count = match pin {
            Some(Pin::Cpus(_)) => pinned.len(),
            _ => usable_cpus().len(),
        };
        let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        Ok(Cpus { pinned, count, are_chosen: pin.is_some() })
    }

    /// Returns the number of threads of a run. By default it is one per CPU, or one per two CPUs if
    /// the server runs on this machine (`is_server_local`): it needs the others (METHOD 1.8). Every
    /// part of a run has to come to the same number, so parts do without the second rule; so do
    /// runs whose user chose the CPUs. `least` threads can open the connections.
    pub(crate) fn threads(&self, spec: &RunSpec, is_server_local: bool, least: u32) -> Threads {
        let connections = spec.load.connections.count();
        let leaves_cpus = is_server_local
            && spec.engine.threads.is_none()
            && spec.part.is_none()
            && !self.are_chosen
            && self.count > 1;
        let requested = match spec.engine.threads {
            Some(given) => given,
            None if leaves_cpus => least.clamp(self.count / 2, self.count),
            None => self.count,
        };
        let all = requested.min(connections);
        let own = spec.part.map_or(all, |part| part.share_of(all));
        Threads { all, own, leaves_cpus: leaves_cpus && all < self.count.min(connections) }
    }

    /// Returns the notes on a number of threads that cannot be, or does harm.
    pub(crate) fn notes(&self, spec: &RunSpec, threads: &Threads) -> Vec<Note> {
        let mut notes = Vec::new();
        let connections = spec.load.connections.count();
        if let Some(given) = spec.engine.threads.filter(|given| *given > connections) {
            let text = format!(
                "{given} threads for {connections} connections: each thread needs one; \
                 {connections} threads run"
            );
            notes.push(Note::new("fewer_threads", text));
        }
        let own = threads.own;
        let usable = self.count;
        if own > usable {
            // -t counts the threads of all parts.
            let enough = usable.saturating_mul(spec.part.map_or(1, Part::count));
            let text = format!(
                "{own} threads share {usable} CPUs: they delay each other, and sends are late; use \
                 {THREADS} {enough}, enough for any number of connections"
            );
            notes.push(Note::new("more_threads_than_cpus", text));
        }
        notes
    }

    /// Returns the send strategy by default: threads that spin on a shared CPU take it from each
    /// other.
    pub(crate) fn pacing(&self, threads: u32) -> Pacing {
        if threads > self.count { Pacing::Sleep } else { Pacing::Hybrid }
    }

    /// Returns true if so many workers with this send strategy may busy-poll in a closed loop for a
    /// server on this machine: they leave it a CPU.
    pub(crate) fn may_poll(&self, pacing: Pacing, threads: u32) -> bool {
        pacing == Pacing::Hybrid && !self.are_chosen && threads < self.count
    }
}

/// Numbers of threads from here on are checked: fewer reach no limit in practice, and the reading
/// takes some milliseconds where there are many processes.
const CHECKED_FROM: u32 = 256;

/// The CPUs to run on: the affinity mask's, at most as many as the cgroup's quota grants.
pub(crate) fn usable_cpus() -> Vec<u32> {
    let mut cpus = sys::usable_cpus().unwrap_or_default();
    if let Some(quota) = weir_machine::cpu_quota(&Root::machine()) {
        cpus.truncate((quota.ceil() as usize).max(1));
    }
    cpus
}

fn pinned(pin: Option<&Pin>) -> Result<Vec<u32>> {
    let Some(pin) = pin else { return Ok(Vec::new()) };
    let usable =
        sys::usable_cpus().with_context(|| format!("{PIN}: the usable CPUs are unknown"))?;
    let Pin::Cpus(cpus) = pin else { return Ok(usable) };
    match cpus.iter().find(|cpu| !usable.contains(cpu)) {
        Some(cpu) => bail!(
            "{PIN}: CPU {cpu} is not usable by this process: usable are {}",
            Pin::list(&usable)
        ),
        None => Ok(cpus.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the threads for 50 connections on `count` CPUs, with the options that `change` sets.
    fn threads(count: u32, change: impl Fn(&mut RunSpec), is_server_local: bool) -> Threads {
        let mut spec = RunSpec::new("http://h/");
        spec.load.connections = 50.into();
        change(&mut spec);
        let are_chosen = spec.engine.pin.is_some();
        let cpus = Cpus { pinned: Vec::new(), count, are_chosen };
        cpus.threads(&spec, is_server_local, 1)
    }

    /// Makes up a machine with the files and returns the error of a number of threads on it.
    fn refusal(name: &str, own: u32, files: &[(&str, &str)]) -> Option<String> {
        let name = format!("weir-threads-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        let threads = Threads { all: own, own, leaves_cpus: false };
        let refusal = threads.within_limits(&Root::at(&directory)).err();
        fs::remove_dir_all(directory).expect("it was made");
        refusal.map(|error| error.to_string())
    }

    #[test]
    fn one_thread_more_than_a_limit_allows_is_refused_by_its_name() {
        let kernel = [
            ("proc/loadavg", "0.1 0.1 0.1 3/80 11206\n"),
            ("proc/sys/kernel/threads-max", "9000\n"),
            ("proc/sys/kernel/pid_max", "4096\n"),
        ];
        assert_eq!(refusal("kernel", 4_000, &kernel), None);
        assert_eq!(
            refusal("kernel", 4_001, &kernel).as_deref(),
            Some(
                "`engine.threads` 4001: kernel.pid_max is 4096, of which 80 are in use, and allows \
                 4000 threads: raise it, or use `engine.threads` 4000"
            )
        );
        let group = [
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/pids.max", "max\n"),
            ("cg/a/pids.max", "1000\n"),
            ("cg/a/pids.current", "9\n"),
        ];
        let both = [&kernel[..], &group].concat();
        let message = refusal("group", 976, &both).expect("one more");
        assert!(message.contains("/cg/a/pids.max is 1000, of which 9 are"), "{message}");
        assert_eq!(refusal("group", 975, &both), None);
    }

    #[test]
    fn the_limit_of_a_user_counts_its_threads_and_is_not_of_root() {
        let status = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t7\n";
        let limits = "Max processes             900       900       processes\n";
        let user = [
            ("proc/self/status", status),
            ("proc/self/limits", limits),
            ("proc/12/status", status),
            ("proc/13/status", "Uid:\t0\t0\t0\t0\nThreads:\t900\n"),
        ];
        let message = refusal("user", 878, &user).expect("one more");
        assert!(message.contains("ulimit -u is 900, of which 7 are in use"), "{message}");
        assert_eq!(refusal("user", 877, &user), None);
        let root = [("proc/self/status", "Uid:\t0\t0\t0\t0\n"), ("proc/self/limits", limits)];
        assert_eq!(refusal("root", 5_000, &root), None);
    }

    #[test]
    fn a_server_on_this_machine_is_left_half_of_the_cpus() {
        for (count, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (9, 4), (64, 32), (128, 50)] {
            let chosen = threads(count, |_| (), true);
            let leaves_cpus = count > 1 && expected < 50;
            assert_eq!(chosen, Threads { all: expected, own: expected, leaves_cpus }, "{count}");
            assert_eq!(threads(count, |_| (), false).all, count.min(50), "a remote server");
        }
    }

    #[test]
    fn a_user_s_own_choice_and_parts_stay() {
        let all = Threads { all: 8, own: 8, leaves_cpus: false };
        assert_eq!(threads(8, |spec| spec.engine.threads = Some(8), true), all);
        assert_eq!(threads(8, |spec| spec.engine.pin = Some(Pin::All), true), all);
        let part = |spec: &mut RunSpec| spec.part = Part::new(2, 4);
        assert_eq!(threads(8, part, true), Threads { own: 2, ..all });
        // As many threads would run with any server.
        let few = |spec: &mut RunSpec| spec.load.connections = 3.into();
        assert_eq!(threads(8, few, true), Threads { all: 3, own: 3, leaves_cpus: false });
    }

    #[test]
    fn as_many_run_as_can_open_the_connections() {
        let mut spec = RunSpec::new("http://h/");
        spec.load.connections = 50_000.into();
        let cpus = Cpus { pinned: Vec::new(), count: 8, are_chosen: false };
        for (least, expected) in [(1, 4), (6, 6), (9, 8)] {
            assert_eq!(cpus.threads(&spec, true, least).all, expected, "{least}");
        }
    }
}
