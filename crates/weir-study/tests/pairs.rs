//! A/B studies in virtual time: the engine as it is, against servers of which one may be slower
//! (METHOD 1.15, V20).

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_result::document::Tool;
use weir_result::study::{
    Answer, Cell, Comparison, Design, HookRun, Hooks, Settling, StudyResult, StudyState,
};
use weir_result::{Document, DocumentParts, IoEngine, Plan, STUDY_VERSION, Study};
use weir_sim::{Law, Seed, Server, Sim, Workers, World};
use weir_stats::{Shuffle, normal_quantile};
use weir_study::{HookKind, Laboratory, Upcoming, conduct, next_trial, reopen};

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
    /// Trials after which a signal arrives.
    trials_max: u32,
    trials: u32,
}

impl Virtual {
    fn new(seed: u64, slower: f64) -> Virtual {
        let random = Shuffle::seeded(seed);
        Virtual { seed, slower, random, trials_max: u32::MAX, trials: 0 }
    }

    /// A normal deviate.
    fn normal(&mut self) -> f64 {
        const STEPS: usize = 1 << 30;
        normal_quantile((self.random.below(STEPS) as f64 + 0.5) / STEPS as f64)
    }
}

impl Laboratory for Virtual {
    type Error = Infallible;

    fn announce(&mut self, _: &Study, _: &Upcoming) {}

    fn settle(&mut self, _: &Study, _: &Upcoming) -> Result<Option<Settling>, String> {
        Ok(None)
    }

    fn hook(&mut self, _: HookKind, _: &Study, _: &Upcoming) -> Result<HookRun, String> {
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
        Ok(document(World { seed, server, ..World::default() }))
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
        connections: CONNECTIONS,
        requests: Some(REQUESTS),
        duration_ns: None,
        warmup_ns: 0,
        io: IoEngine::Simulated,
        ..Plan::default()
    };
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let job = Job::new(plan.clone(), endpoint, request.expect("a plain request"));
    let measured = run_on(&job, 0, &Control::new(1, None), Sim::new(world), None, None);
    let measured = measured.expect("a simulated machine does not fail");
    Document::assemble(DocumentParts::bare(plan, measured)).expect("it adds up")
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
    let mut study = study(seed);
    let Ok(()) = conduct(&mut study, &mut Virtual::new(seed, slower));
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

/// The limit of 16 is what 5% of 200 studies exceed with a probability of 2.7%.
#[test]
fn equal_servers_are_rarely_called_different() {
    let is_different =
        |answer: &Answer| matches!(answer, Answer::Better | Answer::Worse | Answer::BelowThreshold);
    let different = answers(200, 1.0).iter().filter(|answer| is_different(answer)).count();
    assert!(different <= 16, "{different} of 200");
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
