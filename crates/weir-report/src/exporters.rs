//! The formats of a document, in one list. Choices, help and errors are taken from it; a format is
//! a module of this crate and an entry here.

use std::io::{self, Write};

use weir_result::Document;

use crate::findings::Findings;
use crate::trackers::Runs;
use crate::{
    TextOptions, csv, fortio, hgrm, hlog, html, json, jsonl, junit, k6, markdown, prometheus, text,
    trackers, vegeta,
};

/// A format in which a document is written.
#[derive(Clone, Copy, Debug)]
pub struct Exporter {
    /// Name, as a flag's value.
    pub name: &'static str,
    /// Extension of its files, without the dot.
    pub extension: &'static str,
    /// Description, as in a list of formats.
    pub description: &'static str,
    /// True if the format holds the assertions or the verdict alone, so that it is empty without
    /// any.
    pub needs_assertions: bool,
    write: WriteDocument,
    /// Writes the result of several runs, if it has what the format holds.
    of_findings: OfFindings,
}

/// Results of several runs that a format can hold.
#[derive(Clone, Copy, Debug)]
enum OfFindings {
    /// All.
    All(WriteFindings),
    /// Those with a verdict.
    Verdicts(WriteFindings),
    /// Those of `weir repeat`.
    Repetitions(WriteFindings),
    /// None: the format is for single runs.
    Nothing,
}

