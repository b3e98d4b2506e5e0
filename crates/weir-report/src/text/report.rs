//! The report from its title to its last note.

use std::io::{self, Write};

use weir_result::Document;

use super::page::{Span, TextPage};
use super::{Bars, TextOptions, lines, table};
use crate::view::{Block, Report, Tone};

/// Writes the report. Fails with an error of `out`, or if a histogram cannot be decoded in a
/// document that was never loaded nor assembled.
pub fn write(document: &Document, options: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    render(&Report::of(document, &options.detail()), options, out)
}

/// Writes a report that was not made from a document. The details among the options are decided in
/// it already.
///
/// # Errors
/// Errors of `out`.
pub fn render(report: &Report, options: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut page = TextPage::new(usize::from(options.width));
    let title = format!("{}   ", report.title);
    let indent = title.chars().count().min(TITLE_MAX);
    page.items(Span::new(title, Tone::Main), indent, lines::spans(&report.about));
    for (index, section) in report.sections.iter().enumerate() {
        if index > 0 {
            page.gap();
        }
        for block in &section.blocks {
            match block {
                Block::Line(line) => lines::unlabelled(line, &mut page),
                Block::Entry(entry) | Block::Folded(entry) => lines::labelled(entry, &mut page),
                Block::Table(table) => {
                    table::write(table, options.histogram.unwrap_or(Bars::Ascii), &mut page);
                }
                Block::Plot(_) => {}
                Block::Note(note) => lines::note(note, &mut page),
            }
        }
    }
    page.print(options.colour, out)
}

/// Greatest column at which the target begins, beside the program's name.
const TITLE_MAX: usize = 30;
