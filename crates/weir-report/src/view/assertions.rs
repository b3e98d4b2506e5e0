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
    let cells = [result.assertion.clone(), in_words(result)];
    Row { tone, ..Row::new(result.outcome.to_string(), cells) }
}

/// The measured value, and the reason of a failure if the value does not show it.
fn in_words(result: &AssertionResult) -> String {
    match &result.reason {
        Some(reason) => format!("{}: {reason}", result.measured),
        None => result.measured.clone(),
    }
}
