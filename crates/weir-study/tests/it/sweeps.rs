//! Sweeps in virtual time: the knee lies where the server's capacity was put, and the law of
//! scalability is found in its throughputs.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::Endpoint;
use weir_result::document::Tool;
use weir_result::study::{
    Design, Factor, HookRun, Hooks, Knee, Settling, StudyResult, StudyState, Sweep, SweepCurve,
};
use weir_result::{
    Arrivals, Document, DocumentParts, DueTimes, IoEngine, Load, Plan, Rate, STUDY_VERSION, Study,
    Warmup,
};
use weir_sim::{Law, Seed, Server, Sim, Workers, World};
use weir_study::{HookKind, TrialRunner, Upcoming, cells, conduct};

/// A server with this many workers of 1 ms per request: each adds 1,000 requests per second.
struct Virtual {
    workers: u32,
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

    fn run(&mut self, study: &Study, upcoming: &Upcoming) -> Result<Document, String> {
        let mut workers = self.workers;
        let mut plan = Plan {
            load: Load {
                connections: 64.into(),
                warmup: Warmup { span_ns: 0, is_auto: false },
                duration_ns: Some(1_000_000_000),
                drain_ns: Some(100_000_000),
                ..Plan::default().load
            },
            io: IoEngine::Simulated,
            ..Plan::default()
        };
        for level in &study.cells[upcoming.cell as usize].levels {
            let number: u32 = level.value.parse().expect("a number");
            match level.factor.as_str() {
                "rate" => {
                    let rate = Rate { numerator: number.into(), denominator: 1 };
                    plan.load.due = Some(DueTimes::constant(rate, Arrivals::Uniform));
                }
                "workers" => workers = number,
                _ => plan.load.connections = number.into(),
            }
        }
        let service = Law::LogNormal { median_ns: 1_000_000, sigma: 0.1 };
        let server = Server { service, workers: Workers::Limited(workers), ..Server::default() };
        let seed = Seed(u64::from(upcoming.number));
        Ok(document(plan, World { seed, server, ..World::default() }))
    }

    fn keep(&mut self, _: &Study) -> Result<(), Infallible> {
        Ok(())
    }

    fn now(&self) -> String {
        "2000-01-01T00:00:00Z".to_owned()
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

fn document(plan: Plan, world: World) -> Document {
    let request = Prepared::http1(&plan.request.method, "/", "sim", &[], None);
    let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    let job = Job::new(plan.clone(), endpoint, request.expect("a plain request"));
    let measured = run_on(&job, 0, &Control::new(1, None), Sim::new(world), None, None);
    let measured = measured.expect("a simulated machine does not fail");
    weir_verdict::assemble(DocumentParts::bare(plan, measured)).expect("it adds up")
}

fn swept(factors: &[(&str, &[u32])], workers: u32) -> Sweep {
    let factor = |(name, values): &(&str, &[u32])| Factor {
        name: (*name).to_owned(),
        values: values.iter().map(u32::to_string).collect(),
    };
    let factors: Vec<Factor> = factors.iter().map(factor).collect();
    let mut study = Study {
        study_version: STUDY_VERSION,
        tool: Tool { name: "weir".to_owned(), version: "0".to_owned() },
        started: "2000-01-01T00:00:00Z".to_owned(),
        command: Vec::new(),
        cells: cells(&factors),
        design: Design::Sweep {
            factors,
            repetitions: 2,
            ratio: None,
            metrics: vec!["rate".to_owned(), "p99".to_owned()],
        },
        seed: 3,
        hooks: Hooks::default(),
        trials: Vec::new(),
        state: StudyState::Running,
        result: None,
        notes: Vec::new(),
    };
    let Ok(()) = conduct(&mut study, &mut Virtual { workers });
    match study.result {
        Some(StudyResult::Sweep(sweep)) => sweep,
        other => panic!("{other:?}"),
    }
}

/// The knee of the only curve.
fn only_knee(sweep: &Sweep) -> Knee {
    let [SweepCurve { levels, knee, .. }] = &sweep.curves[..] else { panic!("{sweep:?}") };
    assert_eq!(levels, &[]);
    knee.clone()
}

/// Four workers carry 4,000 requests per second, less what the spread of their times costs.
#[test]
fn the_knee_over_rates_is_below_the_capacity() {
    let sweep = swept(&[("rate", &[500, 1_000, 2_000, 3_500, 5_000, 8_000])], 4);
    let knee = only_knee(&sweep);
    assert_eq!(knee.value.as_deref(), Some("3500"), "{knee:?}");
    assert_eq!(knee.saturated_from.as_deref(), Some("5000"), "{knee:?}");
    assert!((knee.rate_rps - 3_500.0).abs() < 5.0 && !knee.is_client_limited, "{knee:?}");
    let open = only_knee(&swept(&[("rate", &[500, 1_000, 2_000])], 4));
    assert_eq!((open.value.as_deref(), open.saturated_from), (Some("2000"), None));
}

/// Each value of another factor has a curve of its own, with the capacity that it gives the server.
#[test]
fn every_combination_of_the_other_factors_has_a_knee() {
    let sweep = swept(&[("workers", &[1, 4]), ("rate", &[500, 1_500, 3_500, 5_000])], 1);
    let found = sweep.curves.iter().map(|curve| {
        let knee = (curve.knee.value.as_deref(), curve.knee.saturated_from.as_deref());
        (curve.levels[0].value.as_str(), knee)
    });
    let expected = [("1", (Some("500"), Some("1500"))), ("4", (Some("3500"), Some("5000")))];
    assert!(found.eq(expected), "{:?}", sweep.curves);
    assert!(sweep.curves.iter().all(|curve| curve.fit.is_none()), "{:?}", sweep.curves);
}

/// Each connection has one request in flight, so that as many connections as workers saturate them.
#[test]
fn the_knee_over_connections_is_the_number_of_workers() {
    let sweep = swept(&[("c", &[1, 2, 4, 8, 16, 32])], 8);
    let knee = only_knee(&sweep);
    assert_eq!(knee.value.as_deref(), Some("8"), "{knee:?}");
    assert_eq!(knee.saturated_from.as_deref(), Some("16"), "{knee:?}");
    let fit = sweep.curves[0].fit.as_ref().expect("six values, twice each");
    assert_eq!((fit.residuals.len(), fit.peak, fit.peak_needs), (6, None, Some(8)));
    assert!((500.0..2_000.0).contains(&fit.lambda), "{fit:?}");
}

#[test]
fn eight_numbers_of_connections_suffice_for_a_peak() {
    let sweep = swept(&[("c", &[1, 2, 3, 4, 6, 8, 12, 16])], 8);
    let fit = sweep.curves[0].fit.as_ref().expect("eight values, twice each");
    assert_eq!((fit.residuals.len(), fit.peak_needs), (8, None), "{fit:?}");
}
