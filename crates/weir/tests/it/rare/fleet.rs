//! Runs on several agents in which something happens, with a real nats-server: of the run's own,
//! and one that agents were connected to before.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use weir_fleet::{AgentProcess, AgentSettings, BusAccess, clock_name, on_this_machine};
use weir_result::document::AgentEnd;
use weir_result::study::{Trial, TrialOutcome};
use weir_result::{Document, Study};
use weir_runner::LocalRunner;

use crate::support::agents::{
    await_load, children, command_line, document, is_alive, kill, start, weir_with_nats,
};
use crate::support::directory::Directory;
use crate::support::nats::start_nats;
use crate::support::process::Process;
use crate::support::served::Served;
use crate::support::wait::until;
use crate::support::weir::WEIR;

#[test]
fn a_killed_agent_is_named_and_the_others_go_on() {
    let server = Served::plainly();
    let directory = Directory::new();
    let words = "--agents 2 --on-loss continue --no-preflight -R 200 -c 4 -d 6s --warmup 0 \
                 --drain 10s";
    let running = start(&directory, words, Some(&server.url()));
    // The first second has long been over, and what each agent measured in it is on the bus.
    until("most of the load", || (server.requests() > 900).then_some(()));
    let agents =
        children(running.id()).into_iter().filter(|id| command_line(*id).contains("agent"));
    let first = agents.min().expect("an agent");
    kill(first);
    let output = running.wait();
    assert_eq!(output.code(), 4, "{output:?}");
    let place = |label: &str| output.stdout.find(label).unwrap_or(usize::MAX);
    assert!(place("  Parts  ") < place("  Target  "), "{output:?}");
    let text = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("was not heard any more"), "{output:?}");
    let document = document(&directory);
    assert_eq!(document.results.outcomes.ok, 600, "the other agent's half is complete");
    let fleet = document.fleet.expect("agents carried it out");
    let ends: Vec<AgentEnd> = fleet.agents.iter().map(|agent| agent.end).collect();
    assert_eq!(ends, [AgentEnd::Lost, AgentEnd::Planned]);
    let left: u64 = fleet.agents[0].intervals.iter().map(|interval| interval.completed).sum();
    assert!((50..600).contains(&left), "{:?}", fleet.agents[0]);
    assert!(fleet.agents[1].intervals.is_empty());
    assert!(text.contains("1 of 2 agents delivered; the figures cover 50"), "{output:?}");
    assert!(text.contains(&format!("{left} responses, p50 ")), "{output:?}");
}

#[test]
fn nothing_outlives_a_killed_coordinator() {
    let server = Served::plainly();
    let directory = Directory::new();
    let words = "--agents 2 --no-preflight -R 200 -c 4 -d 60s --warmup 0";
    let running = start(&directory, words, Some(&server.url()));
    await_load(&server);
    let started = children(running.id());
    assert_eq!(started.len(), 3);
    running.signal(&["KILL"]);
    let _killed = running.wait();
    until("the end of all", || (!started.iter().any(|id| is_alive(*id))).then_some(()));
}

/// A nats-server on a port of its own, with its place for what it keeps, and its address.
fn start_bus(directory: &Directory) -> (Process, String) {
    let arguments = ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", ".", "-l", "log"];
    let (server, host) = start_nats(directory.path(), &arguments);
    (server, format!("nats://{host}"))
}

fn start_agent(name: &str, bus: &str) -> Process {
    Process::start(Command::new(WEIR).args(["agent", "--name", name, "--bus", bus]))
}

#[test]
fn an_agent_that_is_ended_hands_its_part_over() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let agents = ["gen-1", "gen-2"].map(|name| start_agent(name, &bus));
    let words = format!("--agents 2 --bus {bus} --no-preflight -R 200 -c 4 -d 60s --warmup 0");
    let running = start(&directory, &words, Some(&server.url()));
    await_load(&server);
    agents[1].signal(&["TERM"]);
    let output = running.wait();
    assert_eq!(output.code(), 4, "{output:?}");
    assert!(output.stdout.contains("agent gen-2 was ended by SIGTERM"), "{output:?}");
    let document = document(&directory);
    assert_eq!(document.parts.len(), 2, "what both measured is there");
    assert!(document.run.interrupted);
    let [first, second] = agents;
    let ended = second.wait();
    assert_eq!(ended.code(), 0, "{ended:?}");
    first.signal(&["TERM"]);
    assert_eq!(first.wait().code(), 0);
}

