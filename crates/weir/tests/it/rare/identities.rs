//! A bus that lets in who has an identity, and takes from each one what its role says.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use weir_fleet::{Bus, BusAccess, BusEvent, BusMessage, Identity};
use weir_runner::sha256;

use crate::support::directory::Directory;
use crate::support::locked_fleet::{LockedFleet, made};
use crate::support::nats::start_nats;
use crate::support::process::{Output, Process};
use crate::support::served::Served;
use crate::support::wait::until;
use crate::support::weir::WEIR;

/// Returns the payload of the next message, for which a busy machine may need a while.
fn next(messages: &Receiver<BusMessage>) -> Option<Vec<u8>> {
    next_within(messages, Duration::from_secs(20))
}

/// Returns the payload of the next message; `None` if none comes within `span`.
fn next_within(messages: &Receiver<BusMessage>, span: Duration) -> Option<Vec<u8>> {
    loop {
        match messages.recv_timeout(span).ok()?.event {
            BusEvent::Received { payload, .. } => return Some(payload),
            BusEvent::Away | BusEvent::Back => {}
        }
    }
}

#[test]
fn identities_carry_out_a_run_and_a_viewer_sees_the_agents() {
    let server = Served::plainly();
    let fleet = LockedFleet::start();
    let agents = ["agent-1", "agent-2"];
    let agents = agents.map(|name| Process::start(&mut fleet.weir("agent", &fleet.identity(name))));
    let viewer = fleet.identity("viewer");
    until("both agents", || {
        let seen = Process::start(&mut fleet.weir("fleet status", &viewer)).wait().stdout;
        let is_there = |name: &str| seen.contains(&format!("agent {name}   free"));
        (is_there("agent-1") && is_there("agent-2")).then_some(())
    });
    let words = format!("--agents 2 -n 200 -c 4 --warmup 0 --no-verdict {}", server.url());
    let run = Process::start(&mut fleet.weir(&words, &fleet.identity("coordinator"))).wait();
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stdout.contains("2 agents with one clock"), "{run:?}");
    assert!(server.stop().requests.received > 200);
    drop(agents);
}

#[test]
fn who_has_no_identity_of_the_fleet_is_not_let_in() {
    let fleet = LockedFleet::start();
    let bare = Command::new(WEIR).args(["agent", "--bus", &fleet.address]).output().expect("weir");
    let text = String::from_utf8_lossy(&bare.stderr).into_owned();
    assert!(bare.status.code() == Some(2) && text.contains("wants --identity"), "{text}");
    made(&fleet.place, "other");
    let other = fleet.place.path().join("other/agent-1");
    let unknown = fleet.refused("agent", &other);
    assert!(unknown.contains("certificate") && unknown.contains(&fleet.address), "{unknown}");
    // It trusts the server, and the server not it.
    let authority = fleet.identity("agent-1").join("ca.pem");
    fs::copy(authority, other.join("ca.pem")).expect("the directory is the test's own");
    let foreign = fleet.refused("agent", &other);
    let is_answered = !foreign.contains("refused") && !foreign.contains("no answer");
    assert!(is_answered && foreign.contains(&fleet.address), "{foreign}");
}

#[test]
fn a_role_is_checked_before_anything_is_sent() {
    let fleet = LockedFleet::start();
    let agent = fleet.identity("agent-1");
    let run = fleet.refused("--agents 2 -n 1 http://127.0.0.1:9/", &agent);
    assert!(run.contains("--identity") && run.contains("role coordinator"), "{run}");
    let named = fleet.refused("agent --name agent-2", &agent);
    assert!(named.contains("leave --name out"), "{named}");
    let mut alone = Command::new(WEIR);
    alone.args(["--agents", "2", "--identity"]).arg(fleet.identity("coordinator"));
    alone.arg("http://127.0.0.1:9/").env_remove("WEIR_BUS");
    let without_bus = Process::start(&mut alone).wait();
    assert!(without_bus.stderr.contains("--bus tls://HOST"), "{without_bus:?}");
    let local =
        fleet.refused("--agents local+1 http://127.0.0.1:9/", &fleet.identity("coordinator"));
    assert!(local.contains("an identity of its own"), "{local}");
    assert!(fleet.refused("agent", &fleet.identity("viewer")).contains("role agent"));
    let nowhere = fleet.place.path().join("nowhere");
    assert!(fleet.refused("agent", &nowhere).contains("weir fleet init"));
}

