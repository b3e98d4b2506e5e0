//! Replayed logs: each slot has its own time and its own request, whatever shares the slots.

use std::sync::Arc;

use weir_engine::{Job, RequestList};
use weir_io::Nanos;
use weir_requests::list::{Order, Sequence};
use weir_result::{Arrivals, DueTimes, Load, Plan, ReplayPlan, Warmup};
use weir_sim::{Random, Seed, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::lists::{job_of, list};
use crate::setup::{SECOND, document, run_job, serving};

/// Returns the replay of requests at `times`, of the given rows.
fn replay(plan: &Plan, times: &[u64], rows: &[u32]) -> Job {
    let log = ReplayPlan {
        requests: times.len() as u64,
        window_ns: times.last().map_or(1, |last| last + 1),
        ..ReplayPlan::default()
    };
    let plan = plan.clone().with_load(|load| {
        load.duration_ns = None;
        load.requests = None;
        load.warmup = Warmup { span_ns: 0, is_auto: false };
        load.due = Some(DueTimes::Log(log));
    });
    let sequence = Sequence::listed(rows.into());
    let list = RequestList { sequence, ..list(Order::Once, &[1; 5]) };
    let mut job = job_of(&plan, list);
    job.requests.times = Some(times.into());
    job
}

/// Returns ascending times within `span_ns`, some of them equal, each with a row.
fn random_log(random: &mut Random, span_ns: u64, most: u64) -> (Vec<u64>, Vec<u32>) {
    let count = random.between(1, most);
    let mut times: Vec<u64> =
        (0..count).map(|_| random.between(0, span_ns) / 1_000_000 * 1_000_000).collect();
    times.sort_unstable();
    let rows = times.iter().map(|_| random.between(0, 4) as u32).collect();
    (times, rows)
}

/// With enough connections every request leaves at its time, on one worker or several.
#[test]
fn requests_leave_at_the_times_of_the_log() {
    let mut random = Random::new(Seed(7), 301);
    for (threads, connections) in [(1, 100), (3, 100), (4, 90)] {
        let (times, rows) = random_log(&mut random, SECOND, 300);
        let plan = Plan {
            load: Load { connections: connections.into(), ..Plan::default().load },
            threads,
            ..Plan::default()
        };
        let job = replay(&plan, &times, &rows);
        let mut sent: Vec<u64> = Vec::new();
        let mut by_row = [0; 5];
        for number in 0..threads {
            let run = run_job(serving(1_000), &job, number, Nanos::MAX, None);
            let start = run.start();
            sent.extend(run.truth.requests.iter().map(|it| it.sent_at.since(start)));
            // Rows 0 and 3 have one name.
            run.measured.names.iter().enumerate().for_each(|(name, counts)| {
                by_row[name] += counts.planned;
            });
            let sent = run.measured.sent;
            assert_eq!((sent.warmup, sent.tail), (0, 0), "a replay has neither");
        }
        sent.sort_unstable();
        assert_eq!(sent, times, "{threads} threads");
        let name = |row: u32| if row.is_multiple_of(3) { 0 } else { row as usize };
        let mut expected = [0; 5];
        rows.iter().for_each(|row| expected[name(*row)] += 1);
        assert_eq!(by_row, expected, "{threads} threads");
    }
}

/// Random logs in random worlds with all kinds of faults, some of them cut short.
#[test]
fn replays_add_up_in_wild_worlds() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 100);
    let mut responded = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 302);
        let (plan, number, stop_at) = random_plan(&mut random);
        let (times, rows) = random_log(&mut random, SPAN_NS, 400);
        let job = replay(&plan, &times, &rows);
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job, number, stop_at, None);
        // `run_job` checks the run, and this the sums over names.
        let names: u64 = run.measured.names.iter().map(|name| name.planned).sum();
        assert_eq!(names, run.measured.results.planned, "seed {seed}");
        responded += run.measured.results.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

/// The load of a log is no sample of one distribution: nothing claims a steady state.
#[test]
fn a_replay_has_no_intervals() {
    let times: Vec<u64> = (0..600).map(|nth| nth * nth * 1_000).collect();
    let rows: Vec<u32> = times.iter().map(|_| 0).collect();
    let job =
        replay(&Plan::default().with_load(|load| load.connections = 50.into()), &times, &rows);
    let mut plan = job.plan.clone();
    let run = run_job(serving(SECOND / 10_000), &job, 0, Nanos::MAX, None);
    let found = |plan: &Plan| {
        let document = document(plan, run.measured.clone());
        (document.results.completed_interval.is_some(), document.stationarity.is_empty())
    };
    let list = Arc::clone(job.requests.list.as_ref().expect("it has one"));
    plan.list = Some(weir_result::ListPlan {
        names: (0..list.names).map(|name| name.to_string()).collect(),
        with_intervals: list.with_slices.clone(),
        ..weir_result::ListPlan::default()
    });
    assert_eq!(found(&plan), (false, true));
    let rate = plan.load.rate().expect("it has a mean");
    plan.load.due = Some(DueTimes::constant(rate, Arrivals::Uniform));
    plan.load.duration_ns = job.plan.load.length_ns();
    assert_eq!(found(&plan), (true, false), "as a constant load it would have them");
}