#[test]
fn a_second_agent_of_a_name_is_refused() {
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let first = start_agent("gen-1", &bus);
    until("the agent", || {
        let status = Command::new(WEIR).args(["fleet", "status", "--bus", &bus]).output();
        let text = String::from_utf8_lossy(&status.expect("weir").stdout).into_owned();
        text.contains("gen-1   free").then_some(())
    });
    let second = start_agent("gen-1", &bus).wait();
    assert_eq!(second.code(), 2, "{second:?}");
    assert!(second.stderr.contains("another agent is on the bus as gen-1"), "{second:?}");
    first.signal(&["TERM"]);
    assert_eq!(first.wait().code(), 0);
}

#[test]
fn a_bus_without_room_for_results_is_named_before_the_load() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    fs::write(place.file("nats.conf"), "jetstream { store_dir: \".\", max_file_store: 20MB }\n")
        .expect("the directory is the test's own");
    let arguments = ["-c", "nats.conf", "-a", "127.0.0.1", "-p", "-1", "-l", "log"];
    let (_nats, host) = start_nats(place.path(), &arguments);
    let bus = format!("nats://{host}");
    let _agents = ["gen-1", "gen-2", "gen-3"].map(|name| start_agent(name, &bus));
    let words = format!("--agents 3 --bus {bus} -d 1s");
    let output = start(&directory, &words, Some(&server.url())).wait();
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("no room for the results of 3 agents"), "{output:?}");
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn a_bus_that_dies_ends_the_run_with_what_was_heard() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (nats, bus) = start_bus(&place);
    let _agents = ["gen-1", "gen-2"].map(|name| start_agent(name, &bus));
    let words = format!("--agents 2 --bus {bus} --no-preflight -R 200 -c 4 -d 60s --warmup 0");
    let running = start(&directory, &words, Some(&server.url()));
    await_load(&server);
    drop(nats);
    let output = running.wait();
    assert_eq!(output.code(), 4, "{output:?}");
    assert!(output.stderr.contains("the bus is not reached any more"), "{output:?}");
    assert!(output.stderr.contains("agent gen-2 was not heard any more"), "{output:?}");
    // The load of 12,000 requests has ended with the lease.
    assert!(server.stop().requests.received < 5_000);
}

#[test]
fn a_signal_before_the_begin_is_the_end_of_the_run() {
    let server = Served::plainly();
    let directory = Directory::new();
    let words = "--agents 2 --no-preflight -R 200 -c 4 -d 60s --warmup 0";
    let running = start(&directory, words, Some(&server.url()));
    // They are open 2 s before the start.
    until("the connections", || (server.stats().accepted >= 4).then_some(()));
    running.signal(&["INT"]);
    let output = running.wait();
    assert_eq!(output.code(), 130, "{output:?}");
}

/// A job of Kubernetes starts agents, bus and coordinator in any order, and is complete when its
/// agents have ended.
#[test]
fn agents_for_one_run_wait_for_the_bus_and_end_after_it() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (earlier, bus) = start_bus(&place);
    drop(earlier);
    let agent = |name: &str| {
        let words = ["agent", "--once", "--bus-within", "60s", "--name", name, "--bus", &bus];
        Process::start(Command::new(WEIR).args(words))
    };
    let agents = ["gen-1", "gen-2"].map(agent);
    let words = format!(
        "--agents 2 --bus {bus} --bus-within 60s --agents-within 60s --no-preflight -n 100 -c 4 \
         --warmup 0"
    );
    let running = start(&directory, &words, Some(&server.url()));
    let port = bus.rsplit_once(':').expect("a port").1;
    let arguments = ["-a", "127.0.0.1", "-p", port, "-js", "-sd", ".", "-l", "log"];
    let _nats = start_nats(place.path(), &arguments);
    let output = running.wait();
    assert_eq!(output.code(), 0, "{output:?}");
    for agent in agents {
        let ended = agent.wait();
        assert_eq!(ended.code(), 0, "{ended:?}");
    }
    assert_eq!(document(&directory).results.outcomes.ok, 100);
}

