//! A/B studies in virtual time: the engine as it is, against servers; one of them may be slower
//! (METHOD 1.15, V20).

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_result::document::{LimitedBy, Tool};
use weir_result::quantile::Bound;
use weir_result::study::{
    Answer, Cell, Comparison, Design, HookRun, Hooks, Settling, StudyResult, StudyState,
};
use weir_result::{Document, DocumentParts, IoEngine, Load, Plan, STUDY_VERSION, Study, Warmup};
use weir_sim::{Law, Seed, Server, Sim, Workers, World};
use weir_stats::{Shuffle, normal_quantile};
use weir_study::{HookKind, TrialRunner, Upcoming, conduct, next_trial, reopen, undecidable};
use weir_text::units;

/// Median service time of the base in nanoseconds, and the spread of its logarithm.
const SERVICE_NS: f64 = 100_000.0;
const SIGMA: f64 = 0.3;

/// Requests of each run, over connections that keep the server busy.
const REQUESTS: u64 = 600;
const CONNECTIONS: u32 = 4;

/// Standard deviation of the speed of a run, as restarts and neighbours make it.
const RUN_NOISE: f64 = 0.01;

/// Slow-down of the machine from one trial to the next: it drifts through the study.
const DRIFT: f64 = 0.002;

/// A machine in virtual time.
struct Virtual {
    seed: u64,
    /// Service time of B relative to A.
    slower: f64,
    random: Shuffle,
    /// True if the connections limit the rate of each run.
    has_bounds: bool,
    /// Trials after which a signal arrives.
    trials_max: u32,
    trials: u32,
}

impl Virtual {
    fn new(seed: u64, slower: f64) -> Virtual {
        let random = Shuffle::seeded(seed);
        Virtual { seed, slower, random, has_bounds: false, trials_max: u32::MAX, trials: 0 }
    }

    /// A normal deviate.
    fn normal(&mut self) -> f64 {
        const STEPS: usize = 1 << 30;
        normal_quantile((self.random.below(STEPS) as f64 + 0.5) / STEPS as f64)
    }
}

impl TrialRunner for Virtual {
    type Error = Infallible;

    fn announce(&mut self, _: &Study, _: &Upcoming) {}

    fn settle(&mut self, _: &Upcoming) -> Result<Option<Settling>, String> {
        Ok(None)
    }

    fn hook(&mut self, _: HookKind, _: &Upcoming) -> Result<HookRun, String> {
        unreachable!("the studies have none")
    }

    fn run(&mut self, _: &Study, upcoming: &Upcoming) -> Result<Document, String> {
        self.trials += 1;
        let number = upcoming.number;
        let own = if upcoming.cell == 1 { self.slower } else { 1.0 };
        let noise = RUN_NOISE * self.normal() + DRIFT * f64::from(number);
        let service =
            Law::LogNormal { median_ns: (SERVICE_NS * own * noise.exp()) as u64, sigma: SIGMA };
        let server = Server { service, workers: Workers::Limited(1), ..Server::default() };
        let seed = Seed(1_000 * self.seed + u64::from(number));
        let mut document = document(World { seed, server, ..World::default() });
        if self.has_bounds {
            document.throughput.bound = Bound::Lower;
            document.verdict.limit.by = LimitedBy::Connections;
        }
        Ok(document)
    }

    fn keep(&mut self, _: &Study) -> Result<(), Infallible> {
        Ok(())
    }

    fn now(&self) -> String {
        "2000-01-01T00:00:00Z".to_owned()
    }

    fn is_interrupted(&self) -> bool {
        self.trials >= self.trials_max
    }
}

/// Runs a load in a world.
fn document(world: World) -> Document {
    let plan = Plan {
        load: Load {
            connections: CONNECTIONS.into(),
            requests: Some(REQUESTS),
            duration_ns: None,
            warmup: Warmup { span_ns: 0, is_auto: false },
            ..Plan::default().load
        },
        io: IoEngine::Simulated,
        ..Plan::default()
    };
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let job = Job::new(plan.clone(), endpoint, request.expect("a plain request"));
    let measured = run_on(&job, 0, &Control::new(1, None), Sim::new(world), None, None);
    let measured = measured.expect("a simulated machine does not fail");
    weir_verdict::assemble(DocumentParts::bare(plan, measured)).expect("it adds up")
}

fn study(seed: u64) -> Study {
    let cell = |name: &str| Cell { name: name.to_owned(), ..Cell::default() };
    Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: "0".to_owned() },
        started: "2000-01-01T00:00:00Z".to_owned(),
        command: Vec::new(),
        design: Design::Ab {
            metrics: ["rate", "p50", "p99"].map(str::to_owned).to_vec(),
            threshold: 0.02,
            pairs: None,
        },
        seed,
        hooks: Hooks::default(),
        cells: vec![cell("A"), cell("B")],
        trials: Vec::new(),
        state: StudyState::Running,
        result: None,
        notes: Vec::new(),
    }
}

fn conducted(seed: u64, slower: f64) -> Comparison {
    conducted_in(Virtual::new(seed, slower))
}

fn conducted_in(mut machine: Virtual) -> Comparison {
    let mut study = study(machine.seed);
    let Ok(()) = conduct(&mut study, &mut machine);
    assert_eq!(study.state, StudyState::Complete);
    match study.result {
        Some(StudyResult::Comparison(comparison)) => comparison,
        other => panic!("{other:?}"),
    }
}

