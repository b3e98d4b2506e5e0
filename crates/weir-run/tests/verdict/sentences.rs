//! Every sentence of a rule that fired: `what: evidence (limit: X); remedy`, with the figure and the
//! limit in the rule's unit and on the right side of each other.

use weir_run::document::{Direction, Rule, RuleOutcome};

use super::run::{rule, well};
use super::triggers;

/// Rules that fire without a limit: no figure says how far beyond it they are.
const WITHOUT_LIMIT: [&str; 4] =
    ["more-threads", "no-steady-state", "not-stationary", "slow-clock"];

/// The rules that fired in all documents that trigger one.
fn fired() -> Vec<Rule> {
    let mut fired = Vec::new();
    for (id, _, change) in triggers::all() {
        let document = well(change);
        assert!(!rule(&document, id).text.is_empty(), "{id}");
        fired.extend(document.verdict.fired().cloned());
    }
    fired
}

#[test]
fn what_evidence_and_remedy_stand_in_this_order() {
    for rule in fired() {
        let (what, rest) = rule.text.split_once(": ").unwrap_or_else(|| panic!("{rule:?}"));
        let (evidence, remedy) = rest.rsplit_once("; ").unwrap_or_else(|| panic!("{rule:?}"));
        for part in [what, evidence, remedy] {
            assert!(!part.is_empty() && part.trim() == part && !part.ends_with('.'), "{rule:?}");
        }
        assert!(what.len() <= 30 && !what.contains(';'), "{rule:?}");
        assert!(remedy.is_ascii() && !remedy.contains("(limit"), "{rule:?}");
        assert!(rule.text.chars().count() <= 160, "two lines of 80 columns: {}", rule.text);
    }
}

#[test]
fn figures_and_limits_agree_with_the_rule() {
    for rule in fired() {
        let limit = match rule.outcome {
            RuleOutcome::Void => rule.void_at,
            RuleOutcome::Bound => rule.bound_at,
            _ => rule.finding_at,
        };
        let Some(limit) = limit else {
            assert!(WITHOUT_LIMIT.contains(&rule.id.as_str()), "{rule:?}");
            assert!(!rule.text.contains("limit:"), "{rule:?}");
            continue;
        };
        let value = rule.value.unwrap_or_else(|| panic!("{rule:?}"));
        let (evidence, rest) = rule.text.split_once(" (limit: ").expect(&rule.text);
        let printed = rest.split_once(')').expect(&rule.text).0;
        assert!(is_near(number(printed, &rule.unit), limit), "limit {limit}: {rule:?}");
        // The figure as reports print it is a word of the evidence.
        let figure = rule.figure();
        assert!(has_words(evidence, &figure), "figure {figure}: {rule:?}");
        let figure = number(&figure, &rule.unit);
        assert!(is_near(figure, value), "figure {figure}: {rule:?}");
        match rule.fires {
            Direction::Above => assert!(value > limit && figure >= limit, "{rule:?}"),
            Direction::Below => assert!(value < limit && figure <= limit, "{rule:?}"),
        }
    }
}

#[test]
fn every_figure_of_a_share_is_a_percentage_that_can_be() {
    for rule in fired().into_iter().filter(|rule| rule.unit == "share") {
        assert!(!rule.text.contains("fell by 1") || !rule.text.contains("00."), "{rule:?}");
        if rule.fires == Direction::Above && rule.finding_at.is_some() {
            let share = rule.value.expect("it fired by a figure");
            assert!((0.0..=1.0).contains(&share), "{rule:?}");
        }
    }
}

#[test]
fn weights_order_the_findings() {
    for (_, _, change) in triggers::all() {
        let verdict = well(change).verdict;
        let rules: Vec<&Rule> = verdict.fired().collect();
        assert!(rules.iter().all(|rule| (0.0..=1.0).contains(&rule.weight)), "{rules:#?}");
        let is_void = |rule: &Rule| rule.outcome == RuleOutcome::Void;
        for pair in rules.windows(2) {
            let (first, next) = (pair[0], pair[1]);
            let is_ordered = is_void(first) > is_void(next)
                || (is_void(first) == is_void(next) && first.weight >= next.weight);
            assert!(is_ordered, "{first:#?} before {next:#?}");
        }
    }
}

#[test]
fn the_noise_floor_fires_below_its_limit() {
    let triggers = triggers::all();
    let (_, _, change) =
        triggers.iter().find(|(id, ..)| *id == "noise-floor").expect("it is there");
    let document = well(change);
    let floor = rule(&document, "noise-floor");
    assert_eq!(floor.fires, Direction::Below);
    assert_eq!(
        floor.text,
        "near the noise floor: p50 1.05 ms is 9.54 times weir's own 110 µs (limit: 10.00); \
         compare it only with runs of the same client"
    );
}

/// A printed number in the base unit of a rule; panics where it is in another.
fn number(text: &str, unit: &str) -> f64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && !",.-".contains(c)).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: f64 = digits.replace(',', "").parse().unwrap_or_else(|_| panic!("{text}"));
    let scale = match (unit, suffix.trim()) {
        ("share", "%") => 0.01,
        ("ratio" | "count", "") => 1.0,
        ("rps", "/s") => 1.0,
        ("ns", "ns") => 1.0,
        ("ns", "µs") => 1e3,
        ("ns", "ms") => 1e6,
        ("ns", "s") => 1e9,
        (unit, suffix) => panic!("'{suffix}' is no unit of a {unit}: {text}"),
    };
    number * scale
}

/// True if both agree to three digits.
fn is_near(printed: f64, exact: f64) -> bool {
    (printed - exact).abs() <= 0.006 * exact.abs() + 1e-12
}

/// True if these words are in the text, and not the end of a longer number.
fn has_words(text: &str, words: &str) -> bool {
    let part_of_number = |c: char| c.is_ascii_digit() || c == '.';
    text.match_indices(words).any(|(at, _)| !text[..at].ends_with(part_of_number))
}
