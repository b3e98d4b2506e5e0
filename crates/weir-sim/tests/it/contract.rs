//! The rules of `Backend`, checked on the simulation by a client that makes any calls the rules
//! permit, in hundreds of random worlds. Also checks that a seed repeats a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{REQUEST, endpoint};
use weir_io::{
    Backend, Close, ConnId, EventKind, Nanos, Segment, SocketOptions, StampRequest, Submitted,
    TemplateId, WaitPolicy,
};
use weir_sim::{Breakage, Client, Law, Limits, Pause, Random, Seed, Signal, Sim, Truth, World};

const MS: u64 = 1_000_000;

/// A client's state of one of its connections.
#[derive(Clone, Debug, Default)]
struct Known {
    connects: u64,
    is_connecting: bool,
    is_open: bool,
    has_ended: bool,
    permitted: u64,
}

/// A client that makes random calls until 100 ms, and checks and records every event.
struct Wanderer<'a> {
    sim: &'a mut Sim,
    random: Random,
    template: TemplateId,
    known: Vec<Known>,
    reported: Vec<String>,
    received_bytes: u64,
    last_at: Nanos,
}

impl Wanderer<'_> {
    fn new(sim: &mut Sim, seed: u64) -> Wanderer<'_> {
        let template = sim.template(Arc::from(REQUEST));
        Wanderer {
            sim,
            random: Random::new(Seed(seed), 101),
            template,
            known: vec![Known::default(); 8],
            reported: Vec::new(),
            received_bytes: 0,
            last_at: Nanos::ZERO,
        }
    }

    fn wander(&mut self) {
        while self.sim.now() < Nanos(100 * MS) {
            for conn in 0..self.known.len() {
                if self.random.chance(0.5) {
                    self.act(conn);
                }
            }
            if self.random.chance(0.5) {
                let Submitted { before, after } = self.sim.submit();
                assert!(self.last_at <= before && before <= after);
                self.last_at = after;
            }
            let until = self.last_at.after(self.random.between(0, MS));
            self.sim.wait(until, WaitPolicy::Sleep).unwrap();
            let woken_at = self.sim.now();
            let reported = self.reported.len();
            while self.listen() {}
            let is_early = woken_at < until && self.reported.len() == reported;
            assert!(!is_early, "woken at {woken_at} for nothing, {until} was asked for");
        }
        for conn in 0..self.known.len() {
            self.sim.close(ConnId(conn as u32), Close::Graceful);
        }
        self.sim.wait(Nanos(200 * MS), WaitPolicy::Sleep).unwrap();
        assert!(self.sim.next().is_none(), "an event of a closed connection");
    }

    /// Makes one random call on a connection, any that the rules permit.
    fn act(&mut self, number: usize) {
        let conn = ConnId(u32::try_from(number).unwrap());
        let known = &mut self.known[number];
        if !known.is_open && !known.is_connecting {
            let requests = [StampRequest::None, StampRequest::Sample, StampRequest::All];
            let stamps = requests[self.random.between(0, 2) as usize];
            let options = SocketOptions { stamps, discard: true, source: None };
            self.sim.connect(conn, &endpoint(), options);
            *known = Known { connects: known.connects + 1, ..Known::default() };
            known.is_connecting = true;
            return;
        }
        match self.random.between(0, 9) {
            0 => {
                let how = if self.random.chance(0.5) { Close::Graceful } else { Close::Reset };
                self.sim.close(conn, how);
                known.is_open = false;
                known.is_connecting = false;
            }
            1 if known.is_open => {
                known.permitted = self.random.between(0, 200);
                self.sim.discard(conn, known.permitted);
            }
            2..=4 if known.is_open => {
                let pooled = self.sim.pool(&REQUEST[10..]);
                let first = Segment::Template { id: self.template, bytes: 10 };
                self.sim.send(conn, &[first, Segment::Pooled(pooled)]);
            }
            _ => {}
        }
    }

    /// Takes one event. Returns false if there is none.
    fn listen(&mut self) -> bool {
        let Some(event) = self.sim.next() else {
            return false;
        };
        let known = &mut self.known[event.conn.index()];
        assert!(event.at >= self.last_at, "time goes back");
        self.last_at = event.at;
        assert_eq!(u64::from(event.generation) + 1, known.connects, "an event of an old socket");
        assert!(known.is_open || known.is_connecting, "an event after the end");
        assert_eq!(known.is_connecting, !known.is_open);
        self.reported.push(format!("{} {} {:?}", event.at, event.conn.0, event.kind));
        match event.kind {
            EventKind::Connected => {
                assert!(known.is_connecting);
                known.is_connecting = false;
                known.is_open = true;
            }
            EventKind::Received { bytes, rx_at } => {
                assert!(known.is_open && !known.has_ended && !bytes.is_empty());
                assert!(rx_at.is_none_or(|rx_at| rx_at <= event.at));
                let length = bytes.len() as u64;
                bytes.fill(0);
                self.received_bytes += length;
                known.permitted = known.permitted.saturating_sub(length);
            }
            EventKind::Discarded(bytes) => {
                assert!(known.is_open && !known.has_ended && bytes > 0);
                assert!(bytes <= known.permitted, "more was thrown away than permitted");
                self.received_bytes += bytes;
                known.permitted -= bytes;
            }
            EventKind::Transmitted { tx_at } => assert!(known.is_open && tx_at <= event.at),
            EventKind::Closed => {
                assert!(known.is_open && !known.has_ended);
                known.has_ended = true;
            }
            EventKind::Failed(_) => {
                known.is_open = false;
                known.is_connecting = false;
            }
            EventKind::Accepted => panic!("no server listens here"),
        }
        true
    }
}

