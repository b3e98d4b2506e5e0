//! Sentences of rules that fired: `what: evidence (limit: X); remedy`, with the figure and the
//! limit in the rule's unit and in the right order.

use weir_result::document::{Direction, Rule, RuleOutcome};

use super::run::{rule, well};
use super::triggers;

/// Rules that fire without a limit to compare a figure with.
const WITHOUT_LIMIT: [&str; 4] =
    ["more-threads", "no-steady-state", "not-stationary", "slow-clock"];

/// Checks every rule that fired in any document that triggers a rule.
#[test]
fn sentences_figures_and_order_of_what_fired() {
    for (id, _, change) in triggers::all() {
        let document = well(change);
        assert!(!rule(&document, id).text.is_empty(), "{id}");
        let fired: Vec<&Rule> = document.verdict.fired().collect();
        for rule in &fired {
            check_parts(rule);
            check_figures(rule);
        }
        check_order(&fired);
    }
}

/// Checks the form `what: evidence; remedy`, in at most two lines.
fn check_parts(rule: &Rule) {
    let (what, rest) = rule.text.split_once(": ").unwrap_or_else(|| panic!("{rule:?}"));
    let (evidence, remedy) = rest.rsplit_once("; ").unwrap_or_else(|| panic!("{rule:?}"));
    for part in [what, evidence, remedy] {
        assert!(!part.is_empty() && part.trim() == part && !part.ends_with('.'), "{rule:?}");
    }
    assert!(what.len() <= 30 && !what.contains(';'), "{rule:?}");
    assert!(remedy.is_ascii() && !remedy.contains("(limit"), "{rule:?}");
    // The program has a flag in the place of a setting's path.
    let printed = rule.text.replace("`output`", "-o");
    assert!(printed.chars().count() <= 160, "two lines of 80 columns: {printed}");
}

/// Checks that the evidence holds the figure and the crossed limit in the rule's unit. The figure
/// must be on the side of the limit on which the rule fires.
fn check_figures(rule: &Rule) {
    let limit = match rule.outcome {
        RuleOutcome::Void => rule.void_at,
        RuleOutcome::Bound => rule.bound_at,
        _ => rule.finding_at,
    };
    let Some(limit) = limit else {
        assert!(WITHOUT_LIMIT.contains(&rule.id.as_str()), "{rule:?}");
        assert!(!rule.text.contains("limit:"), "{rule:?}");
        return;
    };
    let value = rule.value.unwrap_or_else(|| panic!("{rule:?}"));
    let (evidence, rest) = rule.text.split_once(" (limit: ").expect(&rule.text);
    let printed = Printed::of(rest.split_once(')').expect(&rule.text).0, &rule.unit);
    assert!(printed.is_of(limit), "limit {limit}: {rule:?}");
    // The evidence contains the figure as reports print it.
    let figure = rule.figure();
    assert!(has_words(evidence, &figure), "figure {figure}: {rule:?}");
    let figure = Printed::of(&figure, &rule.unit);
    assert!(figure.is_of(value), "figure {figure:?}: {rule:?}");
    match rule.fires {
        Direction::Above => assert!(value > limit && figure.number >= limit, "{rule:?}"),
        Direction::Below => assert!(value < limit && figure.number <= limit, "{rule:?}"),
    }
    let is_share = rule.unit == "share";
    assert!(!is_share || (0.0..=1.0).contains(&value), "no share of anything: {rule:?}");
}

/// Checks the order: void first, then by weight.
fn check_order(rules: &[&Rule]) {
    assert!(rules.iter().all(|rule| (0.0..=1.0).contains(&rule.weight)), "{rules:#?}");
    let is_void = |rule: &Rule| rule.outcome == RuleOutcome::Void;
    for pair in rules.windows(2) {
        let first = pair[0];
        let next = pair[1];
        let is_ordered = (is_void(first) && !is_void(next))
            || (is_void(first) == is_void(next) && first.weight >= next.weight);
        assert!(is_ordered, "{first:#?} before {next:#?}");
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
        "near the noise floor: p50 1.05 ms is 9.54 times weir's own 110 µs (limit: 10); \
         compare it only with runs of the same client"
    );
}

/// A printed number in the base unit of a rule.
#[derive(Debug)]
struct Printed {
    number: f64,
    /// Value of one unit in its last digit.
    digit: f64,
}

impl Printed {
    /// Parses the text; panics if it is in another unit.
    fn of(text: &str, unit: &str) -> Printed {
        let is_digit = |c: char| c.is_ascii_digit() || ",.-".contains(c);
        let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
        let (digits, suffix) = text.split_at(end);
        let scale = match (unit, suffix.trim()) {
            ("share", "%") => 0.01,
            ("ratio" | "count", "") | ("rps", "/s") | ("ns", "ns") => 1.0,
            ("ns", "µs") => 1e3,
            ("ns", "ms") => 1e6,
            ("ns", "s") => 1e9,
            (unit, suffix) => panic!("'{suffix}' is no unit of a {unit}: {text}"),
        };
        let number: f64 = digits.replace(',', "").parse().unwrap_or_else(|_| panic!("{text}"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Printed { number: number * scale, digit: scale * 0.1_f64.powi(decimals as i32) }
    }

    /// True if the printed number is `exact`, rounded.
    fn is_of(&self, exact: f64) -> bool {
        (self.number - exact).abs() <= 0.501 * self.digit
    }
}

/// True if the text contains these words, and not as the end of a longer number.
fn has_words(text: &str, words: &str) -> bool {
    let part_of_number = |c: char| c.is_ascii_digit() || c == '.';
    text.match_indices(words).any(|(at, _)| !text[..at].ends_with(part_of_number))
}
