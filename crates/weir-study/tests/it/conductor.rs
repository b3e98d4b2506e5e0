//! Studies conducted with a runner in virtual time: no socket, no thread, no clock.

use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_result::document::{Input, Tool};
use weir_result::study::{Answer, Design, Hooks, SearchEnd, StudyResult, StudyState, TrialOutcome};
use weir_result::{Arrivals, Document, DocumentParts, IoEngine, Note, Plan, STUDY_VERSION, Study};
use weir_runner::{
    Error, Finished, Interrupts, LocalRunner, Observer, PreparedRun, RawOutput, RunSpec, Runner,
    StudyProgress,
};
use weir_sim::{Law, Seed, Server, Sim, Workers, World};
use weir_study::search::quick;
use weir_study::{Conductor, Keeper, Variant};

/// Service time of a server, by the path of its URL: `/200us`.
fn service_ns(url: &str) -> u64 {
    let path = url.rsplit('/').next().unwrap_or_default();
    path.trim_end_matches("us").parse::<u64>().expect("a time in µs") * 1_000
}

/// A runner in virtual time. Each of its runs has another seed.
#[derive(Default)]
struct Virtual {
    runs: std::cell::Cell<u64>,
}

impl Runner for Virtual {
    fn prepare(&self, spec: &RunSpec, _: &mut dyn Observer) -> Result<Box<dyn PreparedRun>, Error> {
        self.runs.set(self.runs.get() + 1);
        let plan = LocalRunner::dry_run(spec)?;
        Ok(Box::new(VirtualRun { plan, seed: self.runs.get() }))
    }

    fn idle_latency(&self, spec: &RunSpec, _: &Interrupts) -> Result<Option<u64>, Error> {
        Ok(Some(service_ns(&spec.target.url)))
    }
}

struct VirtualRun {
    plan: Plan,
    seed: u64,
}

impl PreparedRun for VirtualRun {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn plan_sha256(&self) -> String {
        String::new()
    }

    fn add_note(&mut self, _: Note) {}

    fn run(
        self: Box<Self>,
        interrupts: &Interrupts,
        _: Option<&mut RawOutput>,
        _: &mut dyn Observer,
    ) -> Result<Finished, Error> {
        let service = Law::LogNormal { median_ns: service_ns(&self.plan.url), sigma: 0.3 };
        let server = Server { service, workers: Workers::Limited(1), ..Server::default() };
        let world = World { seed: Seed(self.seed), server, ..World::default() };
        let plan = Plan { threads: 1, io: IoEngine::Simulated, ..self.plan };
        let request = Prepared::http1("GET", "/", "sim", &[], None).expect("a plain request");
        let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
        let job = Job::new(plan.clone(), endpoint, request);
        let measured = run_on(&job, 0, &Control::new(1, None), Sim::new(world), None, None);
        let measured = measured.expect("a simulated machine does not fail");
        let document = weir_verdict::assemble(DocumentParts::bare(plan, measured));
        Ok(Finished::of(document.expect("it adds up"), interrupts))
    }
}

/// Keeps the number of trials of each state of the study, and the variants of the documents.
#[derive(Default)]
struct Kept {
    trials: Vec<usize>,
    variants: Vec<String>,
}

impl Keeper for Kept {
    fn study(&mut self, study: &Study) -> anyhow::Result<()> {
        self.trials.push(study.trials.len());
        Ok(())
    }

    fn trial(&mut self, _: &Document, variant: &str) {
        self.variants.push(variant.to_owned());
    }
}

/// Keeps what an observer of a study sees.
#[derive(Default)]
struct Seen(Vec<StudyProgress>);

impl Observer for Seen {
    fn trial(&mut self, study: &StudyProgress) {
        self.0.push(study.clone());
    }
}

fn variant(name: &str, service: &str, change: impl FnOnce(&mut RunSpec)) -> Variant {
    let mut spec = RunSpec::new(format!("http://127.0.0.1/{service}"));
    spec.load.connections = 4.into();
    (spec.load.duration_ns, spec.load.requests) = (None, Some(600));
    spec.load.warmup.span_ns = 0;
    change(&mut spec);
    Variant::new(name, Vec::new(), spec)
}

fn study(design: Design, variants: &[Variant]) -> Study {
    Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: "0".to_owned() },
        started: "2026-01-02T03:04:05Z".to_owned(),
        command: Vec::new(),
        design,
        seed: 1,
        hooks: Hooks::default(),
        cells: variants.iter().map(|variant| variant.cell.clone()).collect(),
        trials: Vec::new(),
        state: StudyState::Running,
        result: None,
        notes: Vec::new(),
    }
}

/// Conducts a study in virtual time.
fn conducted(design: Design, variants: Vec<Variant>) -> (Study, Kept, Seen) {
    let mut study = study(design, &variants);
    let runner = Virtual::default();
    let interrupts = Interrupts::default();
    let mut kept = Kept::default();
    let mut seen = Seen::default();
    let hooks = Hooks::default();
    let mut conductor =
        Conductor::new(&runner, variants, hooks, false, &interrupts, &mut seen, &mut kept);
    weir_study::conduct(&mut study, &mut conductor).expect("it is kept");
    (study, kept, seen)
}

#[test]
fn a_comparison_needs_no_socket() {
    let variants = vec![variant("old", "100us", |_| {}), variant("new", "150us", |_| {})];
    let design = Design::Ab { metrics: vec!["p50".to_owned()], threshold: 0.02, pairs: Some(8) };
    let (study, kept, seen) = conducted(design, variants);
    let Some(StudyResult::Comparison(comparison)) = &study.result else { panic!("{study:?}") };
    assert_eq!(comparison.metrics[0].verdict.answer, Answer::Worse, "{comparison:?}");
    assert_eq!((study.trials.len(), &study.state), (16, &StudyState::Complete));
    // After each trial, and once with the result.
    assert_eq!(kept.trials, (1..=16).chain([16]).collect::<Vec<_>>());
    let of = |name: &str| kept.variants.iter().filter(|variant| *variant == name).count();
    assert_eq!((of("old"), of("new")), (8, 8));
    let numbers: Vec<u32> = seen.0.iter().map(|progress| progress.trial).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
    assert!(seen.0.iter().all(|progress| progress.design == "ab" && progress.most == 16));
}

#[test]
fn a_search_needs_no_socket() {
    // One worker with 500 µs at the median completes 1,900 requests per second at most.
    let design = Design::Search {
        objective: "p99 < 20ms".to_owned(),
        effort: quick(),
        arrivals: Arrivals::Poisson { seed: 7 },
        connections: 64,
        connections_max: 1_000,
        rate_max_rps: None,
    };
    let (study, _, seen) = conducted(design, vec![variant("", "500us", |_| {})]);
    let Some(StudyResult::Search(result)) = &study.result else { panic!("{study:?}") };
    assert_eq!(result.end, SearchEnd::WithinGoal, "{result:?}");
    let bounds = (result.lower.as_ref(), result.upper.as_ref());
    let (Some(lower), Some(upper)) = bounds else { panic!("{result:?}") };
    assert!(lower.rate_rps > 1_000.0 && upper.rate_rps < 2_100.0, "{result:?}");
    let made = study.trials.iter().filter(|it| matches!(it.outcome, TrialOutcome::Measured(_)));
    assert_eq!((made.count(), seen.0.len()), (study.trials.len(), study.trials.len()));
    assert!(seen.0[0].variant.contains("connections"), "{:?}", seen.0[0]);
}