fn wander(seed: u64) -> (Vec<String>, u64, Truth) {
    let mut sim = Sim::new(World::wild(Seed(seed), 100 * MS));
    let mut wanderer = Wanderer::new(&mut sim, seed);
    wanderer.wander();
    let reported = wanderer.reported;
    let received_bytes = wanderer.received_bytes;
    (reported, received_bytes, sim.truth())
}

#[test]
fn the_rules_hold_in_wild_worlds() {
    let mut responded = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..150 {
        let (reported, received_bytes, truth) = wander(seed);
        // Bytes that had arrived when the client closed were never delivered.
        assert!(received_bytes <= truth.counts.bytes_to_client, "seed {seed}");
        assert_eq!(reported.len() as u64, truth.counts.events, "seed {seed}");
        for request in &truth.requests {
            assert!(request.sent_at <= request.received_at, "seed {seed}");
            let times = [
                Some(request.received_at),
                request.started_at,
                request.departed_at,
                request.delivered_at,
            ];
            let known: Vec<Nanos> = times.iter().map_while(|at| *at).collect();
            assert!(known.is_sorted(), "seed {seed}: {request:?}");
            assert!(request.first_delivered_at <= request.delivered_at.or(Some(Nanos::MAX)));
        }
        responded += truth.responded();
        kinds.extend(truth.counts.injected.keys().copied());
    }
    assert!(responded > 5_000, "{responded} responses are too few to say anything");
    assert_eq!(kinds.len(), 8 + Breakage::ALL.len() - 1, "not every fault came about: {kinds:?}");
}

#[test]
fn a_seed_repeats_a_run() {
    for seed in 0..10 {
        assert_eq!(wander(seed), wander(seed), "seed {seed}");
    }
    assert_ne!(wander(1).2, wander(2).2);
}

fn open(world: World, options: SocketOptions) -> (Sim, TemplateId) {
    let mut sim = Sim::new(world);
    let template = sim.template(Arc::from(REQUEST));
    sim.connect(ConnId(0), &endpoint(), options);
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    assert!(matches!(sim.next().unwrap().kind, EventKind::Connected));
    (sim, template)
}

fn send(sim: &mut Sim, template: TemplateId) {
    let bytes = u32::try_from(REQUEST.len()).unwrap();
    sim.send(ConnId(0), &[Segment::Template { id: template, bytes }]);
}

#[test]
fn a_wait_ends_at_its_instant_or_at_an_event() {
    let (mut sim, template) = open(World::default(), SocketOptions::default());
    sim.wait(Nanos(500), WaitPolicy::Spin).unwrap();
    assert_eq!(sim.now(), Nanos(500));
    assert!(sim.next().is_none());
    send(&mut sim, template);
    sim.wait(Nanos(10 * MS), WaitPolicy::Spin).unwrap();
    assert_eq!(sim.now(), Nanos(500 + MS));
    assert!(matches!(sim.next().unwrap().kind, EventKind::Received { .. }));
    assert!(sim.next().is_none());
    sim.wait(Nanos(3), WaitPolicy::Spin).unwrap();
    assert_eq!(sim.now(), Nanos(500 + MS), "a wait for the past takes no time");
}

