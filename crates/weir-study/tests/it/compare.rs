//! Comparisons of documents whose figures are set by hand: bounds, failed runs, other loads, and
//! the wording of each answer.

use weir_result::document::Grade;
use weir_result::quantile::Bound;
use weir_result::study::{Answer, Comparison, Pairing};
use weir_result::{Arrivals, Document, DocumentParts, DueTimes, Header, Measurements, Plan, Rate};
use weir_study::{Question, compare_pairs, compare_sets};

/// A run of this rate.
fn run(rate_rps: f64) -> Document {
    let parts = DocumentParts::bare(Plan::default(), Measurements::default());
    let mut document = weir_verdict::assemble(parts).expect("it adds up");
    document.results.completed_rps = rate_rps;
    document.verdict.grade = Grade::Clean;
    document
}

/// Runs of rates that vary by some tenths of a percent around this one.
fn runs(rate_rps: f64, count: u32) -> Vec<Document> {
    (0..count).map(|n| run(rate_rps * (1.0 + 0.001 * f64::from(n * 7 % 5)))).collect()
}

fn question() -> Question {
    Question { metrics: vec!["rate".parse().expect("a metric")], threshold: 0.02 }
}

fn names() -> [String; 2] {
    ["old", "new"].map(str::to_owned)
}

fn sets(a: &[Document], b: &[Document]) -> Comparison {
    let a: Vec<_> = a.iter().collect();
    let b: Vec<_> = b.iter().collect();
    compare_sets(&question(), &a, &b, names())
}

#[track_caller]
fn check(found: &Comparison, answer: Answer, sentence: &str) {
    let metric = &found.metrics[0];
    assert_eq!(metric.verdict.answer, answer, "{found:?}");
    assert!(metric.sentence.contains(sentence), "{}", metric.sentence);
}

#[test]
fn every_answer_has_its_wording() {
    let base = runs(10_000.0, 8);
    check(&sets(&base, &runs(11_000.0, 8)), Answer::Better, "new is faster: Requests/s +10.0% [");
    check(&sets(&base, &runs(9_000.0, 8)), Answer::Worse, "new is slower: Requests/s −10.0% [");
    let small = sets(&base, &runs(10_100.0, 8));
    check(&small, Answer::BelowThreshold, "less than the threshold of 2%");
    let equal = sets(&base, &runs(10_000.0, 8));
    check(&equal, Answer::Equivalent, "no difference larger than ");
    let spread: Vec<Document> = (0..8).map(|n| run(8_000.0 + 600.0 * f64::from(n))).collect();
    let open = sets(&base, &spread);
    let remedy = "the runs vary too much to show a change of 2%, only one above ";
    check(&open, Answer::Undecided, remedy);
    let near: Vec<Document> = (0..8).map(|n| run(9_500.0 + 140.0 * f64::from(n))).collect();
    let open_near = sets(&base, &near);
    let needed = open_near.metrics[0].verdict.runs_needed.expect("a number");
    assert!((9..=100).contains(&needed), "{open_near:?}");
    let remedy = format!("about {needed} runs of each in all can show a change of 2%");
    check(&open_near, Answer::Undecided, &remedy);
    assert_eq!(open.warnings[0].code, "NOT_INTERLEAVED");
}

#[test]
fn fewer_than_six_runs_decide_nothing() {
    let found = sets(&runs(10_000.0, 5), &runs(20_000.0, 9));
    assert_eq!(found.pairing, Pairing::Single);
    check(&found, Answer::None, "5 runs of each cannot decide");
    check(&sets(&[run(1.0)], &[run(2.0)]), Answer::None, "two runs cannot decide");
    assert!(found.metrics[0].low.is_none() && found.shift.is_empty());
}

/// Both clients were the limit: each server may carry any more.
#[test]
fn overlapping_bounds_are_undecided() {
    let bounded = |rate_rps, count| {
        let mut runs = runs(rate_rps, count);
        runs.iter_mut().for_each(|run| run.throughput.bound = Bound::Lower);
        runs
    };
    let both = sets(&bounded(10_000.0, 8), &bounded(12_000.0, 8));
    check(
        &both,
        Answer::Undecided,
        "both values are bounds, so that the true ones may be equal; a time",
    );
    // The base carries 10,000/s and no more; the other at least 12,000/s.
    let one = sets(&runs(10_000.0, 8), &bounded(12_000.0, 8));
    check(&one, Answer::Better, "new is faster");
    let other = sets(&bounded(10_000.0, 8), &runs(12_000.0, 8));
    check(
        &other,
        Answer::Undecided,
        "the value of old is a bound, so that the true ones may be equal",
    );
}

