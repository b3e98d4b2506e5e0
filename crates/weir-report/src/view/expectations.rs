//! The missed expectations of a run, or its failed streams: their kinds with counts, and an example
//! of each.

use weir_result::Document;
use weir_result::document::Accounting;
use weir_text::words_of_kind;

use super::{Block, Fact, Line};

/// Builds the lines; none if no expectation was missed.
pub(super) fn blocks(document: &Document) -> Option<Block> {
    let results = &document.results;
    let accounting = &document.accounting;
    let lines = results.missed.iter().map(|(kind, count)| line(accounting, kind, *count));
    let lines: Vec<Line> = lines.collect();
    let title = if document.plan.expect.is_some() { "Expectations" } else { "Failed streams" };
    (!lines.is_empty()).then(|| Block::entry(title, lines))
}

/// Formats `expect body: 12`, the expectation, and the response that missed it.
fn line(accounting: &Accounting, kind: &str, count: u64) -> Line {
    let mut facts = vec![Fact::error(&words_of_kind(kind), count)];
    if let Some(example) = accounting.miss_examples.get(kind) {
        facts.push(Fact::text(&example.expected));
        facts.push(Fact::named("status", example.status));
        if !example.found.is_empty() {
            facts.push(Fact::named("found", &example.found));
        }
    }
    Line::facts(facts)
}
