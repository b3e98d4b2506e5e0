//! Every rule of the verdict with its figure and its limits, for any outcome.

use weir_result::document::{Rule, RuleOutcome, Verdict};

use super::{Block, Cell, Row, Table, TableKind, Tone, titles};

pub(super) fn blocks(verdict: &Verdict) -> Vec<Block> {
    vec![Block::Table(Table {
        kind: TableKind::Rules,
        title: "Rules",
        caption: String::new(),
        columns: titles(["rule", "figure", "evidence"]),
        rows: verdict.rules.iter().map(row).collect(),
        legend: Vec::new(),
    })]
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
    let cells = [rule.id.to_string(), rule.figure(), text(rule)];
    Row {
        label: Cell::Text(outcome.to_owned()),
        cells: cells.into_iter().map(Cell::Text).collect(),
        remark: None,
        tone,
    }
}

/// The rule's sentence, with its limits.
fn text(rule: &Rule) -> String {
    let limits = rule.limits();
    match limits.is_empty() {
        true => rule.text.clone(),
        false => format!("{} [{limits}]", rule.text),
    }
}
