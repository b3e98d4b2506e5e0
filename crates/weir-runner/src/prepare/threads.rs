//! The number of worker threads, and the CPUs they run on.

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Root, ThreadLimit};
use weir_result::{Note, Pacing, Part, Plan};
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
        let connections = spec.load.connections;
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
        let connections = spec.load.connections;
        if let Some(given) = spec.engine.threads.filter(|given| *given > connections) {
            let text = format!(
                "{given} threads for {connections} connections: each thread needs one; \
                 {connections} threads run"
            );
            notes.push(Note::new("fewer_threads", text));
        }
        let (own, usable) = (threads.own, self.count);
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

    /// Returns true if the workers of a plan for a server on this machine may busy-poll in a closed
    /// loop: they leave it a CPU.
    pub(crate) fn may_poll(&self, plan: &Plan) -> bool {
        plan.pacing == Pacing::Hybrid && !self.are_chosen && plan.own_threads() < self.count
    }
}

/// Numbers of threads from here on are checked: fewer reach no limit in practice, and the reading
/// takes some milliseconds where there are many processes.
const CHECKED_FROM: u32 = 256;

/// Checks that the limits of `root` allow `own` worker threads and a few others.
///
/// # Errors
/// When one does not; the message names it.
pub(crate) fn check_limits(own: u32, root: &Root) -> Result<()> {
    if own < CHECKED_FROM {
        return Ok(());
    }
    let Some(limit) = ThreadLimit::lowest(root) else { return Ok(()) };
    let room = limit.room().saturating_sub(OTHER_THREADS);
    ensure!(
        u64::from(own) <= room,
        "{THREADS} {own}: {} is {}, of which {} are in use, and allows {room} threads: raise it, or \
         use {THREADS} {room} or fewer",
        limit.name,
        limit.max,
        limit.used
    );
    Ok(())
}

/// The CPUs to run on: the affinity mask's, at most as many as the cgroup's quota grants.
pub(crate) fn usable_cpus() -> Vec<u32> {
    let mut cpus = weir_sys::usable_cpus().unwrap_or_default();
    if let Some(quota) = weir_machine::cpu_quota(&Root::machine()) {
        cpus.truncate((quota.ceil() as usize).max(1));
    }
    cpus
}

fn pinned(pin: Option<&Pin>) -> Result<Vec<u32>> {
    let Some(pin) = pin else { return Ok(Vec::new()) };
    let usable =
        weir_sys::usable_cpus().with_context(|| format!("{PIN}: the usable CPUs are unknown"))?;
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
    use super::*;

    /// Returns the threads for 50 connections on `count` CPUs, with the options that `change` sets.
    fn threads(count: u32, change: impl Fn(&mut RunSpec), is_server_local: bool) -> Threads {
        let mut spec = RunSpec::new("http://h/");
        spec.load.connections = 50;
        change(&mut spec);
        let are_chosen = spec.engine.pin.is_some();
        let cpus = Cpus { pinned: Vec::new(), count, are_chosen };
        cpus.threads(&spec, is_server_local, 1)
    }

    #[test]
    fn a_limit_on_threads_is_named_for_one_more_than_it_allows() {
        let limit = ThreadLimit::lowest(&Root::machine()).expect("a limit");
        let room = limit.room();
        // Other processes start and end threads meanwhile.
        check_limits(u32::try_from(room / 2).expect("a number"), &Root::machine()).expect("room");
        let over = u32::try_from(room + 1_000).expect("a number");
        let message = check_limits(over, &Root::machine()).expect_err("over it").to_string();
        assert!(
            message.contains(&format!("{} is {}, of which", limit.name, limit.max)),
            "{message}"
        );
        check_limits(CHECKED_FROM - 1, &Root::machine()).expect("few threads");
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
        let few = |spec: &mut RunSpec| spec.load.connections = 3;
        assert_eq!(threads(8, few, true), Threads { all: 3, own: 3, leaves_cpus: false });
    }

    #[test]
    fn as_many_run_as_can_open_the_connections() {
        let mut spec = RunSpec::new("http://h/");
        spec.load.connections = 50_000;
        let cpus = Cpus { pinned: Vec::new(), count: 8, are_chosen: false };
        for (least, expected) in [(1, 4), (6, 6), (9, 8)] {
            assert_eq!(cpus.threads(&spec, true, least).all, expected, "{least}");
        }
    }
}
