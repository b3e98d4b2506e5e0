//! Loads in stages: their slots, and the sums over slices that results by stage are made of.

use weir_io::Nanos;
use weir_result::document::{Delivery, Grade, LimitedBy};
use weir_result::{Arrivals, Document, DueTimes, Load, Outcomes, Plan, Rate, Stage, Warmup};
use weir_sim::{Law, Random, Seed, Server, Workers, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::setup::{Run, SECOND, document, job, run_job, serving};

/// Returns a load in these stages.
fn staged(plan: &Plan, stages: Vec<Stage>, arrivals: Arrivals) -> Plan {
    plan.clone().with_load(|load| {
        load.duration_ns = None;
        load.requests = None;
        load.due = Some(DueTimes::in_stages(stages, arrivals));
    })
}

fn rate(numerator: u64) -> Rate {
    Rate { numerator, denominator: 1 }
}

/// Checks that the stages add up to the whole in every class.
pub(crate) fn check_stages(plan: &Plan, run: &Run, what: &str) {
    let document = document(plan, run.measured.clone());
    let mut sum = Outcomes::default();
    let mut planned = 0;
    let mut completed = 0;
    let mut good = 0;
    for stage in &document.stages {
        sum.ok += stage.results.outcomes.ok;
        sum.bad_response += stage.results.outcomes.bad_response;
        sum.transport_error += stage.results.outcomes.transport_error;
        sum.timed_out += stage.results.outcomes.timed_out;
        sum.in_flight_at_end += stage.results.outcomes.in_flight_at_end;
        sum.never_sent += stage.results.outcomes.never_sent;
        sum.shed += stage.results.outcomes.shed;
        planned += stage.results.planned;
        completed += stage.results.completed;
        good += stage.results.good;
        let classes = stage.results.planned - stage.results.outcomes.ok;
        let failed = stage.results.outcomes.bad_response
            + stage.results.outcomes.transport_error
            + stage.results.outcomes.timed_out;
        assert_eq!(
            classes,
            failed + stage.results.outcomes.in_flight_at_end + stage.results.outcomes.never_sent,
            "{what}"
        );
        // Lags are those of the requests due in the stage, however late they were sent. A closed
        // loop has none.
        let is_open_loop = plan.load.is_open_loop();
        let expected = if is_open_loop {
            stage.results.planned - stage.results.outcomes.never_sent
        } else {
            0
        };
        for lag in [&stage.send_lag, &stage.sched_lag] {
            let sent = lag.as_ref().map_or(0, |lag| lag.times.ok.count());
            assert_eq!(sent, expected, "{what}");
        }
    }
    assert_eq!(sum, run.measured.results.outcomes, "{what}");
    assert_eq!(planned, run.measured.results.planned, "{what}");
    let results = &run.measured.results;
    assert_eq!((completed, good), (results.completed, results.good), "{what}");
}

/// Random stages in random worlds with all kinds of faults.
#[test]
fn stages_add_up_in_wild_worlds() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 100);
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
        responded += run.measured.results.outcomes.ok;
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
    let plan = Plan {
        load: Load {
            warmup: Warmup { span_ns: SECOND / 2, is_auto: false },
            connections: 50.into(),
            ..Plan::default().load
        },
        ..Plan::default()
    };
    let plan = staged(&plan, stages, Arrivals::Uniform);
    let run = run_job(serving(SECOND / 1_000), &job(&plan), 0, Nanos::MAX, None);
    let document = document(&plan, run.measured.clone());
    let planned: Vec<u64> = document.stages.iter().map(|stage| stage.results.planned).collect();
    assert_eq!(planned, [200, 1_200, 0, 250]);
    let sent: Vec<u64> = document.stages.iter().map(|stage| stage.sent).collect();
    assert_eq!(sent, planned);
    assert_eq!(run.measured.sent.warmup, 100);
}

/// A step beyond what the connections can carry is late, and its backlog is sent in the next stage:
/// each has a verdict of its own.
#[test]
fn each_stage_has_its_verdict() {
    let stage = |hz| Stage { duration_ns: SECOND, from: rate(hz), to: rate(hz), burst: 1 };
    let plan = Plan {
        load: Load {
            warmup: Warmup { span_ns: SECOND / 10, is_auto: false },
            connections: 2.into(),
            ..Plan::default().load
        },
        ..Plan::default()
    };
    let stages = vec![stage(100), stage(300), stage(0), stage(100)];
    let plan = staged(&plan, stages, Arrivals::Uniform);
    let run = run_job(serving(SECOND / 100), &job(&plan), 0, Nanos::MAX, None);
    let document = document(&plan, run.measured);
    let verdict = |index: usize| document.stages[index].verdict.clone();
    let of = |index: usize| verdict(index).expect("requests were due");
    let brief = |index| (of(index).grade, of(index).load.delivery, of(index).limit.by);
    assert_eq!(brief(0), (Grade::Clean, Delivery::AsPlanned, LimitedBy::Rate));
    // 100 of 300 wait for up to half a second.
    assert_eq!(document.verdict.limit.by, LimitedBy::Rate, "of the whole");
    assert_eq!(brief(1), (Grade::Clean, Delivery::Late, LimitedBy::Unknown), "without a probe");
    let text = of(1).load.text;
    assert!(text.contains("they waited for a free connection; 300 were due"), "{text}");
    assert_eq!(verdict(2), None, "no request was due");
    assert_eq!(brief(3), brief(0));
}

