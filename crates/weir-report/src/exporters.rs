//! The formats of a document, in one list. Choices, help and errors are taken from it; a format is
//! a module of this crate and an entry here.

use std::io::{self, Write};

use weir_result::Document;

use crate::{TextOptions, csv, hgrm, hlog, html, json, jsonl, junit, markdown, text};

/// A format in which a document is written.
#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    /// Name, as a flag's value.
    pub name: &'static str,
    /// Extension of its files, without the dot.
    pub extension: &'static str,
    /// Description, as in a list of formats.
    pub description: &'static str,
    /// True if the format holds the assertions alone, so that it is empty without any.
    pub needs_assertions: bool,
    write: fn(&Document, &TextOptions, &mut dyn Write) -> io::Result<()>,
}

/// All formats; the first is the default on standard output.
pub const EXPORTERS: [Exporter; 10] =
    [TEXT, JSON, JUNIT, MARKDOWN, HTML, CSV, PERCENTILES, JSONL, HGRM, HLOG];

/// Help of the flag that chooses a format.
pub const HELP: &str = "Format of standard output: text, json, junit, markdown, html, csv, \
                        percentiles, jsonl, hgrm or hlog";

/// The report for people.
pub const TEXT: Exporter = Exporter {
    name: "text",
    extension: "txt",
    description: "the report",
    needs_assertions: false,
    write: |document, options, mut out| text::write(document, options, &mut out),
};

/// The document itself.
pub const JSON: Exporter = Exporter {
    name: "json",
    extension: "json",
    description: "the document",
    needs_assertions: false,
    write: |document, _, mut out| json::write(document, &mut out),
};

/// The results of the assertions.
pub const JUNIT: Exporter = Exporter {
    name: "junit",
    extension: "xml",
    description: "the results of --assert, as JUnit XML",
    needs_assertions: true,
    write: |document, _, mut out| junit::write(document, &mut out),
};

/// The report for a pull request, an issue or the summary of a CI job.
pub const MARKDOWN: Exporter = Exporter {
    name: "markdown",
    extension: "md",
    description: "the report, as GitHub Flavored Markdown",
    needs_assertions: false,
    write: |document, options, mut out| markdown::write(document, options, &mut out),
};

/// The report with plots, as one page.
pub const HTML: Exporter = Exporter {
    name: "html",
    extension: "html",
    description: "the report with plots, as one page",
    needs_assertions: false,
    write: |document, options, out| html::write(document, options, out),
};

/// The time series.
pub const CSV: Exporter = Exporter {
    name: "csv",
    extension: "csv",
    description: "the time series, a row for each interval",
    needs_assertions: false,
    write: |document, _, mut out| csv::write_series(document, &mut out),
};

/// The percentiles.
pub const PERCENTILES: Exporter = Exporter {
    name: "percentiles",
    extension: "csv",
    description: "the percentiles with their intervals, as CSV",
    needs_assertions: false,
    write: |document, _, mut out| csv::write_percentiles(document, &mut out),
};

/// The time series as JSON Lines.
pub const JSONL: Exporter = Exporter {
    name: "jsonl",
    extension: "jsonl",
    description: "the time series, a JSON object for each interval",
    needs_assertions: false,
    write: |document, _, mut out| jsonl::write(document, &mut out),
};

/// The percentiles for the plotters of HdrHistogram.
pub const HGRM: Exporter = Exporter {
    name: "hgrm",
    extension: "hgrm",
    description: "the latency distribution, as HdrHistogram's plotters read it",
    needs_assertions: false,
    write: |document, _, mut out| hgrm::write(document, &mut out),
};

/// The time series as histograms.
pub const HLOG: Exporter = Exporter {
    name: "hlog",
    extension: "hlog",
    description: "the time series, as an interval log of HdrHistogram",
    needs_assertions: false,
    write: |document, _, mut out| hlog::write(document, &mut out),
};

impl Exporter {
    /// Returns the format of this name.
    ///
    /// # Errors
    /// A hint, if there is none.
    pub fn named(name: &str) -> Result<Exporter, String> {
        if let Some(found) = EXPORTERS.into_iter().find(|known| known.name == name) {
            return Ok(found);
        }
        let similar = EXPORTERS.into_iter().find(|known| known.extension == name);
        Err(match similar {
            Some(known) => format!("did you mean {} ({})?", known.name, known.description),
            None => {
                let all = EXPORTERS.map(|known| format!("{} ({})", known.name, known.description));
                format!("the formats are {}", all.join(", "))
            }
        })
    }

    /// Writes the document in this format.
    ///
    /// # Errors
    /// Errors of `out`, or the fault of a histogram, in a document that was neither loaded nor
    /// assembled.
    pub fn write(
        &self,
        document: &Document,
        options: &TextOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        (self.write)(document, options, out)
    }
}

impl PartialEq for Exporter {
    fn eq(&self, other: &Exporter) -> bool {
        self.name == other.name
    }
}

impl Eq for Exporter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for exporter in EXPORTERS {
            assert_eq!(Exporter::named(exporter.name), Ok(exporter));
        }
        let names = EXPORTERS.map(|exporter| exporter.name).join(", ");
        let (others, last) = names.rsplit_once(", ").expect("several formats");
        assert!(HELP.ends_with(&format!(": {others} or {last}")), "{names}");
    }

    #[test]
    fn other_names_get_a_hint() {
        let hint = |name| Exporter::named(name).expect_err("there is no such format");
        assert_eq!(hint("xml"), "did you mean junit (the results of --assert, as JUnit XML)?");
        let all = "the formats are text (the report), json (the document), junit (";
        assert!(hint("pdf").starts_with(all), "{}", hint("pdf"));
    }
}
