//! Closed loops in stages: connections that come and leave by plan.

use std::collections::BTreeSet;

use weir_io::Nanos;
use weir_result::{ConnectionLoad, ConnectionStage, Load, Plan, Warmup, parse_connection_stages};
use weir_sim::{Random, Seed, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::setup::{Run, SECOND, document, job, run_job, serving};
use crate::stages::check_stages;

const MS: u64 = SECOND / 1_000;

/// Returns a closed loop in these stages.
fn ramping(plan: &Plan, stages: Vec<ConnectionStage>) -> Plan {
    plan.clone().with_load(|load| {
        load.duration_ns = None;
        load.requests = None;
        load.connections = ConnectionLoad::Stages(stages);
        load.in_flight_max = None;
    })
}

/// Returns the connections of `run` that sent a request in the 5 ms up to `offset_ns` from t0.
fn senders(run: &Run, plan: &Plan, offset_ns: u64) -> usize {
    let until = run.start().after(plan.load.warmup.span_ns + offset_ns);
    let sent = run.sent_between(until.before(5 * MS), until);
    sent.iter().map(|request| request.conn).collect::<BTreeSet<_>>().len()
}

#[test]
fn connections_follow_the_plan_on_one_and_two_workers() {
    let stages = "500ms@c=4..64,500ms@c=64..0,250ms@c=0,250ms@c=9,500ms@c=9..1";
    let stages = parse_connection_stages(stages).expect("stages");
    // The planned number in the middle of parts of the ramps and steps.
    let planned = [(250, 34), (750, 32), (1_150, 0), (1_450, 9), (1_750, 5), (1_995, 1)];
    for threads in [1, 2] {
        let plan = Plan {
            load: Load {
                warmup: Warmup { span_ns: SECOND / 10, is_auto: false },
                ..Plan::default().load
            },
            threads,
            ..Plan::default()
        };
        let plan = ramping(&plan, stages.clone());
        let world = || serving(2 * MS);
        let runs: Vec<Run> = (0..threads)
            .map(|number| run_job(world(), &job(&plan), number, Nanos::MAX, None))
            .collect();
        for (ms, expected) in planned {
            let found: usize = runs.iter().map(|run| senders(run, &plan, ms * MS)).sum();
            assert!(found.abs_diff(expected) <= 1, "{threads} threads, {ms} ms: {found}");
        }
        let sum = |count: fn(&Run) -> u64| runs.iter().map(count).sum::<u64>();
        let joined = sum(|run| run.measured.connections.joined);
        let left = sum(|run| run.measured.connections.left);
        assert_eq!((joined, left), (60 + 9, 64 + 8), "{threads} threads");
        assert_eq!(sum(|run| run.measured.connections.requested), 4);
        assert_eq!(sum(|run| run.measured.connections.open_max), 64);
        // The area under the line, in connections times milliseconds.
        let area = (34 + 32) * 500 + 9 * 250 + 5 * 500;
        let capacity: u128 = runs.iter().map(|run| run.measured.occupancy.capacity_ns).sum();
        assert!(capacity.abs_diff(area * u128::from(MS)) <= 69 * 3 * u128::from(MS), "{capacity}");
    }
}

#[test]
fn a_connection_that_leaves_awaits_its_responses() {
    let stages = parse_connection_stages("100ms@c=8,300ms@c=1").expect("stages");
    let plan = ramping(&Plan::default(), stages);
    let run = run_job(serving(30 * MS), &job(&plan), 0, Nanos::MAX, None);
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
    assert_eq!((run.measured.connections.left, run.measured.connections.renewed), (7, 0));
    assert!(run.measured.results.errors.is_empty());
}

/// Random stages in random worlds with all kinds of faults.
#[test]
fn stages_of_connections_add_up_in_wild_worlds() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 10);
    let mut responded = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 207);
        let (plan, _, stop_at) = random_plan(&mut random);
        let count = random.between(1, 5);
        let mut stages: Vec<ConnectionStage> = (0..count)
            .map(|_| ConnectionStage {
                duration_ns: random.between(1, SPAN_NS / count),
                from: random.between(0, 12) as u32,
                to: random.between(0, 12) as u32,
            })
            .collect();
        stages[0].from = random.between(1, 12) as u32;
        let plan = ramping(&plan.with_load(|load| load.due = None), stages);
        let plan = Plan { threads: plan.threads.min(plan.load.connections.count()), ..plan };
        let number = random.between(0, u64::from(plan.threads) - 1) as u32;
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job(&plan), number, stop_at, None);
        check_stages(&plan, &run, &format!("seed {seed}"));
        let counts = &run.measured.connections;
        assert!(counts.left <= counts.joined + counts.requested, "seed {seed}: {counts:?}");
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

#[test]
fn a_ramp_from_nothing_has_a_document() {
    let stages = parse_connection_stages("200ms@c=0..10").expect("stages");
    let plan = ramping(&Plan::default(), stages);
    let run = run_job(serving(MS), &job(&plan), 0, Nanos::MAX, None);
    let document = document(&plan, run.measured);
    assert_eq!(document.stages.len(), 1);
    assert_eq!(document.stages[0].load, "200 ms with 0 to 10 connections");
    assert!(document.results.completed_interval.is_none());
    assert!(
        (900..=1_050).contains(&document.stages[0].results.outcomes.ok),
        "{}",
        document.stages[0].results.outcomes.ok
    );
}