type WriteDocument = fn(&Document, &TextOptions, &mut dyn Write) -> io::Result<()>;
type WriteFindings = fn(&Findings<'_>, &TextOptions, &mut dyn Write) -> io::Result<()>;

/// All formats; the first is the default on standard output.
pub const EXPORTERS: [Exporter; 18] = [
    TEXT,
    JSON,
    JUNIT,
    MARKDOWN,
    HTML,
    CSV,
    PERCENTILES,
    JSONL,
    HGRM,
    HLOG,
    K6,
    K6_FLAT,
    VEGETA,
    FORTIO,
    BENCHER,
    BENCHMARK_SMALLER,
    BENCHMARK_BIGGER,
    PROMETHEUS,
];

/// Help of the flag that chooses a format.
pub const HELP: &str = "Format of standard output: text, json, junit, markdown, html, csv, \
                        percentiles, jsonl, hgrm, hlog, k6, k6-flat, vegeta, fortio, \
                        bencher, benchmark-smaller, benchmark-bigger or prometheus";

/// The report for people.
pub const TEXT: Exporter = Exporter {
    name: "text",
    extension: "txt",
    description: "the report",
    needs_assertions: false,
    write: |document, options, mut out| text::write(document, options, &mut out),
    of_findings: OfFindings::All(|findings, options, mut out| {
        findings.write_text(options, &mut out)
    }),
};

/// The document itself.
pub const JSON: Exporter = Exporter {
    name: "json",
    extension: "json",
    description: "the document",
    needs_assertions: false,
    write: |document, _, mut out| json::write(document, &mut out),
    of_findings: OfFindings::All(|findings, _, mut out| findings.write_json(&mut out)),
};

/// The results of the assertions, or the verdict of a comparison.
pub const JUNIT: Exporter = Exporter {
    name: "junit",
    extension: "xml",
    description: "the results of assertions, as JUnit XML",
    needs_assertions: true,
    write: |document, options, mut out| junit::write(document, options, &mut out),
    of_findings: OfFindings::Verdicts(|findings, options, mut out| match findings.verdict() {
        Some(found) => junit::write_verdict(found, findings, options, &mut out),
        None => junit::write_incomplete(findings, options, &mut out),
    }),
};

/// The report for a pull request, an issue or the summary of a CI job.
pub const MARKDOWN: Exporter = Exporter {
    name: "markdown",
    extension: "md",
    description: "the report, as GitHub Flavored Markdown",
    needs_assertions: false,
    write: |document, options, mut out| markdown::write(document, options, &mut out),
    of_findings: OfFindings::All(|findings, _, mut out| {
        markdown::write_report(&findings.report(), &mut out)
    }),
};

/// The report with plots, as one page.
pub const HTML: Exporter = Exporter {
    name: "html",
    extension: "html",
    description: "the report with plots, as one page",
    needs_assertions: false,
    write: |document, options, out| html::write(document, options, out),
    of_findings: OfFindings::All(|findings, _, out| html::write_report(&findings.report(), out)),
};

/// The time series, or the figures of several runs.
pub const CSV: Exporter = Exporter {
    name: "csv",
    extension: "csv",
    description: "the time series, a row for each interval",
    needs_assertions: false,
    write: |document, _, mut out| csv::write_series(document, &mut out),
    of_findings: OfFindings::All(|findings, _, mut out| {
        csv::write_data(&findings.data(), &mut out)
    }),
};

/// The percentiles.
pub const PERCENTILES: Exporter = of_one_run(
    "percentiles",
    "csv",
    "the percentiles with their intervals, as CSV",
    |document, _, mut out| csv::write_percentiles(document, &mut out),
);

/// The time series as JSON Lines.
pub const JSONL: Exporter = of_one_run(
    "jsonl",
    "jsonl",
    "the time series, a JSON object for each interval",
    |document, _, mut out| jsonl::write(document, &mut out),
);

/// The percentiles for the plotters of HdrHistogram.
pub const HGRM: Exporter = of_one_run(
    "hgrm",
    "hgrm",
    "the latency distribution, as HdrHistogram's plotters read it",
    |document, _, mut out| hgrm::write(document, &mut out),
);

/// The time series as histograms.
pub const HLOG: Exporter = of_one_run(
    "hlog",
    "hlog",
    "the time series, as an interval log of HdrHistogram",
    |document, _, mut out| hlog::write(document, &mut out),
);

/// The result for programs that read k6's `handleSummary()` data.
pub const K6: Exporter =
    of_one_run("k6", "json", "the result as k6's handleSummary() data", |document, _, mut out| {
        k6::write(document, &mut out)
    });

/// The result for programs that read k6's `--summary-export`.
pub const K6_FLAT: Exporter =
    of_one_run("k6-flat", "json", "the result as k6's --summary-export", |document, _, mut out| {
        k6::write_flat(document, &mut out)
    });

/// The result for programs that read vegeta's JSON report.
pub const VEGETA: Exporter =
    of_one_run("vegeta", "json", "the result as vegeta's JSON report", |document, _, mut out| {
        vegeta::write(document, &mut out)
    });

/// The result for programs that read Fortio's JSON.
pub const FORTIO: Exporter =
    of_one_run("fortio", "json", "the result as Fortio's JSON", |document, _, mut out| {
        fortio::write(document, &mut out)
    });

/// The result for Bencher.
pub const BENCHER: Exporter = Exporter {
    name: "bencher",
    extension: "json",
    description: "the result in Bencher's Metric Format",
    needs_assertions: false,
    write: |document, _, mut out| trackers::write_bencher(&Runs::one(document), &mut out),
    of_findings: OfFindings::Repetitions(|findings, _, mut out| {
        trackers::write_bencher(&findings.repeated(), &mut out)
    }),
};

/// Times and errors for github-action-benchmark.
pub const BENCHMARK_SMALLER: Exporter = Exporter {
    name: "benchmark-smaller",
    extension: "json",
    description: "times and errors, as customSmallerIsBetter of github-action-benchmark",
    needs_assertions: false,
    write: |document, _, mut out| trackers::write_smaller(&Runs::one(document), &mut out),
    of_findings: OfFindings::Repetitions(|findings, _, mut out| {
        trackers::write_smaller(&findings.repeated(), &mut out)
    }),
};

/// Rates for github-action-benchmark.
pub const BENCHMARK_BIGGER: Exporter = Exporter {
    name: "benchmark-bigger",
    extension: "json",
    description: "rates, as customBiggerIsBetter of github-action-benchmark",
    needs_assertions: false,
    write: |document, _, mut out| trackers::write_bigger(&Runs::one(document), &mut out),
    of_findings: OfFindings::Repetitions(|findings, _, mut out| {
        trackers::write_bigger(&findings.repeated(), &mut out)
    }),
};

/// The result for Prometheus.
pub const PROMETHEUS: Exporter = of_one_run(
    "prometheus",
    "prom",
    "the result as metrics of Prometheus",
    |document, _, mut out| prometheus::write(document, &mut out),
);

/// Formats that the extension of a file stands for. Of several formats with one extension, the one
/// that people mean.
const OF_EXTENSIONS: [Exporter; 7] = [JSON, HTML, MARKDOWN, CSV, JUNIT, HLOG, HGRM];

/// Returns the format that a file's extension stands for, if it stands for one.
pub fn of_extension(extension: &str) -> Option<Exporter> {
    OF_EXTENSIONS.into_iter().find(|known| known.extension.eq_ignore_ascii_case(extension))
}

/// Names of tools, and the formats that they read.
const ALIASES: [(&str, &str); 4] = [
    ("github-action-benchmark", "benchmark-smaller"),
    ("customSmallerIsBetter", "benchmark-smaller"),
    ("customBiggerIsBetter", "benchmark-bigger"),
    ("bmf", "bencher"),
];

/// A format for single runs.
const fn of_one_run(
    name: &'static str,
    extension: &'static str,
    description: &'static str,
    write: WriteDocument,
) -> Exporter {
    Exporter {
        name,
        extension,
        description,
        needs_assertions: false,
        write,
        of_findings: OfFindings::Nothing,
    }
}

impl Exporter {
    /// Returns the format of this name.
    ///
    /// # Errors
    /// A hint, if there is none.
    pub fn named(name: &str) -> Result<Exporter, String> {
        if let Some(found) = EXPORTERS.into_iter().find(|known| known.name == name) {
            return Ok(found);
        }
        let similar = EXPORTERS
            .into_iter()
            .find(|known| known.extension == name || ALIASES.contains(&(name, known.name)));
        Err(match similar {
            Some(known) => format!("did you mean {} ({})?", known.name, known.description),
            None => {
                let all = EXPORTERS.map(|known| known.name);
                format!("the formats are {}", all.join(", "))
            }
        })
    }

    /// Returns the format of this name, for the result of several runs.
    ///
    /// # Errors
    /// A hint, if there is none.
    pub fn named_of_findings(name: &str) -> Result<Exporter, String> {
        Exporter::named(name)?.for_findings()
    }

    /// Returns the format, if results of several runs can be written in it.
    ///
    /// # Errors
    /// The formats in which they can.
    pub fn for_findings(self) -> Result<Exporter, String> {
        let is_possible = |known: &Exporter| !matches!(known.of_findings, OfFindings::Nothing);
        if is_possible(&self) {
            return Ok(self);
        }
        let those = EXPORTERS.iter().filter(|known| is_possible(known));
        let those: Vec<&str> = those.map(|known| known.name).collect();
        let name = self.name;
        Err(format!("{name} is for single runs; those of several runs are {}", those.join(", ")))
    }

    /// Checks that this result of several runs can be written in the format.
    ///
    /// # Errors
    /// The part that it lacks.
    pub fn check(&self, findings: &Findings<'_>) -> Result<(), String> {
        let name = self.name;
        match self.for_findings()?.of_findings {
            OfFindings::Verdicts(_) if !findings.has_verdict() => Err(format!(
                "{name}: the result has no verdict to write; weir ab and weir compare have one"
            )),
            OfFindings::Repetitions(_) if !findings.is_repetition() => {
                Err(format!("{name} is for single runs and for weir repeat"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the result of several runs in this format.
    ///
    /// # Errors
    /// Errors of `out`, or those of [`Exporter::check`].
    pub fn write_findings(
        &self,
        findings: &Findings<'_>,
        options: &TextOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.check(findings).map_err(io::Error::other)?;
        match self.of_findings {
            OfFindings::All(write)
            | OfFindings::Verdicts(write)
            | OfFindings::Repetitions(write) => write(findings, options, out),
            OfFindings::Nothing => Ok(()),
        }
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
        assert_eq!(hint("xml"), "did you mean junit (the results of assertions, as JUnit XML)?");
        let all = "the formats are text, json, junit, ";
        assert!(hint("pdf").starts_with(all), "{}", hint("pdf"));
    }
}
