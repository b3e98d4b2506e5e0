//! Costs of a fleet: 100 agents on one nats-server, and from them those of 1,000.

mod bus;

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Process, Root, TICK_NS, peak_memory_bytes};
use weir_result::Document;
use xtask::shell::need_program;

use crate::rig::{Fixture, MedianInterval, Section, Server, Table, clients, table};
use bus::{BusCounts, CountingBus};

const TITLE: &str = "A fleet of 100 agents";

const QUESTION: &str = "What do the bus and the coordinator cost?";

/// Each takes more than 1% of a CPU: 200 are more than a machine of two CPUs has.
const AGENTS: u32 = 100;
const MANY: f64 = 1_000.0;

/// Time between two looks, and the longest time for all agents to be on the bus.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) fn fleet(fixture: &Fixture) -> Result<Section> {
    let seconds = fixture.span(30, 5);
    let flags = format!("-R 2000 -c 400 -t {AGENTS} -d {seconds}s --warmup 0 --no-preflight");
    let method = format!(
        "{AGENTS} processes of weir agent, one nats-server, one coordinator and weir serve share \
         two CPUs. `weir --agents {AGENTS} {flags}`: all parts must be complete. The agents have \
         one clock; several machines add a probe and its answer for each agent and second. CPU \
         time and messages are those of the process, and the server's own counts. The load of \
         {MANY} agents is that of one agent and second, times {MANY}."
    );
    let mut section = Section::new(TITLE, QUESTION, method);
    let server = Server::weir(&fixture.weir, None, "--threads 1")?;
    let bus = CountingBus::start(&fixture.directory)?;
    let agents = start_agents(fixture, &bus)?;
    let words = format!("--agents {AGENTS} --bus {} {flags} --format json", bus.address);
    let course = Course::of(fixture, &words, &server, &bus)?;
    course.add_to(&mut section, &agents)?;
    Ok(section)
}

/// An agent, which ends with this value and with this program.
struct FreeAgent(Child);

