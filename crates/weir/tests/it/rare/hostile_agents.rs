//! One agent of three speaks the protocol and lies, on a bus that lets in identities alone. The
//! parts of the others are reported all the same.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;
use weir_result::Document;

use serde_json::{Value, json};
use weir_fleet::{
    AgentFacts, Bus, BusEvent, BusMessage, Ending, FromAgent, PROTOCOL, ToAgent, clock_name,
};
use weir_result::document::AgentEnd;
use weir_runner::HttpChoice;

use crate::support::locked_fleet::LockedFleet;
use crate::support::process::Process;
use crate::support::served::Served;

/// Version of this build, as its agents say it.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("WEIR_COMMIT"));

/// Name of the agent that lies, number of its process, and that of no process.
const LIAR: &str = "agent-2";
const INCARNATION: u64 = 1;
const OTHER_INCARNATION: u64 = 2;

/// Most memory that a coordinator of these tests needs, whatever it is sent, in KiB: what it keeps
/// of messages, and twice what it reads of an agent, with room.
const MEMORY_MAX_KIB: u64 = 320 << 10;

/// Most that the bus keeps of these runs, in bytes: the room of one agent, and the parts of two.
const STORED_MAX: u64 = 104 << 20;

/// A lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// Each message in each phase that is not its own, with other runs and processes.
    EveryMessage,
    /// Each field of the messages that are due: a start long before the run.
    EarlyBegin,
    /// An end after the load that never came.
    Silence,
    /// A document that is none, and one of another part.
    Document(&'static str),
    /// More than its room, and answers to subjects of others.
    FullRoom,
    /// Messages as fast as the bus takes them, until the end.
    Flood,
}

/// The agent that lies.
struct Liar {
    bus: Bus,
    heard: Receiver<BusMessage>,
    lie: Lie,
    facts: AgentFacts,
    phase: Cell<LiarPhase>,
}

/// The phase of a run, as far as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiarPhase {
    Preparing,
    Arming,
    Loading,
}

impl Liar {
    fn say(&self, message: &FromAgent) {
        self.say_as(INCARNATION, &json!(message));
    }

    fn say_as(&self, incarnation: u64, message: &Value) {
        let message = json!({ "incarnation": incarnation, "message": message }).to_string();
        self.bus.send(format!("weir.agent.{LIAR}.out"), message.into_bytes());
    }

    /// Takes part in runs until their end. Returns the greatest memory of the coordinator, and the
    /// greatest number of bytes that the bus kept.
    fn serve(&self, seen: &Seen) -> (u64, u64) {
        let mut run = None;
        let mut memory_kib = 0;
        let mut stored = 0;
        while !seen.is_over.load(Ordering::Relaxed) {
            memory_kib = memory_kib.max(memory_of(seen.coordinator.load(Ordering::Relaxed)));
            stored = stored.max(bytes_below(&seen.store));
            if run.is_none() {
                self.say(&FromAgent::Hello(self.facts.clone()));
            }
            let Ok(message) = self.heard.recv_timeout(Duration::from_millis(100)) else { continue };
            let BusEvent::Received { payload, .. } = message.event else { continue };
            let message: Value = serde_json::from_slice(&payload).expect("JSON");
            let message: ToAgent =
                serde_json::from_value(message["message"].clone()).expect("a message");
            if let ToAgent::Prepare(order) = &message {
                run = Some(order.run.clone());
            }
            let Some(run) = &run else { continue };
            self.answer(run, &message);
        }
        (memory_kib, stored)
    }

    fn answer(&self, run: &str, message: &ToAgent) {
        let own = || run.to_owned();
        let ready = FromAgent::Ready { run: own(), http: HttpChoice::Http11 };
        let armed = FromAgent::Armed { run: own() };
        if self.lie == Lie::EveryMessage {
            self.say_everything(run, message);
        }
        match message {
            ToAgent::Prepare(_) => self.say(&ready),
            ToAgent::Arm { .. } => self.say(&armed),
            ToAgent::Commit { .. } => {
                match self.lie {
                    Lie::Document(text) => {
                        let name = format!("result.{LIAR}");
                        self.bus.deliver(run, &name, text.as_bytes()).expect("its own");
                    }
                    Lie::FullRoom => self.fill(run),
                    Lie::Flood => self.flood(run),
                    Lie::EveryMessage | Lie::EarlyBegin | Lie::Silence => {}
                }
                if self.lie != Lie::Silence {
                    let begun_ns = Some(5);
                    let ending = Ending::Planned;
                    self.say(&FromAgent::Ended { run: own(), begun_ns, ending });
                }
            }
            _ => {}
        }
    }

