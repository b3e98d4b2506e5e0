//! The lines `Target`, `Load` and `Limit`, then the grade if it is not clean, and the findings that
//! move the printed numbers most.

use weir_result::Document;
use weir_result::document::{Delivery, Grade, LimitedBy, Rule, TargetState};

use super::TextOptions;
use super::head::counted;
use super::page::{INDENT, Page, Span, Style, label};

/// Findings printed without `verbose`; one screen must have room for the numbers.
const FINDINGS_MAX: usize = 3;

pub(super) fn write(document: &Document, options: &TextOptions, page: &mut Page) {
    page.gap();
    page.paragraph(label("Target"), INDENT, &target(document));
    page.paragraph(label("Load"), INDENT, &load(document));
    page.paragraph(label("Limit"), INDENT, &limit(document));
    if options.verdict {
        grade(document, page);
        findings(document, options.verbose, page);
    }
}

/// Formats `OK`, `DEGRADED: 3.1% timed out`, `FAILED: 100% of responses were 404`.
fn target(document: &Document) -> Span {
    let target = &document.verdict.target;
    let (word, style) = match target.state {
        TargetState::Ok => ("OK", Style::Green),
        TargetState::Degraded => ("DEGRADED", Style::Yellow),
        TargetState::Failed => ("FAILED", Style::Red),
    };
    let accounting = &document.accounting;
    let is_unsent = accounting.planned == accounting.never_sent;
    if target.state == TargetState::Ok && is_unsent && document.throughput.completed == 0 {
        return Span::plain("unknown: no measured request was sent");
    }
    match target.text.is_empty() {
        true => Span::new(word, style),
        false => Span::new(format!("{word}: {}", target.text), style),
    }
}

fn load(document: &Document) -> Span {
    let load = &document.verdict.load;
    match load.delivery {
        Delivery::AsPlanned if document.accounting.planned == 0 => {
            Span::plain("unknown: nothing was measured")
        }
        Delivery::AsPlanned => Span::plain(&load.text),
        Delivery::Late | Delivery::Incomplete => Span::new(&load.text, Style::Yellow),
    }
}

/// Formats `client CPU: worker 0 needed a CPU 98.0% of the time`.
fn limit(document: &Document) -> Span {
    let limit = &document.verdict.limit;
    let by = limit.by.in_words();
    let text = match limit.text.is_empty() {
        true => by.to_owned(),
        false => format!("{by}: {}", limit.text),
    };
    let is_client = limit.by == LimitedBy::ClientCpu;
    Span::new(text, if is_client { Style::Yellow } else { Style::Plain })
}

/// Writes one line if the grade is not clean. A reason that is already in the line `Target` is not
/// repeated.
fn grade(document: &Document, page: &mut Page) {
    let verdict = &document.verdict;
    let style = match verdict.grade {
        Grade::Clean => return,
        Grade::Bounded => Style::Yellow,
        Grade::Failed | Grade::Void => Style::Red,
    };
    let word = verdict.grade.in_words();
    let text = match verdict.reason.is_empty() || verdict.reason == verdict.target.text {
        true => word.to_owned(),
        false => format!("{word}: {}", verdict.reason),
    };
    page.paragraph(label("Grade"), INDENT, &Span::new(text, style));
}

fn findings(document: &Document, verbose: bool, page: &mut Page) {
    let verdict = &document.verdict;
    // The grade may already contain the sentence.
    let fired = verdict.fired().filter(|rule| !verdict.reason.contains(&rule.text));
    let fired: Vec<&Rule> = fired.collect();
    let shown = if verbose { fired.len() } else { fired.len().min(FINDINGS_MAX) };
    let width = INDENT - 2;
    let mut name = "Findings";
    for rule in &fired[..shown] {
        let start = label(&format!("{name:<width$}- "));
        page.paragraph(start, INDENT + 2, &Span::plain(&rule.text));
        name = "";
    }
    if shown < fired.len() {
        let more = counted((fired.len() - shown) as u64, "more finding");
        let text = format!("{more}: --verbose shows all");
        page.paragraph(Span::plain(""), INDENT + 2, &Span::new(text, Style::Dim));
    }
}
