//! Whether the numbers may be believed, before any of them: the grade, and what is against them,
//! each with its figure, its limit and what to do.

use weir_run::Document;
use weir_run::document::{Grade, Rule, RuleOutcome};

use super::head::counted;
use super::page::{Page, Span, Style};

/// Reasons that are printed; one screen must have room for the numbers.
const REASONS_MAX: usize = 4;

pub(super) fn write(document: &Document, page: &mut Page) {
    let verdict = &document.verdict;
    page.gap();
    if document.accounting.planned == 0 && verdict.grade == Grade::Valid {
        page.line([Span::plain("  "), Span::new("NOTHING MEASURED", Style::Red)]);
        return;
    }
    let invalid: Vec<&Rule> = verdict.with(RuleOutcome::Invalid).collect();
    let caveats: Vec<&Rule> = verdict.with(RuleOutcome::Caveat).collect();
    let (text, style) = match verdict.grade {
        Grade::Valid => ("VALID".to_owned(), Style::Bold),
        Grade::ValidWithCaveats => {
            (format!("VALID, with {}", counted(caveats.len() as u64, "caveat")), Style::Bold)
        }
        Grade::Invalid => {
            ("INVALID: these numbers are not the server's. Do not use them.".to_owned(), Style::Red)
        }
    };
    page.line([Span::plain("  "), Span::new(text, style)]);
    let reasons = invalid.len() + caveats.len();
    for rule in invalid.into_iter().chain(caveats).take(REASONS_MAX) {
        reason(rule, page);
    }
    if reasons > REASONS_MAX {
        let more = format!("and {} more: --rules shows all", reasons - REASONS_MAX);
        page.line([Span::plain("    "), Span::new(more, Style::Dim)]);
    }
    let unknown: Vec<String> = verdict.not_judged().into_iter().map(in_words).collect();
    if !unknown.is_empty() {
        let text = format!("not judged: {}", unknown.join(", "));
        page.paragraph(Span::plain(""), 2, &Span::new(text, Style::Dim));
    }
}

fn reason(rule: &Rule, page: &mut Page) {
    let style = if rule.outcome == RuleOutcome::Invalid { Style::Red } else { Style::Plain };
    let text = format!("{} [{}]", rule.text, rule.id);
    page.paragraph(Span::plain("  -"), 4, &Span::new(text, style));
}

/// What an important rule is about.
fn in_words(id: &str) -> String {
    let what = match id {
        "C2" => "waiting for a CPU",
        "C3" => "what the machine took",
        "C13" => "stops of weir",
        _ => return id.to_owned(),
    };
    format!("{what} [{id}]")
}