#[test]
fn the_bus_takes_from_an_identity_what_its_role_says() {
    let fleet = LockedFleet::start();
    let (coordinator, heard) = fleet.connect("coordinator", &["weir.agent.*.out"]);
    let (first, _) = fleet.connect("agent-1", &["weir.agent.agent-1.in"]);
    let (_second, orders) = fleet.connect("agent-2", &["weir.agent.agent-2.in"]);
    let (viewer, _) = fleet.connect("viewer", &["weir.agent.*.out"]);
    coordinator.open_run("r", &["agent-1", "agent-2"]).expect("a coordinator may");
    let send = |bus: &Bus, subject: &str, text: &str| {
        bus.send(subject.to_owned(), text.as_bytes().to_vec());
    };
    for (bus, name) in [(&first, "agent"), (&viewer, "viewer")] {
        send(bus, "weir.agent.agent-2.in", name);
        send(bus, "weir.agent.agent-2.out", name);
        send(bus, "weir.run.r.begin.0", name);
        send(bus, "weir.run.r.result.agent-2.0", name);
    }
    send(&viewer, "weir.agent.viewer.out", "viewer");
    send(&first, "weir.agent.agent-1.out", "its own");
    assert_eq!(next(&heard), Some(b"its own".to_vec()), "the bus took what an agent may not say");
    send(&coordinator, "weir.agent.agent-2.in", "an order");
    assert_eq!(next(&orders), Some(b"an order".to_vec()), "an agent has given another an order");
    first.deliver("r", "result.agent-1", b"mine").expect("its own result");
    let kept = |name: &str| coordinator.kept("r", name).expect("the bus answers");
    assert_eq!(until("its result", || kept("result.agent-1")), b"mine");
    assert_eq!((kept("begin"), kept("result.agent-2")), (None, None));
    // An agent reads the specification of a run that it takes part in, and nothing else.
    let _offer = coordinator.offer("r", &["agent-1"], b"all").expect("a coordinator may");
    let all = first.specification("agent-1", "r", &sha256(b"all")).expect("it takes part");
    assert_eq!(all, b"all");
    first.kept("r", "result.agent-2").expect_err("an agent reads no result");
}

#[test]
fn an_agent_hears_what_is_for_it_alone() {
    let fleet = LockedFleet::start();
    let (coordinator, _) = fleet.connect("coordinator", &[]);
    // The bus refuses the first two subjects.
    let subjects = ["weir.agent.agent-2.in", "_INBOX.>", "weir.agent.agent-1.in"];
    let (_first, orders) = fleet.connect("agent-1", &subjects);
    // The bus may read the subscriptions later than what another connection sends.
    let order = until("an order", || {
        coordinator.send("weir.agent.agent-2.in".to_owned(), b"another's".to_vec());
        coordinator.send("weir.agent.agent-1.in".to_owned(), b"its own".to_vec());
        next_within(&orders, Duration::from_millis(500))
    });
    assert_eq!(order, b"its own");
}

#[test]
fn keys_are_for_one_user() {
    let place = Directory::new();
    made(&place, "fleet");
    let fleet = place.path().join("fleet");
    let mut directories = vec![fleet.clone()];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        assert_eq!(fs::metadata(&directory).expect("it is there").mode() & 0o777, 0o700);
        for entry in fs::read_dir(directory).expect("it is there") {
            let entry = entry.expect("an entry");
            match entry.path().is_dir() {
                true => directories.push(entry.path()),
                false => {
                    files += 1;
                    assert_eq!(entry.metadata().expect("a file").mode() & 0o777, 0o600);
                }
            }
        }
    }
    assert_eq!(files, 2 + 5 + 5 * 4 + 4, "authority, server, five identities, and keys of orders");
    let again = Command::new(WEIR).args(["fleet", "init", "--agents", "1"]).arg(&fleet).output();
    let again = again.expect("weir");
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    let key = fleet.join("agent-1/key.pem");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).expect("a file");
    let agent = ["agent", "--bus", "tls://127.0.0.1:9", "--identity"];
    let open = Command::new(WEIR).args(agent).arg(fleet.join("agent-1")).output().expect("weir");
    let text = String::from_utf8_lossy(&open.stderr).into_owned();
    assert!(text.contains("chmod 600") && open.status.code() == Some(2), "{text}");
}

