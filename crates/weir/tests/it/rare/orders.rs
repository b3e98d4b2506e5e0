//! Forged orders: an agent with an identity carries out none of them. The bus is a real
//! nats-server, and lets the forger in as a coordinator.

use std::cell::RefCell;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use weir_fleet::{Bus, BusEvent, BusMessage, Identity, Offer, Order, OrderSigner, RunWork, Sender};
use weir_result::Part;
use weir_runner::{CompatSpec, Dialect, HttpChoice, InputFile, RunSpec, ScriptSpec, sha256};

use crate::support::locked_fleet::{LockedFleet, made};
use crate::support::process::Process;
use crate::support::served::Served;

/// Name of the agent.
const AGENT: &str = "agent-1";

/// A process that speaks to an agent as a coordinator would.
struct Forger {
    bus: Bus,
    heard: Receiver<BusMessage>,
    agent: Sender,
    specification: Vec<u8>,
    offers: RefCell<Vec<Offer>>,
}

impl Forger {
    /// Waits for the agent's process, and will have it load a URL.
    fn start(fleet: &LockedFleet, url: &str) -> Forger {
        let (bus, heard) = fleet.connect("coordinator", &["weir.agent.*.out"]);
        let agent = Sender { agent: AGENT.to_owned(), incarnation: 0 };
        let specification = specification(url, |_| ());
        let offers = RefCell::default();
        let mut forger = Forger { bus, heard, agent, specification, offers };
        let hello = forger.heard("Hello");
        forger.agent.incarnation = hello["incarnation"].as_u64().expect("a number");
        forger
    }

    /// Returns the next message of the agent of one of these kinds.
    fn heard(&self, kinds: &str) -> Value {
        loop {
            let next = self.heard.recv_timeout(Duration::from_secs(20)).expect("an answer");
            let BusEvent::Received { payload, .. } = next.event else { continue };
            let message: Value = serde_json::from_slice(&payload).expect("JSON");
            let kind = message["message"].as_object().and_then(|it| it.keys().next().cloned());
            if kind.is_some_and(|kind| kinds.split(' ').any(|wanted| wanted == kind)) {
                return message;
            }
        }
    }

    fn send(&self, message: &Value) {
        let message = json!({ "incarnation": self.agent.incarnation, "message": message });
        self.bus.send(format!("weir.agent.{AGENT}.in"), message.to_string().into_bytes());
    }

    /// Returns the order of a run whose specification the bus keeps. It needs no preflight.
    fn order(&self, run: &str) -> Order {
        self.bus.open_run(run, &[AGENT]).expect("a coordinator may");
        let offer = self.bus.offer(run, &[AGENT], &self.specification).expect("a coordinator may");
        self.offers.borrow_mut().push(offer);
        let work = RunWork { specification: sha256(&self.specification), rows: None };
        let part = Part::new(1, 1).expect("it exists");
        let http = Some(HttpChoice::Http11);
        Order { run: run.to_owned(), part, http, work, signature: None }
    }

    /// Sends an order, and returns the reason for which the agent refuses it; "Ready" if it does
    /// not. The agent is free again.
    fn answer(&self, order: &Order) -> String {
        self.send(&json!({ "Prepare": order }));
        let answer = self.heard("Ready Refused");
        let answer = match &answer["message"]["Refused"]["reason"] {
            Value::String(reason) => reason.clone(),
            _ => "Ready".to_owned(),
        };
        self.send(&json!({ "Stop": { "run": order.run } }));
        self.send(&json!({ "Release": { "run": order.run } }));
        self.heard("Hello");
        answer
    }
}

/// Returns a specification of one thread.
fn specification(url: &str, change: impl FnOnce(&mut RunSpec)) -> Vec<u8> {
    let mut spec = RunSpec::new(url);
    spec.engine.threads = Some(1);
    change(&mut spec);
    serde_json::to_vec(&spec).expect("UTF-8")
}