/// Of two runs the change is the least one that their bounds allow.
#[test]
fn two_runs_with_bounds_have_the_least_change() {
    let bounded = |rate_rps| {
        let mut run = run(rate_rps);
        run.throughput.bound = Bound::Lower;
        run
    };
    let change = |a: Document, b: Document| {
        let found = sets(&[a], &[b]);
        let metric = &found.metrics[0];
        let change = metric.change.map(|change| (100.0 * change).round() as i64);
        (change, metric.is_least, metric.sentence.clone())
    };
    let (exact, is_least, text) = change(run(10_000.0), run(12_000.0));
    assert_eq!((exact, is_least), (Some(20), false));
    assert!(text.starts_with("Requests/s +20.0%: two runs cannot decide"), "{text}");
    let (least, is_least, text) = change(run(10_000.0), bounded(12_000.0));
    assert_eq!((least, is_least), (Some(20), true));
    assert!(text.starts_with("Requests/s ≥ +20.0%: two runs cannot decide"), "{text}");
    let (none, is_least, text) = change(bounded(10_000.0), run(12_000.0));
    assert_eq!((none, is_least), (None, true));
    assert!(text.starts_with("Requests/s ≥ 10,000/s and 12,000/s: two runs"), "{text}");
}

#[test]
fn runs_with_failed_requests_are_never_called_better() {
    let failing = |rate_rps| {
        let mut runs = runs(rate_rps, 8);
        runs[2].results.planned = runs[2].results.outcomes.ok + 1;
        runs
    };
    let found = sets(&runs(10_000.0, 8), &failing(12_000.0));
    check(&found, Answer::None, "new had failed requests in 1 of 8 runs");
    let found = sets(&failing(12_000.0), &runs(10_000.0, 8));
    check(&found, Answer::None, "old had failed requests in 1 of 8 runs");
    check(&sets(&runs(12_000.0, 8), &failing(10_000.0)), Answer::Worse, "new is slower");
}

#[test]
fn what_was_measured_otherwise_is_not_compared() {
    let base = runs(10_000.0, 8);
    let mut failed = base.clone();
    failed[2].verdict.grade = Grade::Failed;
    failed[2].verdict.reason = "100% of responses were 503".to_owned();
    let found = sets(&base, &failed);
    assert_eq!(
        found.not_comparable[0].text,
        "1 of 8 runs of B are graded failed or void: run 3 is failed (100% of responses were 503)"
    );
    check(&found, Answer::None, "not comparable");
    let mut elsewhere = base.clone();
    elsewhere.iter_mut().for_each(|run| run.environment.kernel = Some("6.1".to_owned()));
    assert!(sets(&base, &elsewhere).not_comparable[0].text.contains("kernel is none and 6.1"));
    let mut other = base.clone();
    other.iter_mut().for_each(|run| run.plan.load.connections = 99.into());
    let found = sets(&base, &other);
    assert!(found.not_comparable[0].text.contains("connections is 10 and 99"), "{found:?}");
    other.iter_mut().for_each(|run| {
        let rate = Rate { numerator: 500, denominator: 1 };
        run.plan.load.due = Some(DueTimes::constant(rate, Arrivals::Uniform));
        let accept = Header { name: "Accept".to_owned(), value: "x".to_owned() };
        run.plan.request.headers = vec![accept];
    });
    let text = sets(&base, &other).not_comparable[0].text.clone();
    for part in ["load.due is none and 500/s", "request.headers is none and Accept: x"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut longer = base.clone();
    longer.iter_mut().for_each(|run| run.plan.load.warmup.span_ns = 2_500_000_000);
    let text = sets(&base, &longer).not_comparable[0].text.clone();
    assert!(text.ends_with("the load plans differ: load.warmup.span is 0 s and 2.5 s"), "{text}");
    // A/B studies may compare two loads, and say so.
    let pairs: Vec<_> = base.iter().zip(&other).collect();
    let found = compare_pairs(&question(), &pairs, names(), 0.05);
    assert!(found.not_comparable.is_empty() && found.warnings[0].code == "PLAN", "{found:?}");
    // Another target is what is compared.
    let mut target = base.clone();
    target.iter_mut().for_each(|run| run.plan.url = "http://other/".to_owned());
    assert!(sets(&base, &target).not_comparable.is_empty());
}

/// Two runs in the middle that are far apart: the value of a side lies between them, and the change
/// is the ratio of the values.
#[test]
fn the_change_is_the_ratio_of_the_values() {
    let of = |rates: [f64; 6]| rates.map(run).to_vec();
    let a = of([40_000.0, 45_000.0, 53_584.0, 72_000.0, 73_000.0, 74_000.0]);
    let b = of([50_000.0, 55_000.0, 59_827.0, 59_900.0, 60_000.0, 61_000.0]);
    let number = |text: &str| -> f64 {
        text.trim_end_matches("/s").replace(',', "").parse().expect("a rate")
    };
    let agree = |found: &Comparison| {
        let metric = &found.metrics[0];
        let change = number(&metric.new) / number(&metric.base) - 1.0;
        let given = metric.change.expect("a change");
        assert!((change - given).abs() < 1e-4, "{metric:?}");
    };
    agree(&sets(&a, &b));
    let pairs: Vec<_> = a.iter().zip(&b).collect();
    agree(&compare_pairs(&question(), &pairs, names(), 0.05));
    // The rates of an open loop: mostly as planned.
    let a = of([50_000.0, 42_000.0, 50_000.0, 45_500.0, 50_000.0, 41_000.0]);
    let b = of([50_000.0; 6]);
    agree(&compare_pairs(&question(), &a.iter().zip(&b).collect::<Vec<_>>(), names(), 0.05));
    agree(&sets(&a, &b));
}
