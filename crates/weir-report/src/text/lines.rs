//! Lines of facts and sentences, after a label or without one.

use std::iter;

use crate::view::{Entry, Fact, Form, Line, Tone};

use super::page::{INDENT, Span, TextPage, label};

/// Columns of a label, with the gap after it.
const LABEL_WIDTH: usize = INDENT - 2;

/// Column at which a note begins.
const NOTE_INDENT: usize = 8;

/// A fact in its tone.
pub(super) fn span(fact: &Fact) -> Span {
    Span::new(fact.text.clone(), fact.tone)
}

/// Facts in their tones.
pub(super) fn spans(facts: &[Fact]) -> Vec<Span> {
    facts.iter().map(span).collect()
}

/// Writes a line without a label, at the left edge.
pub(super) fn unlabelled(line: &Line, page: &mut TextPage) {
    match line.form {
        Form::Facts | Form::Sum => page.items(Span::plain(""), 0, spans(&line.facts)),
        _ => sentences(Span::plain(""), 0, line, page),
    }
}

/// Writes the lines of an entry; the first one has the label. A label that fills its column has a
/// line of its own.
pub(super) fn labelled(entry: &Entry, page: &mut TextPage) {
    let is_wide = label(&entry.label).width() >= INDENT;
    if is_wide {
        page.line([label(&entry.label)]);
    }
    for (index, line) in entry.lines.iter().enumerate() {
        let name = if index == 0 && !is_wide { entry.label.as_str() } else { "" };
        match line.form {
            Form::Facts => page.items(label(name), INDENT, spans(&line.facts)),
            Form::Sum => sum(name, &line.facts, page),
            Form::Sentence | Form::Command => sentences(label(name), INDENT, line, page),
            Form::Item => {
                let start = label(&format!("{name:<LABEL_WIDTH$}- "));
                sentences(start, INDENT + 2, line, page);
            }
            Form::Remark => sentences(label(name), INDENT + 2, line, page),
        }
    }
}

/// Writes a note.
pub(super) fn note(text: &str, page: &mut TextPage) {
    let label = Span::new("  note: ", Tone::Aside);
    page.paragraph(label, NOTE_INDENT, &Span::new(text, Tone::Aside));
}

/// Writes each fact on lines of its own, the first after a label.
fn sentences(label: Span, indent: usize, line: &Line, page: &mut TextPage) {
    let write = if line.form == Form::Command { TextPage::command } else { TextPage::paragraph };
    let labels = iter::once(label).chain(iter::repeat(Span::plain("")));
    for (label, sentence) in labels.zip(spans(&line.facts)) {
        write(page, label, indent, &sentence);
    }
}

/// Writes `10 planned = 9 ok + 1 timed out`. Further lines continue under the equals sign.
fn sum(name: &str, facts: &[Fact], page: &mut TextPage) {
    let Some((total, terms)) = facts.split_first() else { return };
    let total = format!("{} ", total.text);
    let indent = INDENT + total.chars().count();
    let mut line = vec![label(&format!("{name:<LABEL_WIDTH$}")), Span::plain(total)];
    let mut used = indent;
    for (index, term) in terms.iter().enumerate() {
        let sign = if index == 0 { "= " } else { "+ " };
        let term = span(term);
        let blank = usize::from(index > 0);
        if used + blank + 2 + term.width() > page.width() {
            page.line(std::mem::take(&mut line));
            line.push(Span::plain(" ".repeat(indent)));
            used = indent;
        } else {
            line.push(Span::plain(" ".repeat(blank)));
            used += blank;
        }
        used += 2 + term.width();
        line.push(Span::plain(sign));
        line.push(term);
    }
    page.line(line);
}