    /// Says all that is not the answer to this message, of this run and of others.
    fn say_everything(&self, run: &str, to: &ToAgent) {
        let phase = match to {
            ToAgent::Prepare(_) => LiarPhase::Preparing,
            ToAgent::Arm { .. } => LiarPhase::Arming,
            ToAgent::Commit { .. } => LiarPhase::Loading,
            _ => self.phase.get(),
        };
        self.phase.set(phase);
        let long = || "x".repeat(100_000);
        for of in [run, "", "other", "*"] {
            let is_own = of == run;
            let run = of.to_owned();
            // Before the load an agent may refuse or end, and then the run does not begin.
            let may_end = is_own && phase != LiarPhase::Loading;
            let ended = |begun_ns| FromAgent::Ended {
                run: run.clone(),
                begun_ns,
                ending: Ending::Failed(long()),
            };
            let messages = [
                FromAgent::Claim,
                FromAgent::Clock { sent_ns: 0, received_ns: u64::MAX, replied_ns: 0 },
                FromAgent::Clock { sent_ns: u64::MAX, received_ns: 0, replied_ns: u64::MAX },
                FromAgent::Ready { run: run.clone(), http: HttpChoice::Http2 },
                FromAgent::Armed { run: run.clone() },
                FromAgent::Working { run: run.clone(), begun_ns: None },
                FromAgent::Working { run: run.clone(), begun_ns: Some(u64::MAX) },
                FromAgent::Refused { run: run.clone(), reason: long() },
                FromAgent::Refused { run: run.clone(), reason: "no".to_owned() },
                ended(None),
                ended(Some(0)),
            ];
            for message in messages {
                let is_due = match &message {
                    FromAgent::Ready { .. } => is_own && phase == LiarPhase::Preparing,
                    FromAgent::Armed { .. } => is_own && phase == LiarPhase::Arming,
                    FromAgent::Refused { reason, .. } => may_end && reason.len() < 100,
                    FromAgent::Ended { .. } => may_end,
                    _ => false,
                };
                if !is_due {
                    self.say(&message);
                }
                self.say_as(OTHER_INCARNATION, &json!(message));
            }
        }
        let hello = FromAgent::Hello(self.facts.clone());
        self.say_as(OTHER_INCARNATION, &json!(hello));
        for text in [json!(null), json!([]), json!({ "Working": { "run": ["?"] } }), json!("Claim")]
        {
            self.say_as(INCARNATION, &text);
        }
    }

    /// Writes as much as there is room for, and asks for answers in places of others.
    fn fill(&self, run: &str) {
        let other = format!("weir.run.{run}.result.agent-1.0");
        for number in 0..120 {
            let own = format!("weir.run.{run}.result.{LIAR}.{number}");
            self.bus.send_for_answer(own, other.clone(), vec![b'x'; 900_000]);
        }
        for api in ["STREAM.MSG.GET", "DIRECT.GET", "STREAM.INFO", "STREAM.PURGE"] {
            let place = format!("$JS.API.{api}.WEIRPART_{run}_{LIAR}");
            self.bus.send_for_answer(place, other.clone(), b"{\"seq\":1}".to_vec());
        }
        let asking = format!("weir.agent.{LIAR}.ask");
        for number in 0..100 {
            let text = format!("{run} {}", number % 3);
            self.bus.send_for_answer(asking.clone(), other.clone(), text.into_bytes());
        }
    }

    /// Sends 300 MB of messages of all kinds, among them progress with impossible numbers.
    fn flood(&self, run: &str) {
        let frame = json!({ "ended": { "completed": u64::MAX } });
        let frame = json!({ "run": run, "news": { "Frame": frame } });
        let frame = json!({ "incarnation": INCARNATION, "message": frame }).to_string();
        for number in 0..1_000 {
            let text = format!("[{}]", "0,".repeat(150_000));
            self.bus.send(format!("weir.agent.{LIAR}.out"), text.into_bytes());
            let live = format!("weir.agent.{LIAR}.live");
            self.bus.send(live.clone(), frame.clone().into_bytes());
            let interval = json!({
                "start_ns": number, "length_ns": 1, "completed": 1, "errors": 0,
            });
            let news = json!({ "run": run, "news": { "Interval": interval } });
            let news = json!({ "incarnation": INCARNATION, "message": news }).to_string();
            self.bus.send(live, news.into_bytes());
        }
    }
}

