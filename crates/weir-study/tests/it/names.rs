//! Comparisons of runs with a list: metrics of one name, and lists that differ.

use weir_result::document::{Grade, NameSection, Results};
use weir_result::study::{Answer, Comparison, Design};
use weir_result::{
    Arrivals, Document, DocumentParts, DueTimes, ListOrder, ListPlan, Measurements, Outcomes, Plan,
};
use weir_study::search::quick;
use weir_study::{Question, check_names, compare_sets};

/// A list with the names `checkout` and `GET /a`.
fn list(sha256: &str, order: ListOrder) -> ListPlan {
    ListPlan {
        sha256: sha256.to_owned(),
        order,
        names: ["checkout", "GET /a"].map(str::to_owned).to_vec(),
        with_intervals: vec![0, 1],
        ..ListPlan::default()
    }
}

/// A run whose checkouts complete at this rate; `failed` of the requests with the other name fail.
fn run(plan: Plan, checkout_rps: f64, failed: u64) -> Document {
    let parts = DocumentParts::bare(plan, Measurements::default());
    let mut document = weir_verdict::assemble(parts).expect("it adds up");
    let name = |name: &str, completed_rps, failed| NameSection {
        steps: Vec::new(),
        name: name.to_owned(),
        results: Results {
            planned: 100,
            outcomes: Outcomes { ok: 100 - failed, bad_response: failed, ..Outcomes::default() },
            completed_rps,
            ..Results::default()
        },
    };
    document.names = vec![name("checkout", checkout_rps, 0), name("GET /a", 1e4, failed)];
    (document.results.planned, document.results.outcomes.ok) = (200, 200 - failed);
    document.verdict.grade = Grade::Clean;
    document
}

/// Eight runs of a list with rates that vary by some tenths of a percent.
fn runs(list: Option<&ListPlan>, checkout_rps: f64, failed: u64) -> Vec<Document> {
    let plan = Plan { list: list.cloned(), ..Plan::default() };
    let rate = |n: u32| checkout_rps * (1.0 + 0.001 * f64::from(n * 7 % 5));
    (0..8).map(|n| run(plan.clone(), rate(n), failed)).collect()
}

fn compared(metric: &str, a: &[Document], b: &[Document]) -> Comparison {
    let question = Question { metrics: vec![metric.parse().expect("a metric")], threshold: 0.02 };
    let a: Vec<_> = a.iter().collect();
    let b: Vec<_> = b.iter().collect();
    compare_sets(&question, &a, &b, ["old", "new"].map(str::to_owned))
}

/// Failures of other requests do not take the answer away.
#[test]
fn a_metric_of_a_name_is_compared_with_its_own_failures() {
    let list = list("ab", ListOrder::Sequential);
    let old = runs(Some(&list), 1_000.0, 0);
    let new = runs(Some(&list), 1_100.0, 3);
    let found = compared("checkout: rate", &old, &new);
    let [metric] = &found.metrics[..] else { panic!("{found:?}") };
    assert_eq!(metric.metric, "checkout: rate");
    assert_eq!(metric.verdict.answer, Answer::Better, "{metric:?}");
    let expected = "new is faster: checkout: Requests/s +10.0% [";
    assert!(metric.sentence.starts_with(expected), "{}", metric.sentence);
    let other = compared("GET /a: rate", &old, &runs(Some(&list), 1_100.0, 0));
    assert_eq!(other.metrics[0].verdict.answer, Answer::Equivalent, "{other:?}");
    let mut faster = runs(Some(&list), 1_000.0, 3);
    faster.iter_mut().for_each(|run| run.names[1].results.completed_rps *= 2.0);
    let failing = compared("GET /a: rate", &old, &faster);
    let sentence = &failing.metrics[0].sentence;
    assert!(sentence.contains("new had failed requests in 8 of 8 runs"), "{sentence}");
}

/// A log is known by its digest: its name says nothing, and what follows from its content is not
/// named too.
#[test]
fn runs_of_different_logs_are_not_compared() {
    let replayed = |sha256, name: &str, lines| {
        let mut runs = runs(Some(&list(sha256, ListOrder::Once)), 1_000.0, 0);
        let replay = weir_result::ReplayPlan {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
            lines,
            ..weir_result::ReplayPlan::default()
        };
        runs.iter_mut().for_each(|run| run.plan.load.due = Some(DueTimes::Log(replay.clone())));
        runs
    };
    let base = replayed("ab", "a.log", 1);
    let refusals = |other: &[Document]| {
        let found = compared("rate", &base, other);
        found.not_comparable.into_iter().map(|note| note.text).collect::<Vec<_>>()
    };
    assert_eq!(refusals(&replayed("ab", "b.log", 1)), [""; 0]);
    let expected = "the load plans differ: list.sha256 is ab and cd";
    assert_eq!(refusals(&replayed("cd", "a.log", 2)), [expected]);
    let mut faster = replayed("ab", "a.log", 1);
    let speed = "2x".parse().expect("a speed");
    faster.iter_mut().for_each(|run| {
        let log = run.plan.load.log().expect("it has one").clone();
        run.plan.load.due = Some(DueTimes::Log(weir_result::ReplayPlan { speed, ..log }));
    });
    let expected = "the load plans differ: load.due.log.speed is 1x and 2x";
    assert_eq!(refusals(&faster), [expected]);
}

#[test]
fn runs_of_different_lists_are_not_compared() {
    let random = |sha256, seed| list(sha256, ListOrder::Random { seed });
    let base = runs(Some(&random("ab", 1)), 1_000.0, 0);
    let same = compared("rate", &base, &runs(Some(&random("ab", 2)), 1_000.0, 0));
    assert!(same.not_comparable.is_empty(), "another seed is no other list: {same:?}");
    let refusal = |list: Option<&ListPlan>| {
        let found = compared("checkout: rate", &base, &runs(list, 1_000.0, 0));
        assert_eq!(found.metrics[0].sentence, "not comparable");
        found.not_comparable[0].text.clone()
    };
    let mut other = random("cd", 1);
    other.names = vec!["checkout".to_owned(), "GET /b".to_owned()];
    assert_eq!(refusal(Some(&other)), "the load plans differ: list.sha256 is ab and cd");
    assert_eq!(refusal(None), "the load plans differ: list.sha256 is ab and none");
    let once = refusal(Some(&list("ab", ListOrder::Once)));
    assert_eq!(once, "the load plans differ: list.order is random and once");
    let mut grouped = random("ab", 1);
    grouped.names = vec!["/**".to_owned()];
    let expected = "the load plans differ: list.names is checkout, GET /a and /**";
    assert_eq!(refusal(Some(&grouped)), expected);
}

#[test]
fn the_names_of_a_design_are_checked_against_a_plan() {
    let plan = Plan { list: Some(list("ab", ListOrder::Sequential)), ..Plan::default() };
    let repeat = |metric: &str| Design::Repeat { runs: 2, metrics: vec![metric.to_owned()] };
    check_names(&repeat("checkout: p99"), &plan).expect("the name is there");
    check_names(&repeat("p99"), &Plan::default()).expect("no name");
    for (design, plan, part) in [
        (repeat("chekout: p99"), &plan, "did you mean 'checkout'?"),
        (repeat("checkout: p99"), &Plan::default(), "has no list"),
        (search("checkout: p99 < 5ms and b: errors < 1%"), &plan, "'b: errors < 1%': no request"),
    ] {
        let error = check_names(&design, plan).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

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
