//! The report for people, to be read in ten seconds: what was asked, whether the numbers may be
//! believed, how fast and how slow it was, who was the limit, and what went wrong. Never wider than
//! 80 columns.

mod assertions;
mod details;
mod head;
mod page;
mod percentiles;
mod rates;
mod rules;
mod spectrum;
mod table;
mod verdict;

use std::io::{self, Write};

use weir_run::Document;

use page::Page;

/// How the report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// With colours: for a terminal.
    pub colour: bool,
    /// Columns there are; at most 80 are used, and at least 60.
    pub width: u16,
    /// With the whole spectrum of latencies, not only a few percentiles.
    pub spectrum: bool,
    /// With what is of interest only sometimes: the machine, the workers, connect times.
    pub verbose: bool,
    /// With the verdict.
    pub verdict: bool,
    /// With every rule of the verdict and its figure.
    pub rules: bool,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            colour: false,
            width: 80,
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
    if options.verdict {
        verdict::write(document, &mut page);
    }
    rates::write(document, &mut page);
    percentiles::write(document, options.verbose, &mut page);
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
