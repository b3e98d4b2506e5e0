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

use weir_result::Document;

use page::Page;

/// Options of the text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// True if the report is coloured, for a terminal.
    pub colour: bool,
    /// Columns of the terminal; at most 120 are used, and at least 60.
    pub width: u16,
    /// Bar style of a compact histogram of the latencies; none leaves the histogram out.
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

/// Writes the report. Fails with an error of `out`, or if a histogram cannot be decoded in a
/// document that was never loaded nor assembled.
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