fn signer(identity: &Path) -> OrderSigner {
    let identity = Identity::read(identity).expect("it was made");
    OrderSigner::read(&identity).expect("a coordinator has a key")
}

#[test]
fn an_agent_takes_an_order_of_its_coordinators_once_and_no_other() {
    let server = Served::plainly();
    let fleet = LockedFleet::start();
    let mut agent = fleet.weir("agent", &fleet.identity(AGENT));
    let _agent = Process::start(&mut agent);
    let forger = Forger::start(&fleet, &server.url());
    made(&fleet.place, "other");
    let own = signer(&fleet.identity("coordinator"));
    let other = signer(&fleet.place.path().join("other/coordinator"));
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let sign = |signer: &OrderSigner, to: &Sender, run: &str, at: u64| {
        signer.sign(to, forger.order(run), at).expect("a signature")
    };
    let signed = |run: &str| sign(&own, &forger.agent, run, now);
    let second = Sender { agent: "agent-2".to_owned(), ..forger.agent.clone() };
    let earlier = Sender { incarnation: 1, ..forger.agent.clone() };
    let rows = |order: Order| {
        let rows = Some("/tmp/rows.csv".into());
        Order { work: RunWork { rows, ..order.work.clone() }, ..order }
    };
    let part = |order: Order| Order { part: Part::new(2, 2).expect("it exists"), ..order };
    for (order, reason) in [
        (forger.order("unsigned"), "the order is not signed"),
        (sign(&other, &forger.agent, "foreign", now), "not in coordinators.txt"),
        (part(signed("altered")), "was altered"),
        (rows(signed("rows")), "was altered"),
        (Order { run: "renamed".to_owned(), ..signed("named") }, "was altered"),
        (sign(&own, &second, "second", now), "is for another agent"),
        (sign(&own, &earlier, "earlier", now), "an earlier process"),
        (sign(&own, &forger.agent, "expired", now - 200), "expired"),
    ] {
        let answer = forger.answer(&order);
        assert!(answer.contains(reason), "{}: {answer}", order.run);
    }
    // A coordinator's order, and another specification on the bus.
    let work = RunWork { specification: sha256(b"{}"), rows: None };
    let replaced = Order { work, ..forger.order("replaced") };
    let replaced = own.sign(&forger.agent, replaced, now).expect("a signature");
    assert!(forger.answer(&replaced).contains("the specification on the bus is not the one"));
    let good = signed("good");
    assert_eq!(forger.answer(&good), "Ready");
    assert_eq!(forger.answer(&signed("next")), "Ready");
    for repeated in [&good, &signed("good")] {
        assert!(forger.answer(repeated).contains("takes each once"));
    }
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn a_signed_order_brings_no_script_and_no_rules_of_wrk() {
    let server = Served::plainly();
    let fleet = LockedFleet::start();
    let words = "agent --allow any --permit all";
    let _agent = Process::start(&mut fleet.weir(words, &fleet.identity(AGENT)));
    let mut forger = Forger::start(&fleet, &server.url());
    let own = signer(&fleet.identity("coordinator"));
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let content = Some(b"os.execute('id')".to_vec());
    let file = InputFile { content, ..InputFile::at("s.lua") };
    let script = ScriptSpec { file, ..ScriptSpec::default() };
    forger.specification = specification(&server.url(), |spec| spec.script = Some(script));
    let order = own.sign(&forger.agent, forger.order("script"), now).expect("a signature");
    let answer = forger.answer(&order);
    assert!(answer.contains("runs on one machine"), "{answer}");
    forger.specification = specification(&server.url(), |spec| {
        spec.compat = Some(CompatSpec { dialect: Dialect::Wrk, batch_times: false });
    });
    let order = own.sign(&forger.agent, forger.order("wrk"), now).expect("a signature");
    let answer = forger.answer(&order);
    assert!(answer.contains("wrk and wrk2 have no agents"), "{answer}");
    assert_eq!(server.stop().requests.received, 0);
}
