//! The report for people: the plan, the lines `Target`, `Load` and `Limit`, throughput and latency,
//! then details.
//!
//! A clean run takes at most 20 lines of 80 columns. Wider terminals are used up to 120 columns.

mod assertions;
mod details;
mod head;
mod histogram;
mod page;
mod percentiles;
mod rules;
mod spectrum;
mod table;
mod throughput;
mod usage;
mod verdict;

use std::io::{self, Write};

use weir_run::Document;

use page::Page;

/// How the report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// With colours: for a terminal.
    pub colour: bool,
    /// Columns of the terminal; at most 120 are used, and at least 60.
    pub width: u16,
    /// With a compact histogram of the latencies, drawn like this.
    pub histogram: Option<Bars>,
    /// With the whole spectrum of latencies, not only a few percentiles.
    pub spectrum: bool,
    /// With all findings, the machine, the workers, connect times.
    pub verbose: bool,
    /// With the grade and the findings.
    pub verdict: bool,
    /// With every rule of the verdict and its figure.
    pub rules: bool,
}

/// How bars of the histogram are drawn.
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

/// Writes the report. An error is one of `out`, or a histogram that cannot be read in a document
/// that was never loaded nor assembled.
pub fn write(document: &Document, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let mut page = Page::new(usize::from(options.width));
    head::write(document, &mut page);
    verdict::write(document, options, &mut page);
    throughput::write(document, &mut page);
    percentiles::write(document, options.verbose, &mut page).map_err(io::Error::other)?;
    if let Some(bars) = options.histogram {
        histogram::write(document, bars, &mut page).map_err(io::Error::other)?;
    }
    if options.spectrum {
        spectrum::write(document, &mut page).map_err(io::Error::other)?;
    }
    details::write(document, options, &mut page);
    if options.rules {
        rules::write(&document.verdict, &mut page);
    }
    assertions::write(document, &mut page);
    page.print(options.colour, out)
}
