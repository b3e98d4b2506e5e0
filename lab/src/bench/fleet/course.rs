//! A run on a fleet, and what the bus and the coordinator spend in each of its phases.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weir_machine::{Process, Root, TICK_NS, peak_memory_bytes};
use weir_result::Document;

use super::bus::{BusCounts, CountingBus};
use crate::rig::{Fixture, Section, Server, clients, table};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) fn peak_mib(pid: u32) -> Result<f64> {
    let status = Root::machine().text(&format!("proc/{pid}/status")).unwrap_or_default();
    peak_memory_bytes(&status).map(clients::mib).context("a process has ended")
}

/// Readings at one time, all from the start of their processes.
#[derive(Clone, Copy)]
struct BusReading {
    at: Instant,
    bus_cpu_s: f64,
    coordinator_cpu_s: f64,
    counts: BusCounts,
}

impl BusReading {
    fn now(bus: &CountingBus, coordinator_cpu_s: f64) -> Result<BusReading> {
        let at = Instant::now();
        let counts = bus.counts()?;
        let bus_cpu_s = cpu_s(bus.pid()).context("the bus has ended")?;
        Ok(BusReading { at, bus_cpu_s, coordinator_cpu_s, counts })
    }
}

/// A run, with readings at its start, at the first movement of its load, at the last, and at its
/// end.
pub(super) struct Course {
    readings: [BusReading; 4],
    document: Document,
    code: Option<i32>,
    pub(super) bus_mib: f64,
    pub(super) coordinator_mib: f64,
    /// Most bytes that the bus kept.
    kept_bytes: u64,
}

