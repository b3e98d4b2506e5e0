//! Loads in stages: their slots, and the sums over slices that results by stage are made of.

use weir_io::Nanos;
use weir_result::{Arrivals, Load, Outcomes, Plan, Rate, Stage, mean_rate};
use weir_sim::{Random, Seed, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::setup::{Run, SECOND, document, job, run_job, serving};

/// Returns a load in these stages.
fn staged(plan: &Plan, stages: Vec<Stage>, arrivals: Arrivals) -> Plan {
    Plan {
        load: Load::OpenLoop { rate: mean_rate(&stages), arrivals },
        duration_ns: Some(stages.iter().map(|stage| stage.duration_ns).sum()),
        requests: None,
        stages,
        ..plan.clone()
    }
}

fn rate(numerator: u64) -> Rate {
    Rate { numerator, denominator: 1 }
}

/// Checks that the stages add up to the whole in every class.
pub(crate) fn check_stages(plan: &Plan, run: &Run, what: &str) {
    let document = document(plan, run.measured.clone());
    let mut sum = Outcomes::default();
    let (mut planned, mut completed, mut good) = (0, 0, 0);
    for stage in &document.stages {
        sum.ok += stage.ok;
        sum.bad_response += stage.bad_response;
        sum.transport_error += stage.transport_error;
        sum.timed_out += stage.timed_out;
        sum.in_flight_at_end += stage.in_flight_at_end;
        sum.never_sent += stage.never_sent;
        sum.shed += stage.shed;
        planned += stage.planned;
        completed += stage.completed;
        good += stage.good;
        let classes = stage.planned - stage.ok;
        let failed = stage.bad_response + stage.transport_error + stage.timed_out;
        assert_eq!(classes, failed + stage.in_flight_at_end + stage.never_sent, "{what}");
    }
    assert_eq!(sum, run.measured.outcomes, "{what}");
    assert_eq!(planned, run.measured.planned, "{what}");
    let window = run.measured.window;
    assert_eq!((completed, good), (window.completed, window.good), "{what}");
}

/// Random stages in random worlds with all kinds of faults.
#[test]
fn stages_add_up_in_wild_worlds() {
    let (from, seeds) = (setting("WEIR_SIM_FROM", 0), setting("WEIR_SIM_SEEDS", 300));
    let mut responded = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 206);
        let (plan, number, stop_at) = random_plan(&mut random);
        let count = random.between(1, 5);
        let mut stages: Vec<Stage> = (0..count)
            .map(|_| Stage {
                duration_ns: random.between(1, SPAN_NS / count),
                from: rate(random.between(0, 20_000)),
                to: rate(random.between(0, 20_000)),
                burst: random.between(1, 3) as u32,
            })
            .collect();
        stages[0].from = rate(random.between(1, 20_000));
        if random.chance(0.5) {
            stages.iter_mut().for_each(|stage| stage.to = stage.from);
        }
        let arrivals = match random.chance(0.5) {
            true => Arrivals::Uniform,
            false => Arrivals::Poisson { seed },
        };
        let plan = staged(&plan, stages, arrivals);
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job(&plan), number, stop_at, None);
        check_stages(&plan, &run, &format!("seed {seed}"));
        responded += run.measured.outcomes.ok;
    }
    assert!(responded >= seeds, "{responded} responses in {seeds} runs say nothing");
}

/// An ideal client sends by the plan: the requests of each stage leave in it, and a ramp has as
/// many as its area says.
#[test]
fn requests_arrive_as_the_stages_say() {
    let stage = |seconds, from, to| Stage {
        duration_ns: seconds * SECOND,
        from: rate(from),
        to: rate(to),
        burst: 1,
    };
    let stages = vec![stage(1, 200, 200), stage(2, 200, 1_000), stage(1, 0, 0), stage(1, 500, 0)];
    let plan = Plan { warmup_ns: SECOND / 2, connections: 50, ..Plan::default() };
    let plan = staged(&plan, stages, Arrivals::Uniform);
    let run = run_job(serving(SECOND / 1_000), &job(&plan), 0, Nanos::MAX, None);
    let document = document(&plan, run.measured.clone());
    let planned: Vec<u64> = document.stages.iter().map(|stage| stage.planned).collect();
    assert_eq!(planned, [200, 1_200, 0, 250]);
    let sent: Vec<u64> = document.stages.iter().map(|stage| stage.sent).collect();
    assert_eq!(sent, planned);
    assert_eq!(run.measured.sent.warmup, 100);
}

/// Workers and parts share the slots of the whole, each exactly once.
#[test]
fn workers_share_the_slots_of_stages() {
    let stages = || {
        vec![
            Stage { duration_ns: SECOND, from: rate(10), to: rate(700), burst: 1 },
            Stage { duration_ns: SECOND, from: rate(30), to: rate(30), burst: 7 },
        ]
    };
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson { seed: 3 }] {
        let sent = |threads: u32, connections: u32| {
            let plan = Plan { threads, connections, ..Plan::default() };
            let plan = staged(&plan, stages(), arrivals);
            let run =
                |number| run_job(serving(SECOND / 10_000), &job(&plan), number, Nanos::MAX, None);
            (0..threads).map(|number| run(number).truth.requests.len()).sum::<usize>()
        };
        let whole = sent(1, 30);
        assert_eq!(sent(3, 30), whole, "{arrivals:?}");
        assert_eq!(sent(4, 9), whole, "{arrivals:?}");
    }
}
