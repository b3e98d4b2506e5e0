//! Assertions and their outcomes, printed last: the end of a log is read first.

use weir_result::{AssertionOutcome, AssertionResult, Document};

use super::page::{Page, Span, Style};

/// Columns of the outcome, with a gap after it.
const OUTCOME_COLUMNS: usize = 6;

/// Greatest column at which the measured value begins, so that it keeps half of the page.
const INDENT_MAX: usize = 40;

pub(super) fn write(document: &Document, page: &mut Page) {
    page.gap();
    let longest = document.assertions.iter().map(|result| result.assertion.chars().count()).max();
    let indent = (2 + OUTCOME_COLUMNS + longest.unwrap_or(0) + 3).min(INDENT_MAX);
    for result in &document.assertions {
        let style = match result.outcome {
            AssertionOutcome::Pass => Style::Plain,
            AssertionOutcome::Fail => Style::Red,
        };
        let outcome = result.outcome.to_string();
        let label = format!("  {outcome:<OUTCOME_COLUMNS$}{}", result.assertion);
        // A label too long for its column has a line of its own.
        if label.chars().count() + 2 > indent {
            page.line([Span::new(label, style)]);
            page.paragraph(Span::plain(""), indent, &Span::new(in_words(result), style));
        } else {
            page.paragraph(Span::new(label, style), indent, &Span::new(in_words(result), style));
        }
    }
}

/// The measured value, and the reason of a failure if the value does not show it.
fn in_words(result: &AssertionResult) -> String {
    match &result.reason {
        Some(reason) => format!("{}: {reason}", result.measured),
        None => result.measured.clone(),
    }
}