#[test]
fn the_certificate_of_an_agent_is_none_of_a_bus() {
    let fleet = LockedFleet::start();
    let stolen = fleet.identity("agent-1");
    let text = "jetstream { store_dir: \"store\" }\ntls {\n  cert_file: \"cert.pem\"\n  key_file: \
                \"key.pem\"\n  ca_file: \"ca.pem\"\n  verify: true\n}\n";
    fs::write(stolen.join("nats.conf"), text).expect("the directory is the test's own");
    let flags = ["-c", "nats.conf", "-a", "127.0.0.1", "-p", "-1"];
    let (_nats, host) = start_nats(&stolen, &flags);
    let mut agent = Command::new(WEIR);
    agent.args(["agent", "--bus", &format!("tls://{host}"), "--identity"]);
    agent.arg(fleet.identity("agent-2"));
    let output = Process::start(&mut agent).wait();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stderr.contains("invalid peer certificate"), "{output:?}");
}

#[test]
fn an_agent_makes_and_removes_no_run() {
    let fleet = LockedFleet::start();
    let (coordinator, _) = fleet.connect("coordinator", &[]);
    let (agent, _) = fleet.connect("agent-1", &[]);
    coordinator.open_run("r", &["agent-1"]).expect("a coordinator may");
    coordinator.keep("r", "begin", b"all").expect("a coordinator may");
    agent.remove_run("r");
    agent.open_run("s", &[]).expect_err("an agent may not");
    agent.runs().expect_err("an agent may not");
    assert_eq!(coordinator.runs().expect("a coordinator may"), ["r"]);
    let kept = coordinator.kept("r", "begin").expect("the bus answers");
    assert_eq!(kept, Some(b"all".to_vec()));
}

/// Runs `weir fleet` in the directory of a fleet's directory.
fn changed(fleet: &LockedFleet, words: &str) -> Output {
    let mut command = Command::new(WEIR);
    command.arg("fleet").args(words.split_whitespace()).current_dir(fleet.place.path());
    Process::start(&mut command).wait()
}

#[test]
fn identities_are_added_and_shut_out_while_the_bus_runs() {
    let fleet = LockedFleet::start();
    let (coordinator, heard) = fleet.connect("coordinator", &["weir.agent.*.out"]);
    let (first, _) = fleet.connect("agent-1", &[]);
    let (second, _) = fleet.connect("agent-2", &[]);
    let added = changed(&fleet, "add fleet gen-3");
    assert_eq!(added.code(), 0, "{added:?}");
    let removed = changed(&fleet, "remove fleet agent-1");
    assert!(removed.stdout.contains("nats-server --signal reload"), "{removed:?}");
    fleet.nats.signal(&["HUP"]);
    let identity = |name: &str| Identity::read(&fleet.identity(name));
    let third = until("the new user", || {
        let access = BusAccess {
            address: fleet.address.clone(),
            identity: Some(identity("gen-3").expect("it was made")),
        };
        Bus::connect(&access, "gen-3", &[]).ok()
    });
    identity("agent-1").expect_err("its directory is gone");
    let send = |bus: &Bus, name: &str| {
        bus.send(format!("weir.agent.{name}.out"), name.as_bytes().to_vec());
    };
    send(&first, "agent-1");
    send(&second, "agent-2");
    send(&third.0, "gen-3");
    let mut heard: Vec<Vec<u8>> = (0..2).filter_map(|_| next(&heard)).collect();
    heard.sort_unstable();
    assert_eq!(heard, [b"agent-2".to_vec(), b"gen-3".to_vec()], "the bus has heard agent-1");
    drop(coordinator);
    // The new agent takes the same orders as the others.
    let signers = |name: &str| fs::read(fleet.identity(name).join("coordinators.txt"));
    assert_eq!(signers("gen-3").expect("a list"), signers("agent-2").expect("a list"));
}

#[test]
fn a_wrong_change_of_a_fleet_changes_nothing() {
    let fleet = LockedFleet::start();
    let users = || fs::read(fleet.identity("server").join("users.conf")).expect("it was made");
    let before = users();
    for (words, reason) in [
        ("add fleet agent-1", "two identities have this name"),
        ("add fleet a.b", "a name has"),
        ("add fleet viewer", "two identities have this name"),
        ("add nowhere a", "nowhere has no fleet"),
        ("remove fleet agent-9", "there is no identity agent-9"),
        ("remove fleet agent-1 agent-9", "there is no identity agent-9"),
        ("remove fleet coordinator", "make the fleet anew"),
    ] {
        let output = changed(&fleet, words);
        assert_eq!(output.status.code(), Some(2), "{words}: {output:?}");
        assert!(output.stderr.contains(reason), "{words}: {output:?}");
    }
    assert_eq!(users(), before);
}
