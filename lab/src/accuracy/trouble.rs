//! V38: a fleet in which something goes wrong, on machines of its own: each event of the guide with
//! the report, the exit status, and the load as the server's log has it.

mod private;
mod row;
mod trial;

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::accuracy::fleet::machines::{AGENTS, Machines, NETWORKS, Network};
use crate::accuracy::fleet::processes::{
    DOCUMENT, FleetAgent, FleetBus, FleetLoad, FleetLoadEnd, FleetTarget, is_alive,
};
use crate::rig::{Fixture, Section, freeze, monotonic_ns, signal};
use row::Row;
use trial::{LOAD, Scene, TroubleSeen, TroubledRun, bus_flags, last_name};

/// The time after which an agent that hears nothing ends its load, and after which one that is not
/// heard is given up; with a second to spare.
const LEASE_S: f64 = 11.0;

/// Runs case V38 of METHOD 2.1.
pub(super) fn trouble(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "a fleet when something goes wrong",
        "Does a fleet end as the guide says when a part of it is lost?",
        format!(
            "Three agents, their bus, a coordinator and the server in network namespaces, with one \
             network for the bus and one for the load; 2,000/s over 30 connections. After about \
             2 s something goes wrong, at second 0 of the last column, in which an agent ends or \
             is given up within {LEASE_S} s. A complete run has each slot in the log once; where \
             all parts are delivered, the document counts as many requests as the log. An agent of \
             another version takes a second program, and is left to the tests of weir-fleet."
        ),
    );
    let machines = Machines::make(&AGENTS)?;
    let mut scene = Scene { fixture, machines, bus: FleetBus::start(&fixture.directory)? };
    let events: [fn(&mut Scene<'_>) -> Result<Row>; 12] = [
        too_few,
        slow_agent,
        killed_agent,
        killed_agent_of_three,
        short_cut,
        bus_cut,
        long_cut,
        killed_bus,
        killed_coordinator,
        ended_agent,
        private::killed_coordinator,
        private::first_request,
    ];
    let mut good = 0;
    for event in events {
        good += usize::from(event(&mut scene)?.add_to(&mut section));
    }
    section.verdict(format!("{good} of {} events ended so.", events.len()));
    Ok(section)
}

fn too_few(scene: &mut Scene<'_>) -> Result<Row> {
    let _agents = FleetAgent::start_all(scene.fixture)?;
    let target = FleetTarget::start(scene.fixture)?;
    let flags = format!("--agents 4 --agents-within 3s {LOAD} -d 1s {}", bus_flags());
    let event_ns = monotonic_ns()?;
    let end = FleetLoad::start(scene.fixture, &flags, &target.url)?.finish()?;
    let seen = TroubleSeen { end, log: target.finish()?, event_ns };
    let errors = seen.end.errors.trim().to_owned();
    let mut row = Row::of("three agents for --agents 4", &seen, &errors);
    row.must(seen.end.code == Some(1), || format!("exit status {:?}", seen.end.code));
    row.must(seen.log.is_empty(), || format!("{} requests", seen.log.len()));
    row.must(AGENTS.iter().all(|name| errors.contains(name)), || errors.clone());
    Ok(row)
}

fn slow_agent(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 8s")?;
    freeze(trial.last_agent()?, Duration::from_secs(5))?;
    let seen = trial.end()?;
    let load = seen.line("Load").unwrap_or_default();
    let mut row = Row::of("an agent stands still for 5 s", &seen, &format!("Load: {load}"));
    row.must_be_complete(&seen)?;
    row.must(load.starts_with("late"), || format!("Load: {load}"));
    row.must_have_rate(&seen, 2.0 / 3.0, 0.5..4.5);
    Ok(row)
}

/// Returns the row of an event with the line `Parts`.
fn row_of_parts(event: &str, seen: &TroubleSeen) -> Row {
    Row::of(event, seen, &format!("Parts: {}", seen.line("Parts").unwrap_or_default()))
}

fn killed_agent(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 20s")?;
    signal("KILL", trial.last_agent()?)?;
    let seen = trial.end()?;
    let mut row = row_of_parts("an agent is killed", &seen);
    row.must_name(&seen, "was not heard any more after");
    row.must_tell_the_time(&seen)?;
    row.must_have_rate(&seen, 2.0 / 3.0, 0.5..9.0);
    row.must_end(&seen, LEASE_S);
    Ok(row)
}

fn killed_agent_of_three(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 8s --on-loss continue")?;
    signal("KILL", trial.last_agent()?)?;
    let seen = trial.end()?;
    let mut row = row_of_parts("the same with --on-loss continue", &seen);
    row.must_name(&seen, "was not heard any more after");
    row.must_tell_the_time(&seen)?;
    row.must_have_rate(&seen, 2.0 / 3.0, 0.5..7.5 - seen.event_s());
    let end_s = seen.event_s() + seen.last_s();
    row.must((7.9..8.2).contains(&end_s), || format!("the load ended after {end_s:.2} s"));
    Ok(row)
}

