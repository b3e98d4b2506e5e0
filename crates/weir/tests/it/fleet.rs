//! One run on two agents that weir starts itself, with a real nats-server. What goes wrong with
//! agents, and who may do what on the bus, is in [`super::rare`].

use std::fs;
use std::path::Path;
use std::process::Command;

use weir_result::document::AgentEnd;

use crate::support::agents::{children, command_line, document, start, weir_with_nats};
use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::served::Served;
use crate::support::wait::until;

#[test]
fn two_agents_without_preparation_are_one_run() {
    let server = Served::plainly();
    let directory = Directory::new();
    let url = server.url();
    let list = directory.file("list.txt");
    fs::write(&list, format!("{url}a\n{url}b\n{url}c\n")).expect("the directory is the test's own");
    let watched = std::process::id();
    let words = format!(
        "--agents 2 --stages 500ms@100,500ms@300 -c 5 --warmup 0 --drain 10s --watch-pid {watched} \
         --raw {} --from {list}",
        directory.file("rows.parquet")
    );
    let running = start(&directory, &words, None);
    until("two agents and their bus", || (children(running.id()).len() == 3).then_some(()));
    let lines: Vec<String> = children(running.id()).into_iter().map(command_line).collect();
    assert!(lines.iter().all(|line| !line.contains("nats://")), "a password is shown: {lines:?}");
    let output = running.wait();
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains("2 agents with one clock"), "{output:?}");
    assert!(output.stdout.contains("Agents") && output.stdout.contains("agent-2"), "{output:?}");
    let document = document(&directory);
    assert_eq!((document.results.planned, document.results.outcomes.ok), (200, 200));
    let names = document.names.iter().map(|name| (name.name.as_str(), name.results.outcomes.ok));
    assert_eq!(names.collect::<Vec<_>>(), [("GET /a", 67), ("GET /b", 67), ("GET /c", 66)]);
    assert_eq!(
        document.stages.iter().map(|stage| stage.results.outcomes.ok).collect::<Vec<_>>(),
        [50, 150]
    );
    let load = document.server.expect("the coordinator watched it").weir;
    assert!(document.parts.iter().all(|part| part.server.is_none()));
    let fleet = document.fleet.expect("agents carried it out");
    assert!(fleet.agents.iter().all(|agent| agent.end == AgentEnd::Planned), "{fleet:?}");
    // One machine has one clock.
    assert_eq!(fleet.start_spread_ns, Some(0));
    let files = ["list.txt", "rows.agent-1.parquet", "rows.agent-2.parquet", "run.json"];
    assert_eq!(directory.names(), files, "the bus has left files, or rows are missing");
    // A slot after the window that is sent before its end is known has a row, too.
    let rows: u64 = document.raw.iter().map(|raw| raw.rows).sum();
    assert_eq!(rows, 200 + document.accounting.sent.tail);
    // One agent has sent the preflight's request, and its probe those of one connection.
    let probed = document.run.preflight.is_some();
    assert!(probed);
    let requests = server.stop().requests.received;
    assert!(requests >= 201 && load.requests == requests, "{requests}, {load:?}");
}

#[test]
fn a_missing_thing_is_named_with_the_remedy() {
    let directory = Directory::new();
    let refused = |command: &mut Command, text: &str| {
        let output: Output = Process::start(command).wait();
        assert_eq!(output.code(), 2, "{output:?}");
        assert!(output.stderr.contains(text), "{output:?}");
    };
    let mut without_server = weir_with_nats(&directory);
    without_server.env("PATH", Path::new("/nowhere")).args([
        "--agents",
        "2",
        "http://127.0.0.1:9/",
    ]);
    refused(&mut without_server, "apt install nats-server");
    let mut elsewhere = weir_with_nats(&directory);
    elsewhere.args(["--agents", "2", "--bus", "nats://192.0.2.1", "http://127.0.0.1:9/"]);
    refused(&mut elsewhere, "--insecure-bus");
    let mut growing = weir_with_nats(&directory);
    growing.args(["--agents", "2", "-c", "1..5", "-R", "5", "http://127.0.0.1:9/"]);
    refused(&mut growing, "-c A..B needs one machine");
}