impl FreeAgent {
    fn start(fixture: &Fixture, number: u32, bus: &CountingBus) -> Result<FreeAgent> {
        let mut command = Command::new(need_program("setpriv", "bench")?);
        command.args(["--pdeathsig", "KILL"]).arg(&fixture.weir);
        command.args(["agent", "--quiet", "--bus", &bus.address]);
        command.arg("--name").arg(format!("gen-{number}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(FreeAgent(child.context("failed to start an agent")?))
    }

    /// Returns the peak of its resident memory in MiB.
    fn peak_mib(&self) -> Result<f64> {
        peak_mib(self.0.id())
    }
}

impl Drop for FreeAgent {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts all agents, and waits until they are connected.
fn start_agents(fixture: &Fixture, bus: &CountingBus) -> Result<Vec<FreeAgent>> {
    eprintln!("bench: {AGENTS} times weir agent");
    let agents = (1..=AGENTS).map(|number| FreeAgent::start(fixture, number, bus));
    let agents = agents.collect::<Result<_>>()?;
    let since = Instant::now();
    while bus.connections()? < u64::from(AGENTS) {
        ensure!(since.elapsed() < PATIENCE, "not all agents are on the bus");
        thread::sleep(LOOK_EVERY);
    }
    Ok(agents)
}

fn peak_mib(pid: u32) -> Result<f64> {
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
        let (at, counts) = (Instant::now(), bus.counts()?);
        let bus_cpu_s = cpu_s(bus.pid()).context("the bus has ended")?;
        Ok(BusReading { at, bus_cpu_s, coordinator_cpu_s, counts })
    }
}

/// A run, with readings at its start, at its first request, at the end of its load and at its end.
struct Course {
    readings: [BusReading; 4],
    document: Document,
    code: Option<i32>,
    bus_mib: f64,
    coordinator_mib: f64,
    /// Most bytes that the bus kept.
    kept_bytes: u64,
}

impl Course {
    /// Runs the coordinator with these words.
    fn of(fixture: &Fixture, words: &str, server: &Server, bus: &CountingBus) -> Result<Course> {
        eprintln!("bench: weir {words}");
        let idle = server.counts()?.requests;
        let mut command = Command::new(&fixture.weir);
        command.args(words.split_whitespace()).arg(&server.url);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let start = BusReading::now(bus, 0.0)?;
        let coordinator = command.spawn().context("failed to start weir")?;
        let pid = coordinator.id();
        let output = thread::spawn(move || coordinator.wait_with_output());
        let (mut first, mut load_end, mut requests) = (None, None, idle);
        let (mut coordinator_cpu_s, mut coordinator_mib, mut kept_bytes) = (0.0, 0.0, 0);
        while !output.is_finished() {
            thread::sleep(LOOK_EVERY);
            // An ended process has no figures; the last ones stay.
            coordinator_cpu_s = cpu_s(pid).unwrap_or(coordinator_cpu_s);
            coordinator_mib = peak_mib(pid).unwrap_or(coordinator_mib);
            let now = server.counts()?.requests;
            // The bus is read seldom, for each reading is work for it.
            if now == requests && first.is_some() {
                if load_end.is_none() {
                    load_end = Some(BusReading::now(bus, coordinator_cpu_s)?);
                }
                kept_bytes = kept_bytes.max(bus.kept_bytes()?);
            } else if now > requests {
                (requests, load_end) = (now, None);
                if first.is_none() {
                    first = Some(BusReading::now(bus, coordinator_cpu_s)?);
                }
            }
        }
        let last = BusReading::now(bus, coordinator_cpu_s)?;
        let output = output.join().expect("waiting does not panic").context("weir is lost")?;
        let (Some(first), Some(load_end)) = (first, load_end) else {
            bail!("nothing came to the server");
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

    fn add_to(&self, section: &mut Section, agents: &[FreeAgent]) -> Result<()> {
        let phases = ["gather, prepare, start", "load", "collect, report"];
        for (phase, pair) in phases.into_iter().zip(self.readings.windows(2)) {
            let spent = Spent::between(&pair[0], &pair[1]);
            spent.add_to(section, phase, &format!("{:.1}", spent.seconds));
        }
        let [_, first, load_end, _] = &self.readings;
        let load = Spent::between(first, load_end);
        let second = load.times(1.0 / load.seconds);
        second.add_to(section, "load, per second", "1");
        let many = second.times(MANY / f64::from(AGENTS));
        many.add_to(section, &format!("the same of {} agents", table::thousands(MANY as u64)), "1");
        let peaks = agents.iter().map(FreeAgent::peak_mib).collect::<Result<Vec<f64>>>()?;
        let agent_mib = MedianInterval::of(peaks).median;
        let begin_s = (first.at - self.readings[0].at).as_secs_f64();
        let mut others = Table::new(&["", "value"]);
        for (name, value) in [
            ("start to first request, s", format!("{begin_s:.1}")),
            ("nats-server, peak MiB", format!("{:.0}", self.bus_mib)),
            ("coordinator, peak MiB", format!("{:.0}", self.coordinator_mib)),
            ("an agent, peak MiB (median)", format!("{agent_mib:.1}")),
            ("kept by the bus, most KiB", (self.kept_bytes >> 10).to_string()),
        ] {
            others.row(&[name, &value]);
        }
        section.table("Beside them:", others);
        self.judge(section);
        section.verdict(format!(
            "A second of load takes nats-server {:.1}% of a CPU and the coordinator {:.1}%; of \
             {} agents {:.0}% and {:.0}%, with {:.1} MB/s out.",
            100.0 * second.bus_cpu_s,
            100.0 * second.coordinator_cpu_s,
            table::thousands(MANY as u64),
            100.0 * many.bus_cpu_s,
            100.0 * many.coordinator_cpu_s,
            many.out_bytes / 1e6,
        ));
        Ok(())
    }

    /// Requires that all parts are complete.
    fn judge(&self, section: &mut Section) {
        let document = &self.document;
        let (ok, planned) = (document.accounting.ok, document.accounting.planned);
        let fleet = document.fleet.as_ref();
        let lost = fleet.map_or(AGENTS as usize, |fleet| fleet.lost().count());
        let missing = document.missing_parts().count();
        section.must(fleet.is_some_and(|fleet| fleet.agents.len() == AGENTS as usize), || {
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
struct Spent {
    seconds: f64,
    bus_cpu_s: f64,
    coordinator_cpu_s: f64,
    in_messages: f64,
    out_messages: f64,
    in_bytes: f64,
    out_bytes: f64,
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

    fn times(&self, factor: f64) -> Spent {
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

    fn add_to(&self, section: &mut Section, phase: &str, seconds: &str) {
        section.row(&[
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
