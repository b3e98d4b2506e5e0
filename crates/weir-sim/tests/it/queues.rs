//! The server model against theory, driven by a scripted client in virtual time.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::common::{REQUEST, endpoint};
use crate::theory::{self, StallCurve};
use weir_io::{Backend, ConnId, EventKind, Nanos, Segment, SocketOptions, TemplateId, WaitPolicy};
use weir_sim::{Client, Law, Pause, Random, Seed, Server, Sim, Workers, World};

const SECOND: u64 = 1_000_000_000;

fn uniform(rate: u64, count: u64) -> Vec<Nanos> {
    (0..count).map(|i| Nanos((2 * i + 1) * SECOND / (2 * rate))).collect()
}

fn poisson(rate: u64, count: u64, seed: u64) -> Vec<Nanos> {
    let mut random = Random::new(Seed(seed), 99);
    let mut at = Nanos::ZERO;
    let gap = Law::Exponential { mean_ns: SECOND / rate };
    (0..count)
        .map(|_| {
            at = at.after(gap.draw(&mut random));
            at
        })
        .collect()
}

fn latencies_s(world: World, conns: u32, due: &[Nanos]) -> Vec<f64> {
    let mut sim = Sim::new(world);
    let mut client = Scripted::open(&mut sim, conns);
    client.run(due);
    client.done.sort_by_key(|done| done.due_at);
    client.done.iter().map(|done| done.ended_at.since(done.due_at) as f64 / 1e9).collect()
}

fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted[rank.max(1) - 1]
}

/// Checks the mean over 30 batches of `statistic` against `expected`, within five standard errors.
fn check(values: &[f64], statistic: impl Fn(&[f64]) -> f64, expected: f64) {
    let batches: Vec<f64> = values.chunks(values.len() / 30).take(30).map(statistic).collect();
    let mean = batches.iter().sum::<f64>() / 30.0;
    let variance = batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / 29.0;
    let error = (variance / 30.0).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} ± {error} is not {expected}");
    assert!(error < 0.2 * expected, "{mean} ± {error} says nothing about {expected}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn single_worker(seed: u64) -> World {
    let server = Server {
        service: Law::Exponential { mean_ns: SECOND / 1_000 },
        workers: Workers::Limited(1),
        ..Server::default()
    };
    World { seed: Seed(seed), server, ..World::default() }
}

#[test]
fn one_worker_and_poisson_arrivals_are_mm1() {
    for rate in [500, 800] {
        let values = latencies_s(single_worker(11), 400, &poisson(rate, 600_000, 11));
        let arrival = rate as f64;
        check(&values, mean, theory::mm1_mean(arrival, 1_000.0));
        // The distribution is exponential: the share above its own p99 is one in a hundred.
        let p99 = theory::mm1_quantile(arrival, 1_000.0, 0.99);
        check(&values, |batch| share_above(batch, p99), 0.01);
    }
}

#[test]
fn one_worker_and_uniform_arrivals_are_dm1() {
    for rate in [500, 800] {
        let values = latencies_s(single_worker(12), 400, &uniform(rate, 150_000));
        let arrival = rate as f64;
        check(&values, mean, theory::dm1_mean(arrival, 1_000.0));
        let p99 = theory::dm1_quantile(arrival, 1_000.0, 0.99);
        check(&values, |batch| share_above(batch, p99), 0.01);
    }
}

#[test]
fn one_worker_of_fixed_speed_is_md1() {
    let mut world = single_worker(13);
    world.server.service = Law::Fixed(SECOND / 1_000);
    let values = latencies_s(world, 400, &poisson(800, 100_000, 13));
    check(&values, mean, theory::md1_mean(800.0, 1_000.0));
}

#[test]
fn two_workers_serve_as_erlang_says() {
    let mut world = single_worker(14);
    world.server.workers = Workers::Limited(2);
    let values = latencies_s(world, 400, &poisson(1_600, 150_000, 14));
    // M/M/2 at utilisation 0.8: mean 1 / (µ (1 − ρ²)).
    check(&values, mean, 0.001 / (1.0 - 0.64));
}

#[test]
fn unlimited_workers_never_queue() {
    let mut world = single_worker(15);
    world.server.workers = Workers::Unlimited;
    let values = latencies_s(world, 400, &poisson(5_000, 50_000, 15));
    check(&values, mean, 0.001);
    check(&values, |batch| share_above(batch, 100f64.ln() / 1_000.0), 0.01);
}

#[test]
fn a_fixed_service_is_exact() {
    let values = latencies_s(World::default(), 8, &uniform(1_000, 5_000));
    assert!(values.iter().all(|&value| value == 0.001), "{values:?}");
}