/// Returns the document of a ramp and a second at its last rate, against a server that serves one
/// request after the other.
fn ramp(seed: u64, from: u64, to: u64, service_ns: u64, arrivals: Arrivals) -> Document {
    let stages = vec![
        Stage { duration_ns: 3 * SECOND, from: rate(from), to: rate(to), burst: 1 },
        Stage { duration_ns: SECOND, from: rate(to), to: rate(to), burst: 1 },
    ];
    let server = Server {
        service: Law::Fixed(service_ns),
        workers: Workers::Limited(1),
        ..Server::default()
    };
    let world = World { seed: Seed(seed), server, ..World::default() };
    let plan = Plan {
        load: Load {
            warmup: Warmup { span_ns: SECOND / 10, is_auto: false },
            connections: 50.into(),
            ..Plan::default().load
        },
        ..Plan::default()
    };
    let plan = staged(&plan, stages, arrivals);
    document(&plan, run_job(world, &job(&plan), 0, Nanos::MAX, None).measured)
}

/// The knee of a ramp over the capacity is the capacity of the server.
#[test]
fn a_ramp_finds_the_capacity_of_a_server() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300) / 30;
    let mut held = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 207);
        let service_ns = random.between(1_000_000, 2_000_000);
        let capacity_rps = SECOND as f64 / service_ns as f64;
        let to = (capacity_rps * (1.4 + random.unit())) as u64;
        let arrivals = match seed % 2 {
            0 => Arrivals::Uniform,
            _ => Arrivals::Poisson { seed },
        };
        let knee = ramp(seed, 100, to, service_ns, arrivals).stages[0].knee.expect("a ramp");
        let Some((low, high)) = knee.low_rps.zip(knee.high_rps) else { continue };
        let is_near = 0.95 * capacity_rps <= low && high <= 1.05 * capacity_rps;
        held += u64::from(low <= capacity_rps && capacity_rps <= high && is_near);
    }
    assert!(held * 10 >= seeds * 9, "{held} of {seeds} hold the capacity");
}

/// A ramp below the capacity has no knee, and neither it nor the load behind it is called unsteady.
#[test]
fn a_clean_ramp_is_steady() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300) / 15;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 208);
        let to = random.between(200, 400);
        let document = ramp(seed, 0, to, 1_500_000, Arrivals::Uniform);
        let knee = document.stages[0].knee.expect("a ramp");
        assert_eq!((knee.low_rps, knee.searched_rps.round()), (None, to as f64), "seed {seed}");
        let steady = ["not-stationary", "autocorrelation", "warmup-too-short", "growing-backlog"];
        for id in steady {
            let rule = document.verdict.rules.iter().find(|rule| rule.id == id);
            assert!(rule.is_some_and(|rule| !rule.has_fired()), "seed {seed}: {rule:?}");
        }
        assert!(!document.stationarity.is_empty(), "the second stage is judged");
    }
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
            let plan = Plan {
                load: Load { connections: connections.into(), ..Plan::default().load },
                threads,
                ..Plan::default()
            };
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

/// A ramp from 0 is at its curve all the time: each request leaves within one slot of it.
#[test]
fn a_ramp_is_never_more_than_a_slot_off_its_curve() {
    const LENGTH_S: f64 = 10.0;
    const SLOTS: f64 = 25_000.0;
    let stage = Stage { duration_ns: 10 * SECOND, from: rate(0), to: rate(5_000), burst: 1 };
    for threads in [1, 2] {
        let plan = Plan {
            load: Load { connections: 50.into(), ..Plan::default().load },
            threads,
            ..Plan::default()
        };
        let plan = staged(&plan, vec![stage], Arrivals::Uniform);
        let mut sent_s = Vec::new();
        for number in 0..threads {
            let run = run_job(serving(SECOND / 10_000), &job(&plan), number, Nanos::MAX, None);
            let start_ns = run.start().0;
            let requests = run.truth.requests.iter();
            sent_s.extend(requests.map(|request| (request.sent_at.0 - start_ns) as f64 / 1e9));
        }
        sent_s.sort_unstable_by(f64::total_cmp);
        for (slot, at_s) in sent_s.iter().take(SLOTS as usize).enumerate() {
            let behind = SLOTS * (at_s / LENGTH_S).powi(2) - (slot as f64 + 0.5);
            assert!((-0.01..=1.0).contains(&behind), "{threads}: slot {slot} is {behind} behind");
        }
        assert!(sent_s.len() >= SLOTS as usize);
    }
}
