//! Every rule of the verdict with its figure and its limits, for any outcome.

use weir_result::document::{Rule, RuleOutcome, Verdict};

use super::page::{Page, Span, Style};

/// Columns of the outcome, of the id and of the figure, each with a gap.
const OUTCOME_COLUMNS: usize = 9;
const ID_COLUMNS: usize = 18;
const FIGURE_COLUMNS: usize = 10;

pub(super) fn write(verdict: &Verdict, page: &mut Page) {
    page.gap();
    page.line([Span::new("  Rules", Style::Bold)]);
    for rule in &verdict.rules {
        let (outcome, style) = match rule.outcome {
            RuleOutcome::Pass => ("pass", Style::Plain),
            RuleOutcome::Unknown => ("unknown", Style::Dim),
            RuleOutcome::Note => ("note", Style::Plain),
            RuleOutcome::Finding => ("finding", Style::Bold),
            RuleOutcome::Bound => ("bound", Style::Yellow),
            RuleOutcome::Void => ("void", Style::Red),
        };
        let label = format!(
            "  {outcome:<OUTCOME_COLUMNS$}{:<ID_COLUMNS$}{:>FIGURE_COLUMNS$}  ",
            rule.id,
            rule.figure(),
        );
        let indent = label.chars().count();
        page.paragraph(Span::new(label, style), indent, &Span::new(text(rule), style));
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
