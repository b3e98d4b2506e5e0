//! Searches with claims about one name of a list, on trials whose requests are set by hand.

use weir_result::document::{Grade, NameSection, Results, SliceEntry};
use weir_result::{
    Arrivals, DocumentParts, DueTimes, Histogram, ListPlan, Load, Measurements, NamedSlice,
    Outcomes, Plan,
};

use super::*;

const MS: u64 = 1_000_000;

fn search(objective: &str) -> Design {
    Design::Search {
        objective: objective.to_owned(),
        effort: quick(),
        arrivals: Arrivals::Uniform,
        connections: 4,
        connections_max: 4,
        rate_max_rps: None,
    }
}

/// A trial in which each of ten slices has 100 checkouts and 900 requests with the other name, each
/// of this time in milliseconds.
fn trial(plan: &TrialPlan, checkout_ms: u64, other_ms: u64) -> Document {
    let due = plan.rate().map(|rate| DueTimes::constant(rate, Arrivals::Uniform));
    let list = Some(ListPlan {
        names: ["checkout", "GET /a"].map(str::to_owned).to_vec(),
        with_intervals: vec![0, 1],
        ..ListPlan::default()
    });
    let of = Plan {
        load: Load { due, connections: plan.connections.into(), ..Plan::default().load },
        list,
        ..Plan::default()
    };
    let parts = DocumentParts::bare(of, Measurements::default());
    let mut document = weir_verdict::assemble(parts).expect("it adds up");
    (document.results.planned, document.results.outcomes.ok) = (10_000, 10_000);
    let name = |planned| {
        let outcomes = Outcomes { ok: planned, ..Outcomes::default() };
        let results = Results { planned, outcomes, ..Results::default() };
        NameSection { results, ..NameSection::default() }
    };
    document.names = vec![name(1_000), name(9_000)];
    document.verdict.grade = Grade::Clean;
    document.results.completed_rps = 10_000.0;
    let times = |count: u64, ms: u64| {
        let mut times = Histogram::new();
        (0..count).for_each(|_| times.record(ms * MS));
        times
    };
    let share = |count, ms| NamedSlice { ok: times(count, ms), ..NamedSlice::default() };
    let slice = |start: u32| {
        let start_s = f64::from(start);
        let end_s = f64::from(start + 1);
        let named = vec![share(100, checkout_ms), share(900, other_ms)];
        let mut ok = named[0].ok.clone();
        ok.add(&named[1].ok);
        SliceEntry { start_s, end_s, ok, named, ..SliceEntry::default() }
    };
    document.slices = (0..10).map(slice).collect();
    document
}

/// Makes the closed loop and one trial of a search.
fn first_trial(
    objective: &str,
    checkout_ms: u64,
    other_ms: u64,
) -> (TrialPlan, TrialUse, Vec<f64>) {
    let mut run = SearchRun::new(&search(objective)).expect("a search");
    let next = |run: &SearchRun| match run.next() {
        Next::Run(plan) => plan,
        Next::Done(result) => panic!("{result:?}"),
    };
    let closed = next(&run);
    run.record(&trial(&closed, 1, 1)).expect("the closed loop");
    let plan = next(&run);
    run.record(&trial(&plan, checkout_ms, other_ms)).expect("the trial that was due");
    let trial = run.trials.last().expect("a trial").clone();
    (plan, trial.used, trial.shares)
}

#[test]
fn a_search_judges_the_requests_of_the_name() {
    let check = |objective: &str, checkout_ms, other_ms, used, shares: &[f64]| {
        let (_, found, of) = first_trial(objective, checkout_ms, other_ms);
        assert_eq!((found, &of[..]), (used, shares), "{objective}");
    };
    check("checkout: p99 < 5ms", 1, 50, TrialUse::Good, &[0.0]);
    check("checkout: p99 < 5ms", 50, 1, TrialUse::Bad, &[1.0]);
    check("p99 < 5ms", 50, 1, TrialUse::Bad, &[0.1]);
    check("GET /a: p99 < 5ms and errors < 1%", 50, 1, TrialUse::Good, &[0.0, 0.0]);
    check("checkout: p50 < 5ms and GET /a: p50 < 60ms", 1, 50, TrialUse::Good, &[0.0, 0.0]);
}

/// One request in ten is a checkout: a trial has to be ten times as long for as many violations.
#[test]
fn a_rare_name_gets_longer_trials() {
    let length = |objective: &str| first_trial(objective, 1, 1).0.duration_s;
    assert_eq!(length("p99.9 < 5ms"), 5.0);
    assert_eq!(length("checkout: p99.9 < 5ms"), 40.0);
}

#[test]
fn a_document_without_the_name_is_of_no_trial() {
    let mut run = SearchRun::new(&search("cart: p99 < 5ms")).expect("a search");
    let Next::Run(closed) = run.next() else { panic!("it has begun") };
    assert_eq!(run.record(&trial(&closed, 1, 1)), None);
}
