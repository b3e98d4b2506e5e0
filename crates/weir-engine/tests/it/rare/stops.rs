//! Stops of the client, as by SIGSTOP, at random places (METHOD 1.9, `client-stopped`): each that
//! touches the window or delays its requests is found, and each percentile that it moved is marked
//! as a bound. The truth is the same world without the stop.

use weir_engine::{BEAT_NS, Heartbeat};
use weir_io::Nanos;
use weir_result::document::RuleOutcome;
use weir_result::quantile::Bound;
use weir_result::{ClientHealth, Document, DocumentParts, Measurements, Plan, SideRecords};
use weir_sim::{Law, Network, Pause, Random, Seed, Server, Workers, World};

use crate::setup::{MS, SECOND, START, US, closed, open, poisson, run};

/// Worlds with stops, and worlds without.
const STOPPED: u64 = 120;
const UNDISTURBED: u64 = 50;

/// Percentiles that every report prints.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// A world without stops, and its plan.
fn world(random: &mut Random) -> (World, Plan) {
    let service_ns = random.between(50 * US, 2 * MS);
    let workers = random.between(1, 4);
    let mut connections = u32::try_from(random.between(1, 64)).expect("small");
    // Utilisations up to 0.9, of the connections too.
    let most = workers.min(connections.into()) * SECOND * 9 / 10 / (service_ns + 100 * US);
    let rate = random.between(most / 10, most).clamp(20, 4_000);
    let plan = match random.between(0, 3) {
        0 => {
            connections = connections.min(16);
            closed(connections)
        }
        1 => poisson(rate, 1, connections, random.bits()),
        _ => open(rate, 1, connections),
    };
    let service = match (plan.load.is_open_loop(), random.between(0, 1)) {
        // In an open loop each request has the same service time with and without a stop.
        (true, 0) => Law::Uniform { low_ns: service_ns / 2, high_ns: service_ns * 3 / 2 },
        _ => Law::Fixed(service_ns),
    };
    let workers = match random.between(0, 1) {
        0 => Workers::Unlimited,
        _ => Workers::Limited(u32::try_from(workers).expect("small")),
    };
    let network =
        Network { up: Law::Fixed(20 * US), down: Law::Fixed(20 * US), ..Network::default() };
    let server = Server { service, workers, ..Server::default() };
    let plan = plan.with_load(|load| {
        load.warmup.span_ns = random.between(1, 5) * 100 * MS;
        load.duration_ns = Some(random.between(10, 20) * 100 * MS);
    });
    (World { server, network, ..World::default() }, plan)
}

/// Returns the stops of a run: of 5 ms or more, in the warm-up, over each border, in the window, in
/// the drain, or two of them.
fn random_stops(random: &mut Random, plan: &Plan) -> Vec<Pause> {
    let (t0, t1) = window(plan);
    let length_ns = (5e6 * 200f64.powf(random.unit())) as u64;
    let before = |random: &mut Random, at: Nanos| {
        Pause::new(at.before(random.between(1, length_ns - 1)), length_ns)
    };
    let inside = |random: &mut Random| {
        let latest_ns = t1.since(t0).saturating_sub(length_ns);
        Pause::new(t0.after(random.between(0, latest_ns)), length_ns)
    };
    let mut stops = vec![match random.between(0, 5) {
        0 => Pause::new(START.after(random.between(0, t0.since(START))), length_ns),
        1 => before(random, t0),
        2 => before(random, t1),
        // Just after t1 the last requests of the window are in flight.
        3 => Pause::new(t1.after(random.between(0, 2 * MS)), length_ns),
        _ => inside(random),
    }];
    if random.chance(0.3) {
        let first = stops[0];
        let second = inside(random);
        let is_apart = second.from > first.until.after(2 * BEAT_NS)
            || first.from > second.until.after(2 * BEAT_NS);
        stops.extend(is_apart.then_some(second));
    }
    stops.retain(|stop| stop.from > START);
    stops.sort_unstable();
    stops
}

fn window(plan: &Plan) -> (Nanos, Nanos) {
    let t0 = START.after(plan.load.warmup.span_ns);
    (t0, t0.after(plan.load.length_ns().expect("all have one")))
}

/// Runs the world with these stops; returns the document, with the stops that a heartbeat found.
fn measured(world: &World, plan: &Plan, stops: &[Pause], phase_ns: u64) -> (Document, Nanos) {
    let mut world = world.clone();
    world.client.stops = stops.to_vec();
    let measured = run(world, plan).measured;
    let resolved = Nanos(measured.workers[0].resolved_ns);
    let heartbeat = beat(&measured, stops, phase_ns);
    let health = ClientHealth {
        heartbeat_gap_ns: Some(heartbeat.gap_max_ns),
        heartbeat_gap_at_ns: Some(heartbeat.gap_at_ns),
        stops: Some(heartbeat.stops(&measured)),
        ..ClientHealth::default()
    };
    let bare = DocumentParts::bare(plan.clone(), measured);
    let beside = SideRecords { health: Some(health), ..SideRecords::default() };
    let parts = DocumentParts { beside, ..bare };
    (weir_verdict::assemble(parts).expect("it adds up"), resolved)
}