#[test]
fn an_agent_of_one_run_that_is_ended_before_it_has_failed() {
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let mut command = Command::new(WEIR);
    let agent = Process::start(command.args(["agent", "--once", "--name", "gen-1", "--bus", &bus]));
    until("the agent", || {
        let status = Command::new(WEIR).args(["fleet", "status", "--bus", &bus]).output();
        let text = String::from_utf8_lossy(&status.expect("weir").stdout).into_owned();
        text.contains("gen-1   free").then_some(())
    });
    agent.signal(&["TERM"]);
    assert_eq!(agent.wait().code(), 143);
}

#[test]
fn an_agent_of_another_version_is_refused_by_name() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let agent = AgentProcess::start(AgentSettings {
        name: "gen-1".to_owned(),
        bus: BusAccess { address: bus.clone(), identity: None },
        version: "0.0.1".to_owned(),
        cpus: 1,
        clock: clock_name(),
        is_once: false,
        runner: on_this_machine("gen-1", LocalRunner::default()),
        may_write_rows: false,
    });
    let agent = agent.expect("the bus is there");
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let serving = thread::spawn(move || {
        agent.serve(|| ends.load(Ordering::Relaxed).then(|| "SIGTERM".to_owned()))
    });
    let words = format!("--agents 1 --bus {bus} --agents-within 3s -n 1");
    let output = start(&directory, &words, Some(&server.url())).wait();
    is_over.store(true, Ordering::Relaxed);
    serving.join().expect("the agent ends").expect("it has its name alone");
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("agent gen-1 is weir 0.0.1"), "{output:?}");
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn a_study_has_the_load_of_all_agents() {
    let server = Served::plainly();
    let directory = Directory::new();
    let mut command = weir_with_nats(&directory);
    let words = "repeat -n 2 --no-settle --agents 2 -R 200 -c 4 -d 500ms --warmup 0 --drain 10s";
    command.args(words.split(' ')).args(["-o", &directory.file("study.json"), &server.url()]);
    let output = Process::start(&mut command).wait();
    assert_eq!(output.code(), 0, "{output:?}");
    let study = Study::load(directory.file("study.json")).expect("it was written");
    assert!(study.command.contains(&"--agents=2".to_owned()), "{:?}", study.command);
    let agents = |document: &Document| document.fleet.as_ref().map(|fleet| fleet.agents.len());
    let measured = |trial: &Trial| match &trial.outcome {
        TrialOutcome::Measured(document) => (document.results.outcomes.ok, agents(document)),
        TrialOutcome::Failed { reason, .. } => panic!("{reason}"),
    };
    let trials: Vec<_> = study.trials.iter().map(measured).collect();
    assert_eq!(trials, [(100, Some(2)), (100, Some(2))]);
}

#[test]
fn an_agent_logs_what_it_carried_out_and_what_it_refused() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let mut command = Command::new(WEIR);
    let agent = Process::start(command.args(["agent", "--name", "gen-1", "--bus", &bus]));
    let words = format!("--agents 1 --bus {bus} --no-preflight -n 20 -R 200 -c 2");
    let output = start(&directory, &words, Some(&server.url())).wait();
    assert_eq!(output.code(), 0, "{output:?}");
    let output = start(&directory, &words, Some("http://192.0.2.1/")).wait();
    assert_eq!(output.code(), 1, "{output:?}");
    agent.signal(&["TERM"]);
    let log = agent.wait().stderr;
    let share =
        format!("its share of GET {} at 200.0/s on 2 connections for 20 requests", server.url());
    for part in [
        "Z run ",
        "ordered to carry out part 1 of 1, not signed",
        &share,
        "sent 20 requests; 20 of the measured ones were ok",
        ": ended as planned",
        ": refused: 192.0.2.1:80 is not among the permitted targets",
    ] {
        assert_eq!(log.matches(part).count().min(1), 1, "{part}\n{log}");
    }
    assert_eq!(
        log.matches(": refused: ").count(),
        1,
        "it is repeated to the coordinator alone\n{log}"
    );
}

