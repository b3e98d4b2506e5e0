//! A run that several machines carry out together: three parts of one worker each, merged, equal
//! one run of three workers.

use weir_engine::{Control, run_on};
use weir_io::Nanos;
use weir_result::{Closer, ConnectionPlan, Document, Measurements, Part, Plan};
use weir_sim::{Seed, Sim, World};

use crate::setup::{MS, SECOND, closed, document, job, open, poisson};

/// Start of the schedule of every part and of the whole, later than any connection needs.
const START: Nanos = Nanos(400 * MS);

/// Number of parts, and of workers in all.
const PARTS: u32 = 3;

/// Runs worker `number` of a plan in its own world, whose connects take as long as they take.
fn measured(plan: &Plan, alone: &Plan, number: u32, world: World) -> Measurements {
    let control = Control::of_plan(alone, START, None);
    run_on(&job(plan), number, &control, Sim::new(world), None, None).expect("a simulated machine")
}

/// Runs the plan as one run of three workers.
fn whole(plan: &Plan, world: impl Fn(u32) -> World) -> Document {
    // A barrier of one worker, since each runs in a virtual time of its own.
    let alone = Plan { threads: 1, ..plan.clone() };
    let mut all = Measurements::default();
    let mut workers: Vec<Measurements> =
        (0..PARTS).map(|number| measured(plan, &alone, number, world(number))).collect();
    weir_result::align_slices(&mut workers);
    workers.iter().for_each(|worker| all.merge(worker));
    document(plan, all)
}

/// Runs each part of the plan by itself.
fn parts(plan: &Plan, division: &[Part], world: impl Fn(u32) -> World) -> Vec<Document> {
    let part = |part: &Part| {
        let plan = Plan { part: Some(*part), ..plan.clone() };
        // A barrier of one worker, as in the whole.
        let alone = Plan { threads: 1, part: None, ..plan.clone() };
        let mut all = Measurements::default();
        let workers = plan.own_workers();
        let mut workers: Vec<Measurements> =
            workers.map(|number| measured(&plan, &alone, number, world(number))).collect();
        weir_result::align_slices(&mut workers);
        workers.iter().for_each(|worker| all.merge(worker));
        document(&plan, all)
    };
    division.iter().map(part).collect()
}

/// Three parts of one worker.
fn equal() -> Vec<Part> {
    (1..=PARTS).filter_map(|index| Part::new(index, PARTS)).collect()
}

fn plans() -> Vec<Plan> {
    let renewing = ConnectionPlan { close: Some(Closer::Client), ..ConnectionPlan::default() };
    let plans = [
        open(997, 1, 7),
        poisson(1_500, 1, 20, 42),
        closed(10),
        open(3_000, 1, 5).with_load(|load| load.pipeline = 4),
        Plan { connection: renewing, ..open(500, 1, 4) },
        poisson(800, 1, 3, 7).with_load(|load| load.warmup.span_ns = 200 * MS),
        // A window that ends with the requests of each worker: slices of different lengths.
        closed(8).with_load(|load| {
            load.duration_ns = None;
            load.requests = Some(1_000);
        }),
        open(2_000, 1, 9).with_load(|load| {
            load.duration_ns = None;
            load.requests = Some(700);
        }),
    ];
    plans.into_iter().map(|plan| Plan { threads: PARTS, ..plan }).collect()
}

/// Checks that parts merged equal one run of three workers, in every bucket of every
/// histogram and in every count.
fn check(plan: &Plan, division: &[Part], what: &str, world: impl Fn(u32) -> World) {
    let whole = whole(plan, &world);
    let mut parts = parts(plan, division, &world);
    parts.rotate_right(1);
    let merged = weir_verdict::merge(&parts);
    let merged = merged.expect("parts of one run");
    assert_eq!(merged.accounting, whole.accounting, "{what}");
    assert!(whole.results.planned > 0, "{what}: nothing was measured");
    assert_eq!(merged.latency, whole.latency, "{what}");
    assert_eq!(merged.throughput, whole.throughput, "{what}");
    // Each machine has a start of its own, and so a set-up of its own.
    let mut connections = merged.connections;
    assert!(connections.setup_ns <= whole.connections.setup_ns, "{what}");
    connections.setup_ns = whole.connections.setup_ns;
    assert_eq!(connections, whole.connections, "{what}");
    assert_eq!(merged.departures, whole.departures, "{what}");
    assert_eq!(merged.occupancy, whole.occupancy, "{what}");
    assert_eq!(merged.stamps, whole.stamps, "{what}");
    assert_eq!(merged.slices, whole.slices, "{what}");
    assert_eq!(merged.series, whole.series, "{what}");
    assert_eq!(merged.stationarity, whole.stationarity, "{what}");
    let mut phases = merged.phases;
    let parts_of_workers: Vec<u32> = phases.iter().map(|phases| phases.part).collect();
    let owner = |part: &Part| vec![part.index(); part.share_of(PARTS) as usize];
    assert_eq!(parts_of_workers, division.iter().flat_map(owner).collect::<Vec<_>>(), "{what}");
    phases.iter_mut().for_each(|phases| phases.part = 1);
    assert_eq!(phases, whole.phases, "{what}");
}

#[test]
fn three_parts_merged_equal_one_run_of_three_workers() {
    for seed in 0..3 {
        for plan in plans() {
            let what = format!("seed {seed}, {:?}, {:?}", plan.load, plan.load.requests);
            let world = |number: u32| {
                World::well(Seed(seed * u64::from(PARTS) + u64::from(number)), SECOND)
            };
            check(&plan, &equal(), &what, world);
        }
    }
}

#[test]
fn parts_with_weights_merged_equal_one_run() {
    let division = Part::weighted(&[1, 2]).expect("two parts");
    for plan in plans() {
        let what = format!("{:?}, {:?}", plan.load, plan.load.requests);
        check(&plan, &division, &what, |number| World::well(Seed(number.into()), SECOND));
    }
}

#[test]
fn parts_in_wild_worlds_lose_nothing() {
    for seed in 0..8 {
        for plan in plans().into_iter().filter(|plan| plan.load.length_ns().is_some()) {
            let plan = plan.with_load(|load| {
                load.timeout_ns = SECOND;
                load.connect_timeout_ns = 300 * MS;
            });
            let what = format!("seed {seed}, {:?}", plan.load);
            let world = |number: u32| {
                World::wild(Seed(seed * u64::from(PARTS) + u64::from(number)), SECOND)
            };
            check(&plan, &equal(), &what, world);
        }
    }
}

#[test]
fn a_part_has_its_share_of_the_connections_and_of_the_rate() {
    // Ten connections on four workers: 3, 3, 2, 2; workers 0 and 2 belong to part 1.
    let plan = Plan { threads: 4, part: Part::new(1, 2), ..open(1_000, 1, 10) };
    assert_eq!(plan.own_workers().collect::<Vec<_>>(), [0, 2]);
    assert_eq!((plan.own_threads(), plan.own_connections()), (2, 5));
    let alone = Plan { threads: 1, ..open(1_000, 1, 10) };
    let planned = [0, 2].map(|number| {
        let world = World::well(Seed(1), SECOND);
        measured(&plan, &alone, number, world).results.planned
    });
    assert_eq!(planned, [300, 200]);
}
