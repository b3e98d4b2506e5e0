//! Every rule of the verdict, whatever came of it: for those who want to know how near it was.

use weir_run::document::{Rule, RuleOutcome, Verdict};

use super::page::{Page, Span, Style};

/// Where the texts begin, after outcome and id.
const INDENT: usize = 20;

pub(super) fn write(verdict: &Verdict, page: &mut Page) {
    page.gap();
    for rule in &verdict.rules {
        let (outcome, style) = match rule.outcome {
            RuleOutcome::Pass => ("pass", Style::Plain),
            RuleOutcome::Caveat => ("caveat", Style::Bold),
            RuleOutcome::Invalid => ("invalid", Style::Red),
            RuleOutcome::Note => ("note", Style::Plain),
            RuleOutcome::Unknown => ("unknown", Style::Dim),
        };
        let label = format!("  {outcome:<8}{} ", rule.id);
        let indent = label.chars().count().max(INDENT);
        page.paragraph(Span::new(label, style), indent, &Span::new(text(rule), style));
    }
}

/// What it says, and where it passed, how far it was from not doing so.
fn text(rule: &Rule) -> String {
    let limits = rule.limits();
    match rule.outcome {
        RuleOutcome::Pass if !limits.is_empty() => format!("{} ({limits})", rule.text),
        _ => rule.text.clone(),
    }
}