#[test]
fn a_condition_ends_the_load_of_all_agents() {
    let server = Served::with(|behaviour| behaviour.status = 503);
    let directory = Directory::new();
    let words = "--agents 2 --no-preflight -R 100 -c 4 -d 50s --warmup 0 --expect status=503";
    let mut command = weir_with_nats(&directory);
    command.args(words.split(' ')).args(["--abort", "rate < 200 for 2s"]);
    let output = Process::start(command.args(["-o", &directory.file("run.json"), &server.url()]));
    let output = output.wait();
    assert_eq!(output.code(), 6, "{output:?}");
    let document = document(&directory);
    let aborted = document.run.aborted.expect("a condition has ended it");
    // 50/s of each agent would be as little, and 100/s is the sum.
    assert!(aborted.values.iter().all(|rate| *rate > 60.0), "{aborted:?}");
    assert_eq!(document.plan.load.abort, ["rate < 200 for 2s"]);
    let fleet = document.fleet.expect("agents carried it out");
    assert!(fleet.agents.iter().all(|agent| agent.end == AgentEnd::Stopped), "{fleet:?}");
    let counts = document.parts.iter().filter_map(|part| part.counts);
    let connections: Vec<u32> = counts.map(|counts| counts.connections).collect();
    assert_eq!(connections, [2, 2]);
}

#[test]
fn a_condition_ends_the_load_of_those_that_are_left() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let agents = ["gen-1", "gen-2"].map(|name| start_agent(name, &bus));
    let words = format!(
        "--agents 2 --bus {bus} --on-loss continue --no-preflight -R 200 -c 4 -d 55s --warmup 0"
    );
    let mut command = weir_with_nats(&directory);
    command.args(words.split(' ')).args(["--abort", "rate < 150 for 2s"]);
    command.args(["-o", &directory.file("run.json"), &server.url()]);
    let running = Process::start(&mut command);
    await_load(&server);
    kill(agents[1].id());
    let output = running.wait();
    assert_eq!(output.code(), 4, "{output:?}");
    let aborted = document(&directory).run.aborted.expect("a condition has ended it");
    assert!(aborted.values.iter().all(|rate| *rate < 150.0), "{aborted:?}");
}

#[test]
fn without_all_agents_nothing_is_sent() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let _agent = start_agent("gen-1", &bus);
    let words = format!("--agents 2 --agents-within 5s --bus {bus} -d 1s");
    let output = start(&directory, &words, Some(&server.url())).wait();
    assert_eq!(output.code(), 1, "{output:?}");
    let text = "not started, and nothing was sent: 1 of 2 agents are there (gen-1)";
    assert!(output.stderr.contains(text), "{output:?}");
    assert_eq!(server.stop().requests.received, 0);
}

/// The agents carry on without a coordinator for the time of their lease, which is longer than this
/// load.
#[test]
fn a_run_whose_coordinator_was_killed_is_reported_by_another() {
    let server = Served::plainly();
    let directory = Directory::new();
    let place = Directory::new();
    let (_nats, bus) = start_bus(&place);
    let _agents = ["gen-1", "gen-2"].map(|name| start_agent(name, &bus));
    let words = format!("--agents 2 --bus {bus} --no-preflight -R 200 -c 4 -d 2s --warmup 0");
    let running = start(&directory, &words, Some(&server.url()));
    await_load(&server);
    running.signal(&["KILL"]);
    let _killed = running.wait();
    let fleet = |words: &[&str]| {
        Process::start(Command::new(WEIR).arg("fleet").args(words).args(["--bus", &bus])).wait()
    };
    let status = fleet(&["status"]);
    assert_eq!(status.code(), 0, "{status:?}");
    let run = status.stdout.lines().find_map(|line| line.strip_prefix("run "));
    let (run, rest) = run.and_then(|run| run.split_once(' ')).expect("the run is listed");
    assert!(rest.contains("ago on gen-1, gen-2"), "{status:?}");
    let output = fleet(&["resume", run, "-o", &directory.file("run.json")]);
    assert_eq!(output.code(), 0, "{output:?}");
    let document = document(&directory);
    assert_eq!((document.results.planned, document.results.outcomes.ok), (400, 400));
    assert_eq!(document.fleet.expect("agents carried it out").agents.len(), 2);
    let unknown = fleet(&["resume", "none"]);
    assert_eq!(unknown.code(), 2);
    assert!(unknown.stderr.contains("the bus keeps no run none"), "{unknown:?}");
}
