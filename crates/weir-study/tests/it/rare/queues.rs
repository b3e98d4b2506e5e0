//! Searches in virtual time: the engine as it is, against queues whose highest rate is known
//! (METHOD 1.13, V21).

use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_result::study::{Design, SearchEnd, SearchResult, SearchTrial, TrialUse};
use weir_result::{Arrivals, Document, DocumentParts, DueTimes, IoEngine, Load, Plan, Warmup};
use weir_sim::{Law, Pick, ResponseFault, Seed, Server, Sim, Workers, World};
use weir_study::search::{Next, SearchRun, TrialPlan, quick};

const SEEDS: u64 = 5;
const SECOND: f64 = 1e9;

/// A world, and the arrival process of the load.
struct Queue {
    seed: u64,
    world: World,
    is_poisson: bool,
    /// Highest rate of the client, in requests per second. The client's share of CPU time follows
    /// from it: nothing takes CPU time in virtual time.
    client_rps: f64,
}

impl Queue {
    /// Returns a queue before a server with this many workers.
    fn new(seed: u64, service: Law, workers: Workers) -> Queue {
        let server = Server { service, workers, ..Server::default() };
        let world = World { server, ..World::default() };
        Queue { seed, world, is_poisson: true, client_rps: f64::INFINITY }
    }

    fn world(&self, trial: u64) -> World {
        World { seed: Seed(1_000 * self.seed + trial), ..self.world.clone() }
    }

    fn plan(&self, trial: &TrialPlan, number: u64) -> Plan {
        let arrivals = match self.is_poisson {
            true => Arrivals::Poisson { seed: 1_000 * self.seed + number },
            false => Arrivals::Uniform,
        };
        Plan {
            load: Load {
                due: trial.rate().map(|rate| DueTimes::constant(rate, arrivals)),
                connections: trial.connections.into(),
                warmup: Warmup { span_ns: (trial.warmup_s * SECOND) as u64, is_auto: false },
                duration_ns: Some((trial.duration_s * SECOND) as u64),
                drain_ns: Some((trial.drain_s.unwrap_or(10.0) * SECOND) as u64),
                ..Plan::default().load
            },
            io: IoEngine::Simulated,
            ..Plan::default()
        }
    }
}

/// Runs trial `number` of a search.
fn document(queue: &Queue, trial: &TrialPlan, number: u64) -> Document {
    let plan = queue.plan(trial, number);
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let mut job = Job::new(plan.clone(), endpoint, request.expect("a plain request"));
    job.responses.discard = true;
    let sim = Sim::new(queue.world(number));
    let measured = run_on(&job, 0, &Control::new(1, None), sim, None, None);
    let mut measured = measured.expect("a simulated machine does not fail");
    let share = measured.results.completed as f64 / trial.duration_s / queue.client_rps;
    let usage = &mut measured.workers[0].usage;
    usage.wall_ns = (trial.duration_s * SECOND) as u64;
    usage.cpu_ns = (share * trial.duration_s * SECOND) as u64;
    weir_verdict::assemble(DocumentParts::bare(plan, measured)).expect("it adds up")
}

fn design(objective: &str, connections_max: u32) -> Design {
    Design::Search {
        objective: objective.to_owned(),
        effort: quick(),
        arrivals: Arrivals::Uniform,
        connections: 64,
        connections_max,
        rate_max_rps: None,
    }
}

fn search(queue: &Queue, design: &Design) -> SearchResult {
    let mut run = SearchRun::new(design).expect("an objective");
    for number in 0.. {
        match run.next() {
            Next::Run(trial) => {
                let document = document(queue, &trial, number);
                run.record(&document).expect("the document of the trial");
            }
            Next::Done(result) => return *result,
        }
    }
    unreachable!("trials are limited")
}

/// Runs a search for each seed. Returns the number of intervals that hold the true highest rate.
fn hits(queue: impl Fn(u64) -> (Queue, f64), objective: &str) -> u64 {
    let mut hits = 0;
    for seed in 0..SEEDS {
        let (queue, truth_rps) = queue(seed);
        let result = search(&queue, &design(objective, 10_000));
        let lower = result.lower.expect("found");
        let upper = result.upper.expect("found");
        hits += u64::from(lower.rate_rps <= truth_rps && truth_rps <= upper.rate_rps);
        println!(
            "{seed}: {truth_rps:.1} in {}..{}, {:?}, {} trials, support {:?}",
            lower.rate_rps,
            upper.rate_rps,
            result.end,
            result.trials.len(),
            result.support,
        );
    }
    hits
}