/// The things that a liar looks at while it lies.
struct Seen {
    is_over: AtomicBool,
    /// Process of the coordinator; 0 before it has started.
    coordinator: AtomicU32,
    /// Directory in which the bus keeps what it is given.
    store: PathBuf,
}

/// Greatest memory of a process until now, proc(5), in KiB; 0 once it has ended.
fn memory_of(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Bytes of all files below a directory.
fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Carries out a run of three agents, of which one lies, and checks that the others are reported.
fn check(lie: Lie) {
    let server = Served::plainly();
    let fleet = LockedFleet::start();
    let honest = ["agent-1", "agent-3"];
    let agent = |name| fleet.weir("agent --bus-within 1m", &fleet.identity(name));
    let honest = honest.map(|name| Process::start(&mut agent(name)));
    let (bus, heard) = fleet.connect(LIAR, &[&format!("weir.agent.{LIAR}.in")]);
    let version = VERSION.trim_end().to_owned();
    let facts = AgentFacts { protocol: PROTOCOL, version, cpus: 1, clock: clock_name() };
    let phase = Cell::new(LiarPhase::Preparing);
    let liar = Liar { bus, heard, lie, facts, phase };
    let store = fleet.identity("server").join("jetstream");
    let seen = Seen { is_over: AtomicBool::new(false), coordinator: AtomicU32::new(0), store };
    let seen = &seen;
    let (output, (memory_kib, stored)) = thread::scope(|scope| {
        let serving = scope.spawn(move || liar.serve(seen));
        let words = format!(
            "--agents 3 --bus-within 1m --agents-within 5m --on-loss continue --no-preflight \
             -R 300 -c 6 -d 2s --warmup 0 --no-verdict -o {} {}",
            fleet.place.file("run.json"),
            server.url()
        );
        let coordinator = fleet.identity("coordinator");
        let running = Process::start(&mut fleet.weir(&words, &coordinator));
        seen.coordinator.store(running.id(), Ordering::Relaxed);
        let output = running.wait();
        seen.is_over.store(true, Ordering::Relaxed);
        (output, serving.join().expect("it ends"))
    });
    assert_eq!(output.code(), 4, "{lie:?}: {output:?}");
    let document = Document::load(fleet.place.file("run.json"));
    let document = document.unwrap_or_else(|error| panic!("{lie:?}: {error}\n{output:?}"));
    assert_eq!(document.results.outcomes.ok, 400, "{lie:?}: two of three parts");
    let agents = document.fleet.expect("agents carried it out").agents;
    let ends: Vec<AgentEnd> = agents.iter().map(|agent| agent.end).collect();
    let expected = if lie == Lie::Silence { AgentEnd::Lost } else { AgentEnd::Failed };
    assert_eq!(ends, [AgentEnd::Planned, expected, AgentEnd::Planned], "{lie:?}");
    assert!(agents[1].reason.len() < 3_000, "{lie:?}");
    assert!(memory_kib > 0 && memory_kib < MEMORY_MAX_KIB, "{lie:?}: {memory_kib} KiB");
    assert!(stored > 0 && stored < STORED_MAX, "{lie:?}: {stored} bytes");
    drop(honest);
}

#[test]
fn messages_at_every_wrong_time_cost_one_part_alone() {
    check(Lie::EveryMessage);
}

#[test]
fn a_begin_that_cannot_be_costs_one_part_alone() {
    check(Lie::EarlyBegin);
}

#[test]
fn an_end_that_is_never_reported_costs_one_part_alone() {
    check(Lie::Silence);
}

#[test]
fn documents_that_are_none_cost_one_part_alone() {
    for text in ["{}", "\0", r#"{"schema_version":1,"plan":{"part":{"index":1,"count":3}}}"#] {
        check(Lie::Document(text));
    }
}

#[test]
fn an_agent_fills_its_own_room_alone_and_answers_reach_no_other_subject() {
    check(Lie::FullRoom);
}

#[test]
fn messages_without_end_take_limited_memory() {
    check(Lie::Flood);
}
