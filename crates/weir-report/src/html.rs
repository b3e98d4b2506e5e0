//! The report as one HTML page, rendered from the [view](crate::view): text, tables and plots,
//! without a single request to a network.
//!
//! Plots are data in the page, drawn by a library in the page (Observable Plot). Without scripts
//! the text and the tables are left. Text from outside (a URL, the name of a server) is never
//! markup, and the page's policy allows nothing but its own script and style.

mod blocks;

use std::io::{self, Write};

use flate2::read::GzDecoder;
use weir_result::Document;

use crate::text::TextOptions;
use crate::view::{Block, Detail, Report};
use blocks::{HtmlPage, escaped};

/// The style of the page.
const STYLE: &str = include_str!("html/page.css");

/// The plot library: Observable Plot and the parts of d3 that it needs, with their licences. It is
/// compressed; `cargo xtask plots` builds it.
const LIBRARY: &[u8] = include_bytes!("html/plot.js.gz");

/// The script of the page: draws the plots from their data.
const SCRIPT: &str = include_str!("html/page.js");

/// Policy of the page: it loads itself alone. `data:` is its icon, `blob:` a download.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:";

/// Writes the report of a document. Width and colour of the options do not matter; the page has all
/// details.
///
/// # Errors
/// Errors of `out`, or the fault of a histogram, in a document that was neither loaded nor
/// assembled.
pub fn write(document: &Document, options: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    let verdict = options.verdict;
    let detail =
        Detail { verbose: true, verdict, rules: verdict, plots: true, ..Detail::default() };
    write_report(&Report::of(document, &detail), out)
}

/// Writes a report that is built already, such as a study's.
///
/// # Errors
/// Errors of `out`.
pub fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let target = report.about.first().map(|fact| escaped(&fact.text)).unwrap_or_default();
    let title = escaped(&report.title);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{title}\">\n\
         <title>{target} – {title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{STYLE}</style>\n</head>\n<body{}>",
        if report.has_failed() { " class=\"failed\"" } else { "" }
    )?;
    let mut page = HtmlPage::default();
    page.head(report);
    report.sections_of_page().into_iter().for_each(|section| page.section(section));
    writeln!(out, "{}</main>", page.text())?;
    if report.sections.iter().flat_map(|of| &of.blocks).any(|of| matches!(of, Block::Plot(_))) {
        writeln!(out, "<script>")?;
        io::copy(&mut GzDecoder::new(LIBRARY), out)?;
        write!(out, "</script>\n<script>\n{SCRIPT}</script>\n")?;
    }
    writeln!(out, "</body>\n</html>")
}
