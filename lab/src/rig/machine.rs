//! Description of the machine that was measured on, without anything that identifies it or its
//! user.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use xtask::shell::{find_program, root};

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
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = field(&status, "Cpus_allowed_list").unwrap_or_default();
        match (find_program("taskset"), cpus_in(list).as_slice()) {
            (Some(_), [server, client, ..]) => {
                Placement { server: Some(*server), client: Some(*client) }
            }
            _ => Placement::default(),
        }
    }
}

impl Placement {
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
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let pressure = fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
        let since = Instant::now();
        Pressure { cpu: cpu_ticks(&stat), waited_us: waited_us(&pressure), since }
    }

    /// Returns the shares since this reading.
    pub(crate) fn taken(&self) -> Taken {
        let now = Pressure::now();
        let steal = now.cpu.zip(self.cpu).map(|(now, then)| {
            (now.stolen - then.stolen) as f64 / (now.total - then.total).max(1) as f64
        });
        let elapsed_us = (now.since - self.since).as_secs_f64() * 1e6;
        let waited = now.waited_us.zip(self.waited_us);
        let waited = waited.map(|(now, then)| (now - then) as f64 / elapsed_us);
        Taken { steal, waited }
    }
}

/// CPU time lost to others over an interval; none if the kernel does not report it.
#[derive(Clone, Copy, Debug)]
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
        let (steal, waited) = (percent(self.steal), percent(self.waited));
        write!(
            f,
            "CPU time stolen by the hypervisor {steal}, some thread was runnable but not running \
             {waited}"
        )
    }
}

/// Time of all CPUs in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTicks {
    stolen: u64,
    total: u64,
}

/// Reads the first line of `/proc/stat`. Its eighth number is the stolen time; the ninth and tenth
/// are parts of the first two (proc_stat(5)).
fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let numbers: Vec<u64> = numbers.map_while(|word| word.parse().ok()).take(8).collect();
    Some(CpuTicks { stolen: *numbers.get(7)?, total: numbers.iter().sum() })
}

/// Returns the time in which some task waited for a CPU, from `/proc/pressure/cpu`, in
/// microseconds.
fn waited_us(pressure: &str) -> Option<u64> {
    let (_, total) = pressure.lines().next()?.split_once("total=")?;
    total.trim().parse().ok()
}

/// When, at which commit and on which machine a case is measured. Entries of one page may come from
/// several machines.
#[derive(Clone, Debug)]
pub(crate) struct Occasion {
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) machine: BTreeMap<String, String>,
}

impl Occasion {
    /// Returns this occasion, with properties of the machine beside those of [`describe`].
    pub(crate) fn now(more: impl IntoIterator<Item = (&'static str, String)>) -> Result<Occasion> {
        let machine = describe().into_iter().chain(more);
        let machine = machine.map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Occasion { date: date()?, commit: commit()?, machine })
    }
}

fn cpus() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown");
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    format!("{count} × {model}")
}

/// Returns the properties of the machine, each with its value.
pub(crate) fn describe() -> Vec<(&'static str, String)> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib = field(&meminfo, "MemTotal").and_then(|text| text.split(' ').next());
    let memory_kib: f64 = memory_kib.and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let governor = line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    vec![
        ("CPU", cpus()),
        ("frequency governor", governor.unwrap_or_else(|| "not told (as in most guests)".into())),
        ("memory", format!("{:.1} GiB", memory_kib / f64::from(1 << 20))),
        ("kernel", line_of("/proc/sys/kernel/osrelease").unwrap_or_default()),
        (
            "clock source",
            line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .unwrap_or_default(),
        ),
        (
            "congestion control",
            line_of("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default(),
        ),
    ]
}

/// Returns the commit that is built, and a mark if its sources have been changed since. Pages with
/// measurements do not count as sources.
pub(crate) fn commit() -> Result<String> {
    let git = |words: &[&str]| -> Result<String> {
        let output = Command::new("git").args(words).current_dir(root()?).output();
        let output = output.context("failed to ask `git` for the commit")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--", ".", ":!docs"])?;
    Ok(if changes.is_empty() { commit } else { commit + "-dirty" })
}

/// Returns today's date, in UTC.
pub(crate) fn date() -> Result<String> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let output = output.context("failed to ask `date` for the date")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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

fn line_of(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns the value in the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|p| p.1)
}

/// Returns the numbers in `0-2,5`.
fn cpus_in(list: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus_in("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cpus_in("3"), [3]);
        assert!(cpus_in("").is_empty());
    }

    #[test]
    fn pressure_is_read() {
        let stat = "cpu  10 0 20 60 5 0 1 4 2 1\ncpu0 1 2\n";
        assert_eq!(cpu_ticks(stat), Some(CpuTicks { stolen: 4, total: 100 }));
        assert_eq!(cpu_ticks("intr 5"), None);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00";
        assert_eq!(waited_us(pressure), Some(1_234));
        assert_eq!(waited_us(""), None);
    }

    #[test]
    fn fields_are_found() {
        let text = "a : 1\nmodel name\t: B c\nmodel name\t: D\n";
        assert_eq!(field(text, "model name"), Some("B c"));
        assert_eq!(field(text, "b"), None);
    }
}
