//! The report for people, rendered from the [view](crate::view) within the page's width.
//!
//! A clean run takes at most 22 lines of 80 columns if its command fits one. Wider terminals are
//! used up to 120 columns.

mod bars;
mod lines;
mod page;
mod table;

use std::io::{self, Write};

use weir_result::Document;

use crate::view::{Block, Detail, Report, Tone};
use page::{Page, Span, Style};

pub(crate) use bars::bar;

/// Options of the text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// True if the report is coloured, for a terminal.
    pub colour: bool,
    /// Columns of the terminal; at most 120 are used, and at least 60.
    pub width: u16,
    /// Bar style of a compact histogram of the latencies; none leaves the histogram out. Blocks
    /// bring sparklines of the run too.
    pub histogram: Option<Bars>,
    /// True if the whole spectrum of latencies is printed, not only a few percentiles.
    pub spectrum: bool,
    /// True if all findings, the machine, the workers and connect times are printed.
    pub verbose: bool,
    /// True if the grade and the findings are printed.
    pub verdict: bool,
    /// True if every rule of the verdict is printed with its figure.
    pub rules: bool,
}

/// Bar style of the histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// In eighths of a column, with Unicode's block elements.
    Blocks,
    /// With `#`, for terminals that are not UTF-8.
    Ascii,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            colour: false,
            width: 80,
            histogram: None,
            spectrum: false,
            verbose: false,
            verdict: true,
            rules: false,
        }
    }
}

impl TextOptions {
    /// Parts of the report that the options choose.
    pub(crate) fn detail(&self) -> Detail {
        let TextOptions { histogram, spectrum, verbose, verdict, rules, .. } = *self;
        // Only a terminal gets a histogram; a sparkline needs its block elements.
        let (histogram, course) = (histogram.is_some(), histogram == Some(Bars::Blocks));
        Detail { histogram, course, spectrum, verbose, verdict, rules, plots: false }
    }
}

/// Writes the report. Fails with an error of `out`, or if a histogram cannot be decoded in a
/// document that was never loaded nor assembled.
pub fn write(document: &Document, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let report = Report::of(document, &options.detail());
    render(&report, options, out)
}

/// Writes a report that was made of something else than a document. The details among the options
/// are decided in it already.
///
/// # Errors
/// Those of `out`.
pub fn render(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let mut page = Page::new(usize::from(options.width));
    let title = format!("{}   ", report.title);
    let indent = title.chars().count().min(TITLE_MAX);
    page.items(Span::new(title, Style::Bold), indent, lines::spans(&report.about));
    for (index, section) in report.sections.iter().enumerate() {
        if index > 0 {
            page.gap();
        }
        for block in &section.blocks {
            match block {
                Block::Line(line) => lines::unlabelled(line, &mut page),
                Block::Entry(entry) => lines::labelled(entry, &mut page),
                Block::Table(table) => {
                    table::write(table, options.histogram.unwrap_or(Bars::Ascii), &mut page);
                }
                Block::Plot(_) => {}
                Block::Note(note) => lines::note(&note.to_text(), &mut page),
            }
        }
    }
    page.print(options.colour, out)
}

/// Greatest column at which the target begins, beside the program's name.
const TITLE_MAX: usize = 30;

impl From<Tone> for Style {
    fn from(tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::Plain,
            Tone::Main => Style::Bold,
            Tone::Good => Style::Green,
            Tone::Caution => Style::Yellow,
            Tone::Bad => Style::Red,
            Tone::Aside => Style::Dim,
        }
    }
}
