//! Costs of a fleet: real agents and simulated ones on one nats-server, and from them those of
//! 1,000.

mod bus;
mod course;
mod real;
mod simulated;

use anyhow::Result;
use weir_result::{Arrivals, DueTimes, Part, Rate, Warmup};
use weir_runner::RunSpec;

use crate::rig::{Fixture, MedianInterval, Section, Server, Table, table};
use bus::CountingBus;
use course::{Course, Spent};
use real::RealAgent;
use simulated::{Recording, SimulatedAgents};

const TITLE: &str = "A fleet of 200 agents";

const QUESTION: &str = "What do the bus and the coordinator cost?";

/// Each takes more than 1% of a CPU: 200 are more than a machine of two CPUs has.
const REAL: u32 = 100;
const SIMULATED: u32 = 200;
const MANY: f64 = 1_000.0;

/// Requests per second and connections of each agent.
const RATE: u32 = 10;
const CONNECTIONS: u32 = 2;

pub(super) fn fleet(fixture: &Fixture) -> Result<Section> {
    let seconds = fixture.span(30, 5);
    let method = format!(
        "One nats-server, one coordinator, weir serve and the agents share two CPUs. First {REAL} \
         processes of weir agent, which have one clock; then {SIMULATED} simulated agents. A \
         simulated one is a thread that talks to the bus as any agent does, examines no machine, \
         sends no request, and delivers the intervals, frames and document that one part of the \
         same load has measured on this machine before, at the times at which they came. It names \
         a clock of its own, which the coordinator probes. Each agent has {RATE} requests/s on \
         {CONNECTIONS} connections for {seconds} s. All parts must be complete. CPU time and \
         messages are those of the process, and the server's own counts. The load of {MANY} agents \
         is that of one simulated agent, times {MANY}."
    );
    let mut section = Section::new(TITLE, QUESTION, method);
    let server = Server::weir(&fixture.weir, None, "--threads 1")?;
    let (real, agent_mib) = with_real(fixture, &server, ConstantLoad { agents: REAL, seconds })?;
    let version = real.version();
    let simulated =
        with_simulated(fixture, &server, ConstantLoad { agents: SIMULATED, seconds }, &version)?;
    let courses = [(format!("{REAL} real"), &real), (format!("{SIMULATED} simulated"), &simulated)];
    for (name, course) in &courses {
        course.add_to(&mut section, name);
    }
    let many = simulated.second().times(MANY / f64::from(SIMULATED));
    many.add_to(&mut section, &table::thousands(MANY as u64), "load, per second", "1");
    let mut others = Table::new(&["", &courses[0].0, &courses[1].0]);
    for ((name, one), (_, other)) in real.others()?.into_iter().zip(simulated.others()?) {
        others.row(&[name, &one, &other]);
    }
    others.row(&["an agent, peak MiB (median)", &format!("{agent_mib:.1}"), ""]);
    section.table("Beside them:", others);
    real.judge(&mut section, REAL);
    simulated.judge(&mut section, SIMULATED);
    section.verdict(verdict(&simulated, &many));
    Ok(section)
}

fn verdict(simulated: &Course, many: &Spent) -> String {
    let second = simulated.second();
    format!(
        "{SIMULATED} agents, each second of load: {} messages, {:.1} MB to nats-server and {:.1} \
         from it, which takes {:.1}% of a CPU and {:.0} MiB; the coordinator {:.1}% and {:.0} MiB. \
         By arithmetic {} agents: {} messages, {:.1} and {:.1} MB, {:.0}% and {:.0}%.",
        table::rate(second.in_messages),
        second.in_bytes / 1e6,
        second.out_bytes / 1e6,
        100.0 * second.bus_cpu_s,
        simulated.bus_mib,
        100.0 * second.coordinator_cpu_s,
        simulated.coordinator_mib,
        table::thousands(MANY as u64),
        table::rate(many.in_messages),
        many.in_bytes / 1e6,
        many.out_bytes / 1e6,
        100.0 * many.bus_cpu_s,
        100.0 * many.coordinator_cpu_s,
    )
}

/// The load on some agents.
#[derive(Clone, Copy)]
struct ConstantLoad {
    agents: u32,
    seconds: u64,
}

impl ConstantLoad {
    /// Returns it as flags of weir.
    fn flags(self) -> String {
        let ConstantLoad { agents, seconds } = self;
        let rate = RATE * agents;
        let connections = CONNECTIONS * agents;
        format!(
            "--agents {agents} -t {agents} -R {rate} -c {connections} -d {seconds}s --warmup 0 \
             --no-preflight --format json"
        )
    }

    /// Returns it as a specification.
    fn spec(self, url: &str) -> RunSpec {
        let mut spec = RunSpec::new(url);
        let rate = Rate { numerator: u64::from(RATE * self.agents), denominator: 1 };
        spec.load.due = Some(DueTimes::constant(rate, Arrivals::Uniform));
        spec.load.connections = (CONNECTIONS * self.agents).into();
        spec.load.duration_ns = Some(self.seconds * 1_000_000_000);
        spec.load.warmup = Warmup::default();
        spec.engine.threads = Some(self.agents);
        spec.checks.preflight = false;
        spec
    }
}

/// Runs the load on real agents. Returns their median memory too, in MiB.
fn with_real(fixture: &Fixture, server: &Server, load: ConstantLoad) -> Result<(Course, f64)> {
    let bus = CountingBus::start(&fixture.directory)?;
    let agents = real::start(fixture, &bus, load.agents)?;
    let requests = || Ok(server.counts()?.requests);
    let course = Course::of(fixture, &load.flags(), server, &bus, &requests)?;
    let peaks = agents.iter().map(RealAgent::peak_mib).collect::<Result<Vec<f64>>>()?;
    Ok((course, MedianInterval::of(peaks).median))
}

/// Runs the load on simulated agents, which name this version of weir.
fn with_simulated(
    fixture: &Fixture,
    server: &Server,
    load: ConstantLoad,
    version: &str,
) -> Result<Course> {
    let bus = CountingBus::start(&fixture.directory)?;
    eprintln!("bench: one part of the load for {} simulated agents", load.agents);
    let spec = RunSpec { part: Part::new(1, load.agents), ..load.spec(&server.url) };
    let recording = Recording::of(&spec)?;
    let agents = SimulatedAgents::start(load.agents, &bus.address, version, recording)?;
    Course::of(fixture, &load.flags(), server, &bus, &|| Ok(agents.delivered()))
}