impl Course {
    /// Runs the coordinator with these flags. `moves` returns a count that grows during the load,
    /// and not before or after it.
    pub(super) fn of(
        fixture: &Fixture,
        flags: &str,
        server: &Server,
        bus: &CountingBus,
        moves: &dyn Fn() -> Result<u64>,
    ) -> Result<Course> {
        eprintln!("bench: weir {flags}");
        let mut count = moves()?;
        let mut command = Command::new(&fixture.weir);
        command.args(flags.split_whitespace()).args(["--bus", &bus.address, &server.url]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let start = BusReading::now(bus, 0.0)?;
        let coordinator = command.spawn().context("failed to start weir")?;
        let pid = coordinator.id();
        let output = thread::spawn(move || coordinator.wait_with_output());
        let mut first = None;
        let mut load_end = None;
        let mut coordinator_cpu_s = 0.0;
        let mut coordinator_mib = 0.0;
        let mut kept_bytes = 0;
        while !output.is_finished() {
            thread::sleep(LOOK_EVERY);
            // An ended process has no figures; the last ones stay.
            coordinator_cpu_s = cpu_s(pid).unwrap_or(coordinator_cpu_s);
            coordinator_mib = peak_mib(pid).unwrap_or(coordinator_mib);
            let now = moves()?;
            // The bus is read seldom, for each reading is work for it.
            if now == count && first.is_some() {
                if load_end.is_none() {
                    load_end = Some(BusReading::now(bus, coordinator_cpu_s)?);
                }
                kept_bytes = kept_bytes.max(bus.kept_bytes()?);
            } else if now > count {
                (count, load_end) = (now, None);
                if first.is_none() {
                    first = Some(BusReading::now(bus, coordinator_cpu_s)?);
                }
            }
        }
        let last = BusReading::now(bus, coordinator_cpu_s)?;
        let output = output.join().expect("waiting does not panic").context("weir is lost")?;
        let (Some(first), Some(load_end)) = (first, load_end) else {
            bail!("the load has not begun");
        };
        Ok(Course {
            readings: [start, first, load_end, last],
            document: clients::document(&String::from_utf8_lossy(&output.stdout))?,
            code: output.status.code(),
            bus_mib: peak_mib(bus.pid())?,
            coordinator_mib,
            kept_bytes,
        })
    }

    /// Adds a row for each phase, and one for a second of the load.
    pub(super) fn add_to(&self, section: &mut Section, agents: &str) {
        let phases = ["gather, prepare, start", "load", "collect, report"];
        for (phase, pair) in phases.into_iter().zip(self.readings.windows(2)) {
            let spent = Spent::between(&pair[0], &pair[1]);
            spent.add_to(section, agents, phase, &format!("{:.1}", spent.seconds));
        }
        self.second().add_to(section, agents, "load, per second", "1");
    }

    /// Returns the version of weir that its agents had, with the commit.
    pub(super) fn version(&self) -> String {
        let commit = self.document.environment.weir_commit.as_deref().unwrap_or_default();
        format!("{} {commit}", self.document.tool.version).trim_end().to_owned()
    }

    /// Returns the costs of a second of the load.
    pub(super) fn second(&self) -> Spent {
        let load = Spent::between(&self.readings[1], &self.readings[2]);
        load.times(1.0 / load.seconds)
    }

    /// Returns the other figures, each with its name.
    pub(super) fn others(&self) -> Result<[(&'static str, String); 5]> {
        let begin_s = (self.readings[1].at - self.readings[0].at).as_secs_f64();
        let fleet = self.document.fleet.as_ref().context("no fleet is in the document")?;
        let errors = fleet.agents.iter().filter_map(|agent| agent.clock_error_ns);
        let clock_error_ns = errors.max().context("no clock is known")?;
        Ok([
            ("start to first request, s", format!("{begin_s:.1}")),
            ("greatest bound of a clock, ms", format!("{:.2}", clock_error_ns as f64 / 1e6)),
            ("nats-server, peak MiB", format!("{:.0}", self.bus_mib)),
            ("coordinator, peak MiB", format!("{:.0}", self.coordinator_mib)),
            ("kept by the bus, most KiB", (self.kept_bytes >> 10).to_string()),
        ])
    }

    /// Requires that all parts are complete.
    pub(super) fn judge(&self, section: &mut Section, agents: u32) {
        let document = &self.document;
        let ok = document.results.outcomes.ok;
        let planned = document.results.planned;
        let fleet = document.fleet.as_ref();
        let lost = fleet.map_or(agents as usize, |fleet| fleet.lost().count());
        let missing = document.missing_parts().count();
        section.must(fleet.is_some_and(|fleet| fleet.agents.len() == agents as usize), || {
            "another number of agents".to_owned()
        });
        section.must(lost == 0 && missing == 0, || {
            format!("{lost} agents are lost, {missing} parts are missing")
        });
        section.must(ok == planned && planned > 0, || format!("{ok} of {planned} ok"));
        section.must(self.code == Some(0), || format!("exit status {:?}", self.code));
    }
}

/// Returns the CPU time of a process in seconds; `None` if it has ended.
fn cpu_s(pid: u32) -> Option<f64> {
    let process = Process::read(&Root::machine(), pid)?;
    Some(Duration::from_nanos(process.ticks * TICK_NS).as_secs_f64())
}

/// Costs between two readings.
pub(super) struct Spent {
    seconds: f64,
    pub(super) bus_cpu_s: f64,
    pub(super) coordinator_cpu_s: f64,
    pub(super) in_messages: f64,
    out_messages: f64,
    pub(super) in_bytes: f64,
    pub(super) out_bytes: f64,
}

impl Spent {
    fn between(from: &BusReading, to: &BusReading) -> Spent {
        let more = |count: fn(&BusCounts) -> u64| (count(&to.counts) - count(&from.counts)) as f64;
        Spent {
            seconds: (to.at - from.at).as_secs_f64(),
            bus_cpu_s: to.bus_cpu_s - from.bus_cpu_s,
            coordinator_cpu_s: to.coordinator_cpu_s - from.coordinator_cpu_s,
            in_messages: more(|counts| counts.in_messages),
            out_messages: more(|counts| counts.out_messages),
            in_bytes: more(|counts| counts.in_bytes),
            out_bytes: more(|counts| counts.out_bytes),
        }
    }

    pub(super) fn times(&self, factor: f64) -> Spent {
        Spent {
            seconds: self.seconds * factor,
            bus_cpu_s: self.bus_cpu_s * factor,
            coordinator_cpu_s: self.coordinator_cpu_s * factor,
            in_messages: self.in_messages * factor,
            out_messages: self.out_messages * factor,
            in_bytes: self.in_bytes * factor,
            out_bytes: self.out_bytes * factor,
        }
    }

    /// Adds a row to the section's table.
    pub(super) fn add_to(&self, section: &mut Section, agents: &str, phase: &str, seconds: &str) {
        section.row(&[
            ("agents", &agents),
            ("phase", &phase),
            ("seconds", &seconds),
            ("nats-server, CPU s", &format!("{:.3}", self.bus_cpu_s)),
            ("coordinator, CPU s", &format!("{:.3}", self.coordinator_cpu_s)),
            ("messages in", &table::rate(self.in_messages)),
            ("messages out", &table::rate(self.out_messages)),
            ("MB in", &format!("{:.3}", self.in_bytes / 1e6)),
            ("MB out", &format!("{:.3}", self.out_bytes / 1e6)),
        ]);
    }
}
