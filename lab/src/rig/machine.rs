//! Description of the machine that was measured on, without anything that identifies it or its
//! user.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use weir_machine::{CpuTicks, Description, PressureStall, Root, cpu_list, word};
use xtask::measured::Entry;
use xtask::shell::{find_program, output, root};

/// CPUs of the two sides; none if they cannot be separated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) server: Option<u32>,
    pub(crate) client: Option<u32>,
}

impl Placement {
    /// Selects the first CPU for the server and the second for the client, if there are two and
    /// `taskset`.
    pub(crate) fn of_this_machine() -> Placement {
        let status = Root::machine().text("proc/self/status").unwrap_or_default();
        let cpus = word(&status, "Cpus_allowed_list").and_then(cpu_list::parse).unwrap_or_default();
        match (find_program("taskset"), cpus.as_slice()) {
            (Some(_), [server, client, ..]) => {
                Placement { server: Some(*server), client: Some(*client) }
            }
            _ => Placement::default(),
        }
    }

    /// Describes the placement in words.
    pub(crate) fn describe(&self) -> String {
        match (self.server, self.client) {
            (Some(server), Some(client)) => {
                format!("servers on CPU {server}, clients on CPU {client}, loopback between them")
            }
            _ => "servers and clients on any CPU, loopback between them".to_owned(),
        }
    }
}

/// Readings of CPU steal and CPU contention at one time, to compare with a later one.
pub(crate) struct Pressure {
    cpu: Option<CpuTicks>,
    waited_us: Option<u64>,
    since: Instant,
}

impl Pressure {
    pub(crate) fn now() -> Pressure {
        let read = |path| Root::machine().text(path).unwrap_or_default();
        let cpu = CpuTicks::parse_all(&read("proc/stat"));
        let waits = PressureStall::parse(&read("proc/pressure/cpu"));
        Pressure { cpu, waited_us: waits.map(|waits| waits.total_us), since: Instant::now() }
    }

    /// Returns the shares since this reading.
    pub(crate) fn taken(&self) -> Taken {
        let now = Pressure::now();
        let steal = now.cpu.zip(self.cpu).map(|(now, then)| now.since(then).stolen_share());
        let steal = steal.map(|share| share.unwrap_or(0.0));
        let elapsed_us = (now.since - self.since).as_secs_f64() * 1e6;
        let waited = now.waited_us.zip(self.waited_us);
        let waited = waited.map(|(now, then)| (now - then) as f64 / elapsed_us);
        Taken { steal, waited }
    }
}

/// CPU time lost to others over an interval; none if the kernel does not report it.
pub(crate) struct Taken {
    /// Share of the CPUs' time that the hypervisor gave to others.
    steal: Option<f64>,
    /// Share of the time in which some runnable task had no CPU.
    waited: Option<f64>,
}

impl Taken {
    /// True if the steal is within the limit of METHOD 1.9 (`cpu-steal`), or unknown.
    pub(crate) fn has_no_steal(&self) -> bool {
        self.steal.is_none_or(|share| share <= 0.01)
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: Option<f64>| {
            share.map_or("unknown".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let steal = percent(self.steal);
        let waited = percent(self.waited);
        write!(
            f,
            "CPU time stolen by the hypervisor {steal}, some thread was runnable but not running \
             {waited}"
        )
    }
}

/// Returns an entry that tells only when, at which commit and on which machine it is measured:
/// entries of one page may come from several machines. It has properties of the machine in addition
/// to [`describe`]'s.
pub(crate) fn occasion(more: impl IntoIterator<Item = (&'static str, String)>) -> Result<Entry> {
    let machine = describe().into_iter().chain(more);
    let machine = machine.map(|(name, value)| (name.to_owned(), value)).collect();
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    Ok(Entry { date, commit: commit()?, machine, ..Entry::default() })
}

/// Returns the properties of the machine, each with its value.
pub(crate) fn describe() -> Vec<(&'static str, String)> {
    let root = Root::machine();
    let machine = Description::read(&root);
    let model = machine.cpu_model.as_deref().unwrap_or("unknown");
    let governor = machine.cpu_governor;
    let memory_bytes = machine.memory_total_bytes.unwrap_or(0) as f64;
    vec![
        ("CPU", format!("{} × {model}", machine.cpus_online.unwrap_or(0))),
        ("frequency governor", governor.unwrap_or_else(|| "not told (as in most guests)".into())),
        ("memory", format!("{:.1} GiB", memory_bytes / f64::from(1 << 30))),
        ("kernel", machine.kernel.unwrap_or_default()),
        ("clock source", machine.clock_source.unwrap_or_default()),
        (
            "congestion control",
            root.text("proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default(),
        ),
    ]
}

/// Returns the commit that is built, and a mark if its sources have been changed since. Pages with
/// measurements do not count as sources.
pub(crate) fn commit() -> Result<String> {
    let git = |words: &[&str]| output(Command::new("git").args(words).current_dir(root()?));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--", ".", ":!docs"])?;
    Ok(if changes.is_empty() { commit } else { commit + "-dirty" })
}

/// Returns the first line in which a program prints its version, on either output.
pub(crate) fn version(program: &Path, flag: &str) -> Result<String> {
    let output = Command::new(program).arg(flag).output();
    let output = output.with_context(|| format!("failed to start {}", program.display()))?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let line = printed.lines().find(|line| !line.trim().is_empty()).unwrap_or("unknown");
    // wrk appends its copyright, ab a mark of its sources, and both nginx and ab an introduction.
    let line = line.split(" Copyright").next().unwrap_or(line);
    let line = line.split(" <$").next().unwrap_or(line);
    let line = line.trim_start_matches("nginx version: ").trim_start_matches("This is ");
    Ok(line.trim().to_owned())
}
/// Returns the time of CLOCK_MONOTONIC, which servers' logs and fleets have, to 10 ms.
pub(crate) fn monotonic_ns() -> Result<u64> {
    let uptime = Root::machine().text("proc/uptime").ok().context("failed to read the uptime")?;
    let seconds = uptime.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    let seconds = seconds.context("the uptime is no number")?;
    ensure!(seconds > 0.0, "the machine has just begun");
    Ok((seconds * 1e9) as u64)
}