/// Returns the beats of a thread that sleeps beside the load, until after its end.
pub(crate) fn beat(measured: &Measurements, stops: &[Pause], phase_ns: u64) -> Heartbeat {
    let mut heartbeat = Heartbeat::default();
    let phases = &measured.workers[0];
    let (t0, t1) = phases.window_ns;
    let mut woken_at = Nanos(phase_ns);
    while woken_at < Nanos(phases.drained_ns) {
        let due_at = woken_at.after(BEAT_NS);
        let is_in = |stop: &&Pause| stop.from <= due_at && due_at < stop.until;
        woken_at = stops.iter().find(is_in).map_or(due_at, |stop| stop.until);
        heartbeat.beat(due_at, woken_at, Some(0), Some((Nanos(t0), Nanos(t1))));
    }
    heartbeat
}

/// Returns the outcome of a rule.
fn outcome(document: &Document, id: &str) -> RuleOutcome {
    let rule = document.verdict.rules.iter().find(|rule| rule.id == id);
    rule.map_or(RuleOutcome::Unknown, |rule| rule.outcome)
}

/// Returns the percentiles that the stops moved and that are not marked, with both values.
fn unmarked(stopped: &Document, truth: &Document) -> Vec<(f64, u64, u64, Bound)> {
    let times = |document: &Document| document.results.response_time.headline().clone();
    let found = times(stopped);
    let true_times = times(truth);
    let moved = PERCENTILES.into_iter().filter_map(|p| {
        let value = found.percentile(p)?;
        let true_ns = true_times.percentile(p)?.ns;
        let least_ns = (value.ns as f64 * 0.05).max(20_000.0);
        let is_moved = value.ns as f64 - true_ns as f64 > least_ns;
        // Beside requests that got no response in time it is unknown.
        let is_marked = [Bound::Upper, Bound::Unknown].contains(&value.bound);
        (is_moved && !is_marked).then_some((p, value.ns, true_ns, value.bound))
    });
    moved.collect()
}

#[test]
fn stops_that_touch_the_window_or_delay_its_requests_are_found_and_bounded() {
    let mut places = [0; 3];
    for seed in 0..STOPPED {
        let mut random = Random::new(Seed(seed), 50);
        let (world, plan) = world(&mut random);
        let stops = random_stops(&mut random, &plan);
        let phase_ns = random.between(0, BEAT_NS);
        let (truth, _) = measured(&world, &plan, &[], phase_ns);
        let (document, resolved) = measured(&world, &plan, &stops, phase_ns);
        let (t0, t1) = window(&plan);
        let touches = |stop: &&Pause| stop.until > t0 && stop.from < resolved;
        let touching: Vec<&Pause> = stops.iter().filter(touches).collect();
        let about = format!("seed {seed}: {stops:?}, window {t0} to {t1}, {plan:?}");

        let found = document.health.and_then(|health| health.stops).expect("they were watched");
        assert!(found.count as usize >= touching.len(), "{about}: {found:?}");
        if let Some(longest) = touching.iter().max_by_key(|stop| stop.until.since(stop.from)) {
            let least_ns = longest.until.since(longest.from).saturating_sub(BEAT_NS);
            assert!(found.longest_ns >= least_ns, "{about}: {found:?}");
            let rule = outcome(&document, "client-stopped");
            assert!(rule >= RuleOutcome::Finding, "{about}: {rule:?} {found:?}");
        }
        let lengths = stops.iter().map(|stop| stop.until.since(stop.from));
        assert!(found.longest_ns <= lengths.max().unwrap_or(0), "{about}: {found:?}");

        let unmarked = unmarked(&document, &truth);
        assert!(unmarked.is_empty(), "{about}: {unmarked:?} {found:?}");
        places[0] += u32::from(stops.iter().any(|stop| stop.until <= t0));
        places[1] += u32::from(stops.iter().any(|stop| stop.from < t0 && stop.until > t0));
        places[2] += u32::from(stops.iter().any(|stop| stop.until > t1));
    }
    assert!(places.iter().all(|count| *count >= 5), "every kind was there: {places:?}");
}

#[test]
fn without_stops_none_is_found() {
    for seed in 0..UNDISTURBED {
        let mut random = Random::new(Seed(seed), 51);
        let (world, plan) = world(&mut random);
        let (document, _) = measured(&world, &plan, &[], random.between(0, BEAT_NS));
        for id in ["client-stopped", "client-overhead", "late-sends"] {
            let outcome = outcome(&document, id);
            assert!(outcome < RuleOutcome::Finding, "seed {seed}: {id}: {outcome:?}");
        }
        let usage = document.phases[0].usage;
        assert_eq!((usage.catch_up_requests, usage.gap_max_ns), (0, 0), "seed {seed}");
    }
}
