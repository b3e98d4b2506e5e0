//! Assertions and their outcomes. In text they are last, since the end of a log is read first; on a
//! page failed ones are first.

use weir_result::{AssertionOutcome, AssertionResult, Document};

use super::{Block, Row, Table, TableKind, Tone};

pub(super) fn blocks(document: &Document) -> Vec<Block> {
    if document.assertions.is_empty() {
        return Vec::new();
    }
    let (columns, rows) = (["assertion", "measured"], document.assertions.iter().map(row));
    vec![Block::Table(Table::new(TableKind::Assertions, "", columns, rows))]
}

fn row(result: &AssertionResult) -> Row {
    let tone = match result.outcome {
        AssertionOutcome::Pass => Tone::Plain,
        AssertionOutcome::Fail => Tone::Bad,
    };
    // The reason of a failure if the value does not show it.
    let reason = result.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let cells = [result.assertion.clone(), result.measured.clone() + &reason];
    Row { tone, ..Row::new(result.outcome.to_string(), cells) }
}
