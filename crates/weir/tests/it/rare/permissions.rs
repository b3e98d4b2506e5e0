//! Permissions of agents: a run that wants more than they permit does not begin, and the reason
//! names the flag.

use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::support::directory::Directory;
use crate::support::nats::start_nats;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::weir::WEIR;

/// A bus on loopback.
struct OpenBus {
    place: Directory,
    address: String,
    _nats: Process,
}

impl OpenBus {
    fn start() -> OpenBus {
        let place = Directory::new();
        let arguments = ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", ".", "-l", "log"];
        let (nats, host) = start_nats(place.path(), &arguments);
        OpenBus { place, address: format!("nats://{host}"), _nats: nats }
    }

    fn weir(&self) -> Command {
        let mut command = Command::new(WEIR);
        command.env("WEIR_BUS", &self.address).current_dir(self.place.path());
        command
    }

    fn agent(&self, name: &str, flags: &str, token: &str) -> Process {
        let mut command = self.weir();
        command.args(["agent", "--quiet", "--name", name]).args(flags.split_whitespace());
        Process::start(command.env("TOKEN", token))
    }

    /// Carries out a run on this many agents.
    fn run(&self, agents: &str, words: &[&str]) -> Output {
        let mut command = self.weir();
        command.args(["--agents", agents, "--no-preflight", "--no-verdict", "--warmup", "0"]);
        Process::start(command.args(words).env_remove("TOKEN")).wait()
    }

    /// Carries out a run on one agent with these flags, which refuses it.
    #[track_caller]
    fn refused(&self, flags: &str, words: &[&str], reason: &str) {
        let agent = self.agent("gen-1", flags, "");
        let output = self.run("1", words);
        agent.signal(&["TERM"]);
        agent.wait();
        let is_refused = output.code() == 1 && output.stderr.contains("agent gen-1: ");
        assert!(is_refused && output.stderr.contains(reason), "{flags} {words:?}: {output:?}");
    }
}

#[test]
fn a_target_that_no_agent_allows_gets_nothing() {
    let server = Served::plainly();
    let bus = OpenBus::start();
    let url = server.url();
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let port = host.rsplit(':').next().expect("a port");
    let elsewhere = ["-n5", "http://192.0.2.1:81/"];
    bus.refused("", &elsewhere, "192.0.2.1:81 is not among the permitted targets (loopback)");
    bus.refused("--allow 10.0.0.0/8", &["-n5", &url], "--allow 127.0.0.1");
    bus.refused(&format!("--allow {host} --allow 127.0.0.1:1"), &elsewhere, "--allow 192.0.2.1:81");
    bus.refused("--allow 127.0.0.1:1", &["-n5", &url], "(127.0.0.1/32:1)");
    let second = format!("127.0.0.2:{port}");
    let both = ["-n5", "-c2", "--connect-to", &host, "--connect-to", &second, &url];
    bus.refused(&format!("--allow {host}"), &both, &second);
    bus.refused("", &["-n5", "--unix", "/run/none.sock", "http://h/"], "/run/none.sock is not");
    // The name is resolved by the agent.
    let name = format!("http://localhost:{port}/");
    bus.refused("--allow 127.0.0.1:1", &["-n5", "--ipv4", &name], &host);
    let agent = bus.agent("gen-1", &format!("--allow {host}"), "");
    let allowed = bus.run("1", &["-n5", "-c1", &name]);
    assert_eq!(allowed.code(), 0, "{allowed:?}");
    drop(agent);
    assert_eq!(server.stop().requests.received, 5);
}

#[test]
fn a_load_larger_than_an_agent_permits_does_not_begin() {
    let server = Served::plainly();
    let bus = OpenBus::start();
    let url = server.url();
    let rate = "--max-rate 100";
    bus.refused(rate, &["-R101", "-d1s", &url], "101/s are more than 100/s: --max-rate");
    bus.refused(rate, &["-n5", &url], "a closed loop has no limit of its rate");
    bus.refused(rate, &["--stages", "1s@10..200", &url], "200/s are more");
    bus.refused("--max-connections 3", &["-n5", "-c4", &url], "4 connections are more than 3");
    let time = "--max-duration 2s";
    bus.refused(time, &["-d5s", &url], "--max-duration");
    bus.refused(time, &["-n5", &url], "no longest time");
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn an_agent_s_machine_is_not_used_without_a_permission() {
    let server = Served::plainly();
    let bus = OpenBus::start();
    let url = server.url();
    let on_agents = |flags: &[&'static str]| [&["-n5", "--on", "agents"], flags].concat();
    let with = |flags: &[&'static str]| -> Vec<String> {
        on_agents(flags).into_iter().map(str::to_owned).chain([url.clone()]).collect()
    };
    for (flags, reason) in [
        (&["--watch-command", "echo 1"][..], "--watch-command executes a command"),
        (&["--capture", "id"], "--capture executes a command"),
        (&["--watch-pid", "1"], "--permit watch"),
        (&["--watch-nginx", "http://192.0.2.1/"], "--permit watch"),
        (&["--access-log", "/etc/passwd"], "--permit watch"),
        (&["--raw", "rows.csv"], "--permit rows"),
        (&["-H", "X-Token: {{env:TOKEN}}"], "--permit env:TOKEN"),
        (&["-H", "X-Token: {{file:/etc/hostname}}"], "--permit file:/etc/hostname"),
    ] {
        let words = with(flags);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        bus.refused("--permit env:HOME,file:/etc/hosts", &words, reason);
    }
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn each_agent_sends_the_secret_of_its_own_machine() {
    let bus = OpenBus::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&seen);
    let server = Raw::start(move |peer| {
        while let Some(head) = peer.read_request()? {
            let token = head.lines().find_map(|line| line.strip_prefix("X-Token: "));
            theirs.lock().expect("no panic").push(token.unwrap_or("none").to_owned());
            peer.write(OK.as_bytes())?;
        }
        Ok(())
    });
    let permit = "--permit env:TOKEN";
    let agents = [("gen-1", "SECRET-one"), ("gen-2", "SECRET-the-second")];
    let _agents = agents.map(|(name, token)| bus.agent(name, permit, token));
    let url = server.url();
    let words = ["-n20", "-c2", "-o", "run.json", "-H", "X-Token: {{env:TOKEN}}", &url];
    let output = bus.run("2", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    let mut tokens = seen.lock().expect("no panic").clone();
    assert_eq!(tokens.len(), 20, "{tokens:?}");
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens, ["SECRET-one", "SECRET-the-second"]);
    let document = std::fs::read_to_string(bus.place.file("run.json")).expect("it was written");
    assert!(!document.contains("SECRET"), "it has a secret: {document}");
}

#[test]
fn a_second_coordinator_learns_that_the_agents_are_in_a_run() {
    let server = Served::plainly();
    let bus = OpenBus::start();
    let _agent = bus.agent("gen-1", "", "");
    let mut first = bus.weir();
    let words = "--agents 1 --no-preflight --no-verdict --warmup 0 -R 200 -d 60s";
    first.args(words.split(' ')).arg(server.url());
    let running = Process::start(&mut first);
    crate::support::wait::until("the load", || (server.requests() > 20).then_some(()));
    let second = bus.run("1", &["-n5", "--agents-within", "3s", &server.url()]);
    assert_eq!(second.code(), 1, "{second:?}");
    assert!(second.stderr.contains("0 of 1 agents are there"), "{second:?}");
    assert!(second.stderr.contains("agent gen-1 takes part in run "), "{second:?}");
    running.signal(&["INT"]);
    let report = running.wait();
    assert!(report.stdout.contains("200"), "the first run goes on: {report:?}");
}
