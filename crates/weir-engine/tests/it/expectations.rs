//! Expectations: each response is checked by those of its request, and misses add up to the bad
//! responses.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_engine::ResponseChecks;
use weir_io::Nanos;
use weir_requests::expect::{Expectation, Expectations};
use weir_requests::list::Order;
use weir_result::{MissKind, Plan, ResultCounts};
use weir_sim::{Law, Random, Responses, Seed, Server, World};

use crate::conservation::{SPAN_NS, random_plan, setting};
use crate::lists::{job_of, list};
use crate::setup::{MS, Run, closed, job, open, run_job, serving};

/// Limit of decoded bodies, in bytes.
const BODY_MAX: usize = 1_000;

fn expectations(texts: &[String]) -> Arc<Expectations> {
    let parsed = texts.iter().map(|text| text.parse().expect(text));
    let all: Vec<Expectation> = parsed.collect();
    Arc::new(Expectations::new(&all, &[]).expect("they go together"))
}

pub(crate) fn checks(texts: &[&str]) -> Option<Arc<ResponseChecks>> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    Some(Arc::new(ResponseChecks::of_all(expectations(&texts), BODY_MAX)))
}

/// Returns the counts by kind.
pub(crate) fn missed(run: &Run) -> Vec<(MissKind, u64)> {
    run.measured.results.missed.iter().map(|(kind, count)| (*kind, *count)).collect()
}

/// Checks that misses add up, over kinds and names, and that each kind has an example.
fn check_misses(run: &Run, seed: u64) {
    let measured = &run.measured;
    let sum: u64 = measured.results.missed.values().sum();
    assert_eq!(
        sum, measured.results.outcomes.bad_response,
        "seed {seed}: {:?}",
        measured.results.missed
    );
    if !measured.names.is_empty() {
        let mut of_names = ResultCounts::default();
        measured.names.iter().for_each(|name| of_names.add(name));
        assert_eq!(of_names.missed, measured.results.missed, "seed {seed}");
    }
    assert!(
        measured.results.missed.keys().eq(measured.miss_examples.keys()),
        "seed {seed}: examples"
    );
}

/// The server of the simulation repeats the number of a request in the response, so a response that
/// is checked by the expectations of another request is found.
#[test]
fn each_response_is_checked_by_the_expectations_of_its_request() {
    let from = setting("WEIR_SIM_FROM", 0);
    let seeds = setting("WEIR_SIM_SEEDS", 300);
    let mut ok = 0;
    let mut bad = 0;
    for seed in from..from + seeds {
        let mut random = Random::new(Seed(seed), 206);
        let (plan, number, stop_at) = random_plan(&mut random);
        let rows = random.between(1, 7);
        let list = list(Order::Sequential, &vec![1; rows as usize]);
        let body = if random.chance(0.5) { "body~" } else { "status=200,204,404" };
        let of_row = |row: u64| {
            let status = if row.is_multiple_of(2) { "status=200,204,404" } else { "status=200" };
            let mut texts = vec![status.to_owned(), format!("header:x-number={row}")];
            texts.extend((body == "body~").then(|| body.to_owned()));
            expectations(&texts)
        };
        let all = ResponseChecks::of_rows((0..rows).map(of_row).collect(), list.names, 0, 1 << 20);
        let mut job = job_of(&plan, list);
        job.responses.expectations = Some(Arc::new(all));
        let run = run_job(World::wild(Seed(seed), SPAN_NS), &job, number, stop_at, None);
        check_misses(&run, seed);
        let measured = &run.measured;
        assert!(measured.results.missed.keys().all(|kind| *kind == MissKind::Status), "{seed}");
        for (name, counts) in measured.names.iter().enumerate().filter(|(name, _)| name % 3 != 0) {
            let others = counts.status.iter().filter(|(code, _)| **code != 200);
            let others = others.map(|(_, count)| count).sum();
            let expected = if name.is_multiple_of(2) { 0 } else { others };
            assert_eq!(counts.outcomes.bad_response, expected, "seed {seed}: name {name}");
        }
        ok += measured.results.outcomes.ok;
        bad += measured.results.outcomes.bad_response;
    }
    assert!(ok >= seeds && bad >= seeds / 2, "{ok} and {bad} responses say nothing");
}