fn answers(studies: u64, slower: f64) -> Vec<Answer> {
    let answer = |seed| {
        let comparison = conducted(seed, slower);
        assert!([8, 12, 16, 20].contains(&comparison.base.runs), "{comparison:?}");
        comparison.metrics[0].verdict.answer
    };
    (0..studies).map(answer).collect()
}

/// 5% slower, at a run noise of 1% and with drift: found in at least 90% of studies.
#[test]
fn a_server_that_is_5_percent_slower_is_found() {
    let found = answers(60, 1.05).into_iter().filter(|answer| *answer == Answer::Worse).count();
    assert!(found >= 54, "{found} of 60");
}

/// The limit of 4 is what 5% of 30 studies exceed with a probability of 1.6%.
#[test]
fn equal_servers_are_rarely_called_different() {
    let is_different =
        |answer: &Answer| matches!(answer, Answer::Better | Answer::Worse | Answer::BelowThreshold);
    let different = answers(30, 1.0).iter().filter(|answer| is_different(answer)).count();
    assert!(different <= 4, "{different} of 30");
}

/// Rates that the connections limit tell nothing about the servers, however much they differ: the
/// first time among the metrics has the verdict, and the report says so.
#[test]
fn a_rate_that_is_a_bound_leaves_the_verdict_to_a_time() {
    let found = conducted_in(Virtual { has_bounds: true, ..Virtual::new(3, 1.1) });
    let names: Vec<&str> = found.metrics.iter().map(|it| it.metric.as_str()).collect();
    assert_eq!(names, ["p50", "rate", "p99"]);
    assert_eq!(found.metrics[0].verdict.answer, Answer::Worse, "{found:?}");
    let rate = &found.metrics[1];
    assert!(rate.verdict.answer == Answer::Undecided && rate.base.starts_with("≥ "), "{rate:?}");
    assert!(rate.sentence.ends_with("a time can decide: `study.metrics` p50"), "{}", rate.sentence);
    let text = "Requests/s cannot decide, since the number of connections limits it, not the \
                server; p50 decides instead";
    assert!(found.warnings.iter().any(|note| note.text == text), "{:?}", found.warnings);
    let equal = conducted_in(Virtual { has_bounds: true, ..Virtual::new(3, 1.0) });
    assert_eq!(equal.metrics[0].metric, "p50");
    assert_ne!(equal.metrics[0].verdict.answer, Answer::Worse, "{equal:?}");
}

/// A percentile has one row in the table of metrics and one in the shift function.
#[test]
fn both_tables_have_the_same_figures() {
    let found = conducted(5, 1.05);
    let metric = found.metrics.iter().find(|it| it.metric == "p50").expect("a metric");
    let level = found.shift.iter().find(|it| it.percentile == 50.0).expect("a level");
    let of_level = (Some(level.change), Some(level.low), Some(level.high));
    assert_eq!((metric.change, metric.low, metric.high), of_level);
    assert_eq!(metric.base, units::duration(level.base_ns));
    assert_eq!(metric.new, units::duration(level.new_ns));
    // 600 requests have six beyond p99, which are too few for a level.
    assert_eq!(found.shift.last().map(|level| level.percentile), Some(95.0));
}

/// Six pairs have a p of 0.031 at best, and two metrics beside the first need half of 5%.
#[test]
fn metrics_that_no_pairs_decide_are_named_before_the_study() {
    let with = |pairs, metrics: &[&str]| {
        let metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        undecidable(&Study { design: Design::Ab { metrics, threshold: 0.02, pairs }, ..study(1) })
    };
    let text = "6 pairs can show a difference in the first metric alone: the other 2 metrics take \
                7 (`study.pairs` 7), or name fewer (`study.metrics`)";
    assert_eq!(with(Some(6), &["rate", "p50", "p99"]).as_deref(), Some(text));
    assert_eq!(with(Some(7), &["rate", "p50", "p99"]), None);
    assert_eq!(with(Some(6), &["rate", "p50"]), None);
    assert_eq!(with(None, &["rate", "p50", "p99"]), None);
}

#[test]
fn a_study_that_was_interrupted_has_the_pairs_of_one_that_was_not() {
    let mut study = study(7);
    let mut machine = Virtual { trials_max: 5, ..Virtual::new(7, 1.05) };
    let Ok(()) = conduct(&mut study, &mut machine);
    assert_eq!((&study.state, study.trials.len()), (&StudyState::Interrupted, 5));
    assert_eq!(next_trial(&study).map(|next| next.round), Some(3), "the other half of pair 3");
    reopen(&mut study);
    assert_eq!(study.trials.iter().filter(|trial| trial.is_superseded).count(), 1);
    machine.trials_max = u32::MAX;
    let Ok(()) = conduct(&mut study, &mut machine);
    assert_eq!(study.state, StudyState::Complete);
    let order = |study: &Study| -> Vec<u32> {
        study.measured().map(|(trial, _)| trial.cell).take(16).collect()
    };
    let mut whole = self::study(7);
    let Ok(()) = conduct(&mut whole, &mut Virtual::new(7, 1.05));
    assert_eq!(order(&study), order(&whole));
}