#[test]
fn responses_that_arrived_together_are_received_together() {
    let mut world = World::default();
    world.client.stops = vec![Pause::new(Nanos(1), 10 * MS)];
    let (mut sim, template) =
        open(world, SocketOptions { stamps: StampRequest::All, ..SocketOptions::default() });
    for _ in 0..3 {
        send(&mut sim, template);
    }
    sim.submit();
    sim.wait(Nanos(5), WaitPolicy::Sleep).unwrap();
    assert!(matches!(sim.next().unwrap().kind, EventKind::Transmitted { tx_at: Nanos(0) }));
    let event = sim.next().unwrap();
    assert_eq!(event.at, Nanos(1 + 10 * MS), "the client was stopped");
    let EventKind::Received { bytes, rx_at } = event.kind else { panic!("{event:?}") };
    assert_eq!(rx_at, Some(Nanos(3 * MS)), "when the last response arrived");
    assert_eq!(String::from_utf8_lossy(bytes).matches("200 Simulated").count(), 3);
    let truth = sim.truth();
    let delivered: Vec<u64> =
        truth.requests.iter().map(|request| request.delivered_at.unwrap().0 / MS).collect();
    assert_eq!(delivered, [1, 2, 3], "requests of one connection are served one at a time");
}

#[test]
fn stamps_divide_the_time_of_a_request_exactly() {
    // The client takes 3 µs to submit, and is stopped from 1.5 ms to 11.5 ms. The response arrives
    // within that stop; the network takes 0.4 ms each way.
    let mut world = World::default();
    world.client.submit_ns = 3_000;
    world.client.stops = vec![Pause::new(Nanos(1_500_000), 10 * MS)];
    world.network.up = Law::Fixed(400_000);
    world.network.down = Law::Fixed(400_000);
    let (mut sim, template) =
        open(world, SocketOptions { stamps: StampRequest::All, ..SocketOptions::default() });
    send(&mut sim, template);
    let sent_at = sim.submit().before;
    let tx_at = sent_at.after(3_000);
    // A send wakes no thread.
    sim.wait(tx_at.after(10), WaitPolicy::Sleep).unwrap();
    assert!(sim.now() == tx_at.after(10) && sim.next().is_none());
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    let event = sim.next().unwrap();
    assert!(matches!(event.kind, EventKind::Transmitted { tx_at: at } if at == tx_at));
    let event = sim.next().unwrap();
    let EventKind::Received { rx_at: Some(rx_at), .. } = event.kind else { panic!("{event:?}") };
    assert_eq!(event.at, Nanos(11_500_000), "the client went on");
    assert_eq!(rx_at.since(tx_at), 400_000 + MS + 400_000, "network, server, network");
    assert_eq!(sim.truth().requests[0].delivered_at, Some(rx_at), "the true arrival");
    assert!(sim.next().is_none());
}

#[test]
fn a_signal_wakes_the_client() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut world = World::default();
    world.client.signals = vec![Signal { at: Nanos(700), flag: Arc::clone(&flag) }];
    let mut sim = Sim::new(world);
    sim.wait(Nanos(600), WaitPolicy::Sleep).unwrap();
    assert!(!flag.load(Ordering::SeqCst));
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    assert_eq!((sim.now(), flag.load(Ordering::SeqCst)), (Nanos(700), true));
}

#[test]
fn rule_n_holds_when_calls_cost_time() {
    let client = Client { clock_ns: 20, submit_ns: 700, event_ns: 90, ..Client::default() };
    let world = World { client, ..World::default() };
    let (mut sim, template) = open(world, SocketOptions::default());
    send(&mut sim, template);
    let submitted = sim.submit();
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    let ended_at = sim.next().unwrap().at;
    let request = sim.truth().requests[0];
    assert!(submitted.before <= request.sent_at && request.sent_at <= submitted.after);
    assert_eq!(ended_at, request.delivered_at.unwrap().after(90));
}

#[test]
fn the_truth_can_be_read_from_another_thread() {
    let (mut sim, template) = open(World::default(), SocketOptions::default());
    let truth = sim.truth_handle();
    let worker = std::thread::spawn(move || {
        send(&mut sim, template);
        sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
    });
    worker.join().unwrap();
    assert_eq!(truth.read().requests.len(), 1);
    assert_eq!(truth.snapshot().counts.waits, 2);
}

#[test]
#[should_panic(expected = "deadlock: the client waits for ever")]
fn a_deadlock_panics() {
    let mut world = World::default();
    world.server.black_hole_from = Some(Nanos::ZERO);
    let (mut sim, template) = open(world, SocketOptions::default());
    send(&mut sim, template);
    sim.wait(Nanos::MAX, WaitPolicy::Sleep).unwrap();
}

#[test]
#[should_panic(expected = "the simulated run does not end: 101 calls")]
fn a_loop_that_stands_still_panics() {
    let limits = Limits { idle_calls: 100, ..Limits::default() };
    let mut sim = Sim::new(World { limits, ..World::default() });
    while sim.now() < Nanos(1) {}
}

#[test]
#[should_panic(expected = "which is not open")]
fn a_send_before_connected_panics() {
    let mut sim = Sim::new(World::default());
    let template = sim.template(Arc::from(REQUEST));
    sim.connect(ConnId(0), &endpoint(), SocketOptions::default());
    send(&mut sim, template);
}