fn short_cut(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 8s")?;
    scene.machines.cut_off(last_name(), &NETWORKS)?;
    thread::sleep(Duration::from_secs(4));
    scene.machines.connect(last_name(), &NETWORKS)?;
    let seen = trial.end()?;
    let load = seen.line("Load").unwrap_or_default();
    let mut row = Row::of("an agent is cut off for 4 s", &seen, &format!("Load: {load}"));
    row.must_be_complete(&seen)?;
    row.must_have_rate(&seen, 2.0 / 3.0, 0.5..3.5);
    Ok(row)
}

/// The load goes on, so it shows that neither side gave the other up.
fn bus_cut(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 10s")?;
    scene.machines.cut_off(last_name(), &[Network::Bus])?;
    thread::sleep(Duration::from_secs(7));
    scene.machines.connect(last_name(), &[Network::Bus])?;
    let seen = trial.end()?;
    let load = seen.line("Load").unwrap_or_default();
    let what = "an agent cannot reach the bus for 7 s";
    let mut row = Row::of(what, &seen, &format!("Load: {load}"));
    row.must_be_complete(&seen)?;
    row.must_have_rate(&seen, 1.0, 0.5..7.0);
    Ok(row)
}

fn long_cut(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 20s --on-loss continue")?;
    scene.machines.cut_off(last_name(), &[Network::Bus])?;
    thread::sleep(Duration::from_secs(12));
    scene.machines.connect(last_name(), &[Network::Bus])?;
    let seen = trial.end()?;
    let mut row = row_of_parts("the bus is out of an agent's reach for 12 s", &seen);
    row.must_name(&seen, "was not heard any more after");
    // Its document is delivered late.
    row.must_be_counted(&seen)?;
    row.must_have_rate(&seen, 1.0, 0.5..8.5);
    row.must_have_rate(&seen, 2.0 / 3.0, LEASE_S..15.0);
    Ok(row)
}

fn killed_bus(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 8s")?;
    scene.bus.be_away_for(Duration::from_secs(3))?;
    let seen = trial.end()?;
    let load = seen.line("Load").unwrap_or_default();
    let mut row = Row::of("the bus is killed, and back after 3 s", &seen, &format!("Load: {load}"));
    row.must_be_complete(&seen)?;
    row.must_have_rate(&seen, 1.0, 0.5..5.0);
    Ok(row)
}

fn killed_coordinator(scene: &mut Scene<'_>) -> Result<Row> {
    let mut trial = TroubledRun::begin(scene, "-d 60s")?;
    trial.load.kill()?;
    // Longer than the lease: what is sent after it is seen.
    thread::sleep(Duration::from_secs_f64(LEASE_S + 1.0));
    let agents = trial.agents.iter().map(FleetAgent::pid).collect::<Result<Vec<u32>>>()?;
    ensure!(agents.into_iter().all(is_alive), "an agent has ended");
    let TroubleSeen { log, event_ns, .. } = trial.end()?;
    let run = kept_run(scene)?;
    let end = weir(scene, &format!("fleet resume {run} -o {DOCUMENT}"))?;
    let seen = TroubleSeen { end, log, event_ns };
    let mut row = row_of_parts("the coordinator is killed; weir fleet resume", &seen);
    row.must_name(&seen, "did not hear the coordinator any more");
    row.must_have_rate(&seen, 1.0, 0.5..8.0);
    row.must_end(&seen, LEASE_S);
    row.must_be_counted(&seen)?;
    Ok(row)
}

/// Runs a command of weir about the bus.
fn weir(scene: &Scene<'_>, command: &str) -> Result<FleetLoadEnd> {
    let words = format!("{command} {}", bus_flags());
    FleetLoad::start_words(scene.fixture, &words.split_whitespace().collect::<Vec<_>>())?.finish()
}

/// Returns the name of the only run that the bus keeps.
fn kept_run(scene: &Scene<'_>) -> Result<String> {
    let status = weir(scene, "fleet status")?.report;
    let runs = status.lines().filter_map(|line| line.strip_prefix("run ")?.split(' ').next());
    let runs: Vec<&str> = runs.collect();
    let [run] = runs[..] else { bail!("the bus keeps {} runs: {status}", runs.len()) };
    Ok(run.to_owned())
}

fn ended_agent(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin(scene, "-d 8s")?;
    signal("TERM", trial.last_agent()?)?;
    let seen = trial.end()?;
    let mut row = row_of_parts("an agent is ended by SIGTERM", &seen);
    row.must_name(&seen, "was ended by SIGTERM");
    row.must_end(&seen, 2.0);
    row.must_be_counted(&seen)?;
    Ok(row)
}
