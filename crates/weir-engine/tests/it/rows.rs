//! Rows of `--raw`: one for each slot, whatever becomes of its stream.

use std::collections::BTreeMap;

use weir_engine::Job;
use weir_io::Nanos;
use weir_result::{OutcomeClass, Outcomes, Plan, RawLog, RawRow, SlotPhase};
use weir_sim::{Law, World};

use crate::setup::{MS, Run, SECOND, closed, job, open, run_job};
use crate::toy::{Habits, ToyClient, ToyServer};

/// Memory of a log that holds the rows of a whole run.
const LOG_BYTES: usize = 16 << 20;

/// Runs a plan, and returns its rows.
fn run(habits: Habits, plan: &Plan) -> (Run, Vec<RawRow>) {
    let (log, source) = RawLog::new(LOG_BYTES, 1);
    let (service, _) = ToyServer::factory(habits);
    let world = World { service: Some(service), ..World::default() };
    let job = Job { protocol: ToyClient::factory(), raw: Some(log.clone()), ..job(plan) };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    log.end();
    let mut rows = Vec::new();
    let received = source.receive(|chunk| {
        rows.extend_from_slice(chunk);
        Ok::<(), ()>(())
    });
    received.expect("every row is taken");
    assert_eq!(log.lost(), 0);
    (run, rows)
}

/// Streams that fail, time out, are returned and end with their connections.
fn bad_habits() -> Habits {
    Habits {
        service: Law::Exponential { mean_ns: 4 * MS },
        limits: vec![3, 8, 1],
        returned: 0.2,
        failed: 0.05,
        swallowed: 0.05,
        not_found: 0.1,
        retires: 0.02,
        closes: 0.01,
        resets: 0.01,
        ..Habits::default()
    }
}

#[test]
fn every_slot_of_streams_has_one_row() {
    let plan = |plan: Plan| {
        plan.with_load(|load| {
            load.pipeline = 10;
            load.warmup.span_ns = SECOND / 4;
            load.timeout_ns = 30 * MS;
        })
    };
    for plan in [plan(open(1_000, 1, 2)), plan(open(5_000, 1, 1)), plan(closed(2))] {
        let (run, rows) = run(bad_habits(), &plan);
        let sent = run.measured.sent;
        let outcomes = run.measured.results.outcomes;
        let what = format!("{:?}: {sent:?} {outcomes:?}", plan.load);
        assert!(sent.returned > 50 && sent.resent > 50, "{what}");
        let of = |phase| rows.iter().filter(move |row: &&RawRow| row.phase == phase);
        let count = |phase| of(phase).count() as u64;
        assert_eq!(count(SlotPhase::Warmup), sent.warmup, "{what}");
        assert_eq!(count(SlotPhase::Tail), sent.tail, "{what}");
        assert_eq!(count(SlotPhase::Measured), run.measured.results.planned, "{what}");
        let mut classes = Outcomes::default();
        for row in of(SlotPhase::Measured) {
            classes.count(row.outcome, 1);
        }
        assert_eq!(classes, outcomes, "{what}");
        if plan.load.is_open_loop() {
            let mut slots = BTreeMap::<u64, u32>::new();
            rows.iter().for_each(|row| *slots.entry(row.intended_at).or_default() += 1);
            assert!(slots.values().all(|rows| *rows == 1), "{what}");
        }
        for row in rows.iter().filter(|row| row.outcome == OutcomeClass::Ok) {
            let times = [row.intended_at, row.sent_at, row.first_byte_at, row.ended_at];
            assert!(times.is_sorted(), "{what}: {row:?}");
            assert!(row.sent_at >= row.freed_at, "{what}: {row:?}");
        }
    }
}