/// Returns a server with these statuses, and bodies of this length.
fn statuses(statuses: &[(u16, f64)], body_bytes: Law) -> World {
    let responses = Responses { statuses: statuses.to_vec(), body_bytes, ..Responses::default() };
    World { server: Server { responses, ..serving(MS / 10).server }, ..World::default() }
}

fn run_checked(world: World, plan: &Plan, texts: &[&str]) -> Run {
    let mut job = job(plan);
    job.responses.expectations = checks(texts);
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    check_misses(&run, 0);
    run
}

#[test]
fn kinds_follow_from_the_responses() {
    let world = || statuses(&[(200, 3.0), (204, 1.0), (404, 1.0)], Law::Fixed(64));
    for plan in [closed(3), closed(3).with_load(|load| load.pipeline = 8), open(3_000, 1, 4)] {
        let count = |run: &Run, status: u16| run.measured.results.status[&status];
        // By default a status of 400 or above is a miss, and a 204 has no body.
        let run = run_checked(world(), &plan, &["body~^HTTP"]);
        let expected = [(MissKind::Status, count(&run, 404)), (MissKind::Body, count(&run, 204))];
        assert_eq!(missed(&run), expected);
        let run = run_checked(world(), &plan, &["status=404"]);
        let expected = count(&run, 200) + count(&run, 204);
        assert_eq!(missed(&run), [(MissKind::Status, expected)]);
        assert_eq!(run.measured.results.outcomes.ok, count(&run, 404));
        let run = run_checked(world(), &plan, &["header:Content-Length=64"]);
        let expected = [(MissKind::Status, count(&run, 404)), (MissKind::Header, count(&run, 204))];
        assert_eq!(missed(&run), expected);
        let run = run_checked(world(), &plan, &["json:", "status=200"]);
        let others = count(&run, 404) + count(&run, 204);
        assert_eq!(missed(&run), [(MissKind::Status, others), (MissKind::Json, count(&run, 200))]);
    }
}

#[test]
fn bodies_above_the_limit_are_a_kind() {
    let run = run_checked(statuses(&[(200, 1.0)], Law::Fixed(1_001)), &closed(2), &["body~"]);
    assert_eq!(missed(&run), [(MissKind::BodyTooLarge, run.measured.results.planned)]);
    let run = run_checked(statuses(&[(200, 1.0)], Law::Fixed(1_000)), &closed(2), &["body~"]);
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
}

#[test]
fn equal_bodies_are_the_same_and_others_are_not() {
    let equal = run_checked(statuses(&[(200, 1.0)], Law::Fixed(64)), &closed(2), &["same"]);
    assert_eq!(equal.measured.results.outcomes.ok, equal.measured.results.planned);
    let two = Law::Uniform { low_ns: 64, high_ns: 65 };
    let run = run_checked(statuses(&[(200, 1.0)], two), &closed(2), &["same"]);
    let others = run.measured.results.outcomes.bad_response;
    assert_eq!(missed(&run), [(MissKind::Same, others)]);
    assert!(others > 0 && others < run.measured.results.planned, "{others}");
}

#[test]
fn without_expectations_nothing_is_missed() {
    let run = run_job(
        statuses(&[(200, 1.0), (500, 1.0)], Law::Fixed(64)),
        &job(&closed(2)),
        0,
        Nanos::MAX,
        None,
    );
    assert!(run.measured.results.outcomes.bad_response > 0);
    assert_eq!(
        (run.measured.results.missed, run.measured.miss_examples),
        (BTreeMap::new(), BTreeMap::new())
    );
}