/// A server that never queues takes 50 ms per request, so that each connection carries 20 per
/// second: the search raises the number of connections as far as it may.
#[test]
fn too_few_connections_are_raised_or_named() {
    let queue = Queue::new(1, Law::Fixed(50_000_000), Workers::Unlimited);
    let result = search(&queue, &design("p99 < 60ms", 300));
    let SearchEnd::LimitedByConnections { rate_rps, connections, waits } = result.end else {
        panic!("{result:?}")
    };
    let lower = result.lower.expect("found");
    assert!(connections == 300 && waits > 0.001 && result.upper.is_none(), "{result:?}");
    assert!(lower.rate_rps > 4_000.0 && rate_rps < 6_000.0, "{result:?}");
    assert!((rate_rps - lower.rate_rps) / rate_rps <= 0.1, "{result:?}");
    let raised = |trial: &&SearchTrial| trial.used == TrialUse::TooFewConnections;
    let raised: Vec<u32> = result.trials.iter().filter(raised).map(|t| t.connections).collect();
    assert_eq!(raised, [64, 256]);
}

/// One in 50 requests is reset, at any rate: the percentile is met and the objective is not.
#[test]
fn a_compound_objective_is_missed_with_one_claim() {
    let mut queue = Queue::new(1, Law::Fixed(500_000), Workers::Limited(1));
    queue.world.faults.response = vec![(Pick::Every(50), ResponseFault::ResetBefore)];
    let result = search(&queue, &design("p50 < 10ms and errors < 1%", 10_000));
    assert_eq!((&result.end, result.lower), (&SearchEnd::BelowRange, None));
    let upper = result.upper.expect("found");
    assert_eq!((upper.claim, upper.good), (1, 0));
}

/// The client takes 100 µs for each response, the server next to nothing: no rate is the server's
/// highest.
#[test]
fn a_slow_client_is_named_and_not_the_server() {
    let mut queue = Queue::new(1, Law::Fixed(10_000), Workers::Unlimited);
    queue.world.client.event_ns = 100_000;
    queue.client_rps = 10_000.0;
    let result = search(&queue, &design("p99 < 5ms", 10_000));
    let SearchEnd::LimitedByClient { rate_rps, text } = &result.end else { panic!("{result:?}") };
    let lower = result.lower.expect("found");
    assert!(!text.is_empty() && result.upper.is_none(), "{result:?}");
    assert!(lower.rate_rps < 10_000.0 && *rate_rps > 8_500.0, "{result:?}");
    assert!((rate_rps - lower.rate_rps) / rate_rps <= 0.1, "{result:?}");
}

/// Mean service time of a seed in nanoseconds: they differ, so that the rates of the search are not
/// always in the same place beside the truth.
fn mean_ns(seed: u64) -> u64 {
    400_000 + 9_973 * seed
}

/// M/M/1: response times are exponential with rate µ − λ, so that 1% exceed T at λ = µ − ln 100/T.
#[test]
fn the_highest_rate_of_mm1_is_inside() {
    let queue = |seed| {
        let mean_ns = mean_ns(seed);
        let limit_s = 0.01;
        let service = Law::Exponential { mean_ns };
        let truth_rps = SECOND / mean_ns as f64 - 100_f64.ln() / limit_s;
        (Queue::new(seed, service, Workers::Limited(1)), truth_rps)
    };
    let hits = hits(queue, "p99 < 10ms");
    assert!(hits >= SEEDS - 1, "{hits} of {SEEDS}");
}

/// D/D/1: nothing waits below the service rate, and the queue grows above it.
#[test]
fn the_highest_rate_of_dd1_is_inside() {
    let queue = |seed| {
        let service = Law::Fixed(mean_ns(seed));
        let queue = Queue::new(seed, service, Workers::Limited(1));
        (Queue { is_poisson: false, ..queue }, SECOND / mean_ns(seed) as f64)
    };
    let hits = hits(queue, "p99 < 10ms");
    assert!(hits >= SEEDS - 1, "{hits} of {SEEDS}");
}

/// D/D/1 with limits of 15 to 40 service times, which no trial reaches at a rate slightly above the
/// capacity: its backlog grows, and it is not good.
#[test]
fn a_loose_limit_does_not_hide_a_growing_backlog() {
    for (objective, seed) in [("p95 < 75ms", 1), ("p95 < 100ms", 2), ("p99 < 200ms", 3)] {
        let queue = Queue::new(seed, Law::Fixed(5_000_000), Workers::Limited(1));
        let result = search(&Queue { is_poisson: false, ..queue }, &design(objective, 10_000));
        let lower = result.lower.expect("found");
        let upper = result.upper.expect("found");
        assert!(lower.rate_rps <= 200.0 && upper.rate_rps >= 200.0, "{objective}: {result:?}");
        assert!(result.trials.iter().any(|trial| trial.growth.is_some()), "{result:?}");
    }
}
