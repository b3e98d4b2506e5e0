//! Every rule of the verdict with its figure and its limits, for any outcome.

use weir_result::document::{Rule, RuleOutcome, Verdict};

use super::{Block, Row, Table, TableKind, Tone};

pub(super) fn blocks(verdict: &Verdict) -> Vec<Block> {
    let (columns, rows) = (["rule", "figure", "evidence"], verdict.rules.iter().map(row));
    vec![Block::Table(Table::new(TableKind::Rules, "Rules", columns, rows))]
}

fn row(rule: &Rule) -> Row {
    let (outcome, tone) = match rule.outcome {
        RuleOutcome::Pass => ("pass", Tone::Plain),
        RuleOutcome::Unknown => ("unknown", Tone::Aside),
        RuleOutcome::Note => ("note", Tone::Plain),
        RuleOutcome::Finding => ("finding", Tone::Main),
        RuleOutcome::Bound => ("bound", Tone::Caution),
        RuleOutcome::Void => ("void", Tone::Bad),
    };
    Row { tone, ..Row::new(outcome, [rule.id.to_string(), rule.figure(), text(rule)]) }
}

/// The rule's sentence, with its limits.
fn text(rule: &Rule) -> String {
    let limits = rule.limits();
    if limits.is_empty() { rule.text.clone() } else { format!("{} [{limits}]", rule.text) }
}