/// METHOD 2.2, for all of its table.
#[test]
fn a_stalled_server_gives_the_stall_curve() {
    for (utilisation, service_ns) in [(0.0, 0), (0.25, 125_000), (0.5, 250_000), (0.8, 400_000)] {
        let curve = StallCurve { base_s: 0.0005, stall_s: 1.4, window_s: 30.0, utilisation };
        let mut world = World::default();
        world.server.stalls = vec![Pause::new(Nanos(5 * SECOND), 14 * SECOND / 10)];
        world.server.service = Law::Fixed(service_ns);
        if service_ns > 0 {
            world.server.workers = Workers::Limited(1);
        }
        world.network.up = Law::Fixed((500_000 - service_ns) / 2);
        world.network.down = world.network.up;
        let values = latencies_s(world, 4_000, &uniform(2_000, 60_000));
        for p in [0.92, 0.95, 0.98, 0.99, 0.999, 0.9999] {
            let found = quantile(&values, p);
            let expected = curve.quantile(p);
            // The granularity is one slot, 1/R.
            assert!((found - expected).abs() < 0.001, "ρ {utilisation}, p {p}: {found} {expected}");
        }
        assert!((mean(&values) - curve.mean()).abs() < 0.001);
        assert!((quantile(&values, 1.0) - curve.max()).abs() < 0.001);
    }
}

/// V13: a client that stops sees the same curve, and the server's log shows that it caused no
/// delay.
#[test]
fn a_stopped_client_gives_the_stall_curve_too() {
    let stall_s = 1.4;
    let curve = StallCurve { base_s: 0.0005, stall_s, window_s: 30.0, utilisation: 0.0 };
    let stops = vec![Pause::new(Nanos(5 * SECOND), 14 * SECOND / 10)];
    let mut world = World { client: Client { stops, ..Client::default() }, ..World::default() };
    world.server.service = Law::Fixed(500_000);
    let mut sim = Sim::new(world);
    let mut client = Scripted::open(&mut sim, 4_000);
    client.run(&uniform(2_000, 60_000));
    let values: Vec<f64> =
        client.done.iter().map(|done| done.ended_at.since(done.due_at) as f64 / 1e9).collect();
    for p in [0.9, 0.98, 0.99, 0.999, 0.9999] {
        assert!((quantile(&values, p) - curve.quantile(p)).abs() < 0.001);
    }
    for request in sim.truth().requests {
        assert_eq!(request.departed_at, Some(request.received_at.after(500_000)));
    }
}

fn share_above(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|&&value| value > limit).count() as f64 / values.len() as f64
}

/// One finished exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    /// Time at which it was due.
    due_at: Nanos,
    /// Time at which it was sent.
    sent_at: Nanos,
    /// Time at which its response was complete.
    ended_at: Nanos,
}

/// A client that sends at given times on any free connection. Its server must have no faults and
/// must respond with lengths.
struct Scripted<'a> {
    sim: &'a mut Sim,
    template: TemplateId,
    free: VecDeque<u32>,
    conns: Vec<Conn>,
    /// Finished exchanges, in order of their ends.
    done: Vec<Done>,
}

#[derive(Clone, Default)]
struct Conn {
    current: Option<(Nanos, Nanos)>,
    received: Vec<u8>,
}

impl Scripted<'_> {
    /// Opens `conns` connections.
    fn open(sim: &mut Sim, conns: u32) -> Scripted<'_> {
        let template = sim.template(Arc::from(REQUEST));
        for conn in 0..conns {
            sim.connect(ConnId(conn), &endpoint(), SocketOptions::default());
        }
        let conn_list = vec![Conn::default(); conns as usize];
        let mut client =
            Scripted { sim, template, free: VecDeque::new(), conns: conn_list, done: Vec::new() };
        while client.free.len() < conns as usize {
            client.process_events(Nanos::MAX);
        }
        client
    }

    /// Sends one request at each of these times, or as soon after as a connection is free, and
    /// awaits all responses.
    fn run(&mut self, due: &[Nanos]) {
        let mut next = 0;
        let target = self.done.len() + due.len();
        while self.done.len() < target {
            let now = self.sim.now();
            while next < due.len() && due[next] <= now {
                let Some(conn) = self.free.pop_front() else {
                    break;
                };
                let bytes = u32::try_from(REQUEST.len()).unwrap();
                self.sim.send(ConnId(conn), &[Segment::Template { id: self.template, bytes }]);
                self.conns[conn as usize].current = Some((due[next], now));
                next += 1;
            }
            let is_waiting_for_time = next < due.len() && !self.free.is_empty();
            self.process_events(if is_waiting_for_time { due[next] } else { Nanos::MAX });
        }
    }

    fn process_events(&mut self, until: Nanos) {
        self.sim.wait(until, WaitPolicy::Hybrid).unwrap();
        while let Some(event) = self.sim.next() {
            let conn = &mut self.conns[event.conn.index()];
            match event.kind {
                EventKind::Connected => self.free.push_back(event.conn.0),
                EventKind::Received { bytes, .. } => {
                    conn.received.extend_from_slice(bytes);
                    if is_whole(&conn.received) {
                        conn.received.clear();
                        let (due_at, sent_at) = conn.current.take().unwrap();
                        self.done.push(Done { due_at, sent_at, ended_at: event.at });
                        self.free.push_back(event.conn.0);
                    }
                }
                EventKind::Transmitted { .. } | EventKind::Discarded(_) => {}
                other => panic!("the server is well, but: {other:?}"),
            }
        }
    }
}

/// True if a response is complete, by its `content-length`.
fn is_whole(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let value = head.split("content-length: ").nth(1).expect("responses have lengths");
    let length: usize = value.split("\r\n").next().unwrap().parse().unwrap();
    body.len() == length
}
