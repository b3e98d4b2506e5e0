//! The order of findings: by estimated effect on the printed numbers, greatest first.

use weir_result::document::{Rule, RuleOutcome};

/// Returns ids of the rules that fired: void first, then by weight, then by position.
pub(crate) fn ordered(rules: &[Rule]) -> Vec<String> {
    let mut fired: Vec<&Rule> = rules.iter().filter(|rule| rule.has_fired()).collect();
    let rank = |rule: &Rule| u8::from(rule.outcome == RuleOutcome::Void);
    fired.sort_by(|a, b| {
        (rank(b), b.weight).partial_cmp(&(rank(a), a.weight)).unwrap_or(std::cmp::Ordering::Equal)
    });
    fired.into_iter().map(|rule| rule.id.clone()).collect()
}
