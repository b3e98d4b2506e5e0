//! The formats of a document, in one list. Choices, help and errors are taken from it; a format is
//! a module of this crate and an entry here.

use std::io::{self, Write};

use weir_result::Document;

use OfFindings::{All, Nothing, Verdicts};
use WriteRun::{Means, Optional, Plain};

use crate::findings::Findings;
use crate::text::TextOptions;
use crate::trackers::Runs;
use crate::{
    csv, fortio, hgrm, hlog, html, json, jsonl, junit, k6, markdown, prometheus, text, trackers,
    vegeta,
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
    write: WriteRun,
    /// Writes the result of several runs, if it has what the format holds.
    of_findings: OfFindings,
}

/// Writes the result of a run in a format.
#[derive(Clone, Copy, Debug)]
enum WriteRun {
    /// The format is a function of the document alone.
    Plain(fn(&Document, &mut dyn Write) -> io::Result<()>),
    /// The format has options.
    Optional(fn(&Document, &TextOptions, &mut dyn Write) -> io::Result<()>),
    /// The format holds a run, or the means of equal ones.
    Means(fn(&Runs<'_>, &mut dyn Write) -> io::Result<()>),
}

/// Results of several runs that a format can hold, beside means.
#[derive(Clone, Copy, Debug)]
enum OfFindings {
    /// All.
    All(WriteFindings),
    /// Those with a verdict.
    Verdicts(WriteFindings),
    /// None.
    Nothing,
}

type WriteFindings = fn(&Findings<'_>, &TextOptions, &mut dyn Write) -> io::Result<()>;

/// All formats; the first is the default on standard output.
pub const EXPORTERS: [Exporter; 20] = [
    TEXT,
    JSON,
    JUNIT,
    format("markdown", "md", "the report, as GitHub Flavored Markdown", Optional(markdown::write))
        .of(All(|findings, _, out| markdown::write_report(&findings.report(), out))),
    format("html", "html", "the report with plots, as one page", Optional(html::write))
        .of(All(|findings, _, out| html::write_report(&findings.report(), out))),
    format("csv", "csv", "the time series, a row for each interval", Plain(csv::write_series))
        .of(All(|findings, _, out| csv::write_data(&findings.data(), out))),
    format("percentiles", "csv", PERCENTILES, Plain(csv::write_percentiles)),
    format("names", "csv", NAMES, Plain(csv::write_names)),
    format("stages", "csv", STAGES, Plain(csv::write_stages)),
    JSONL,
    format("hgrm", "hgrm", HGRM, Plain(hgrm::write)),
    format("hlog", "hlog", HLOG, Plain(hlog::write)),
    format("k6", "json", "the result as k6's handleSummary() data", Plain(k6::write)),
    format("k6-flat", "json", "the result as k6's --summary-export", Plain(k6::write_flat)),
    format("vegeta", "json", "the result as vegeta's JSON report", Plain(vegeta::write)),
    format("fortio", "json", "the result as Fortio's JSON", Plain(fortio::write)),
    format("bencher", "json", BENCHER, Means(trackers::write_bencher)),
    format("benchmark-smaller", "json", SMALLER, Means(trackers::write_smaller)),
    format("benchmark-bigger", "json", BIGGER, Means(trackers::write_bigger)),
    format("prometheus", "prom", "the result as metrics of Prometheus", Plain(prometheus::write)),
];

/// Descriptions of formats that are too long for their lines above.
const PERCENTILES: &str = "the percentiles with their intervals, as CSV";
const NAMES: &str = "the results by name of a list, as CSV";
const STAGES: &str = "the results by stage of the load, as CSV";
const HGRM: &str = "the latency distribution, as HdrHistogram's plotters read it";
const HLOG: &str = "the time series, as an interval log of HdrHistogram";
const BENCHER: &str = "the result in Bencher's Metric Format";
const SMALLER: &str = "times and errors, as customSmallerIsBetter of github-action-benchmark";
const BIGGER: &str = "rates, as customBiggerIsBetter of github-action-benchmark";

/// Help of the flag that chooses a format.
pub const HELP: &str = "Format of standard output: text, json, junit, markdown, html, csv, \
                        percentiles, names, stages, jsonl, hgrm, hlog, k6, k6-flat, vegeta, \
                        fortio, bencher, benchmark-smaller, benchmark-bigger or prometheus";

/// The report for people.
pub const TEXT: Exporter = format("text", "txt", "the report", Optional(text::write))
    .of(All(|findings, options, out| findings.write_text(options, out)));

/// The document itself.
pub const JSON: Exporter = format("json", "json", "the document", Plain(json::write))
    .of(All(|findings, _, out| findings.write_json(out)));

/// The results of the assertions, or the verdict of a comparison.
pub const JUNIT: Exporter = Exporter {
    needs_assertions: true,
    ..format("junit", "xml", "the results of assertions, as JUnit XML", Optional(junit::write))
        .of(Verdicts(junit::write_findings))
};

/// The time series as JSON Lines.
pub const JSONL: Exporter = format(
    "jsonl",
    "jsonl",
    "the time series, a JSON object for each interval",
    Plain(jsonl::write),
);

/// A format for single runs.
const fn format(
    name: &'static str,
    extension: &'static str,
    description: &'static str,
    write: WriteRun,
) -> Exporter {
    let needs_assertions = false;
    let of_findings = Nothing;
    Exporter { name, extension, description, needs_assertions, write, of_findings }
}

/// Names of formats that the extension of a file stands for. Of several formats with one
/// extension, the one that people mean.
const OF_EXTENSIONS: [&str; 10] =
    ["json", "html", "markdown", "csv", "junit", "hlog", "hgrm", "jsonl", "text", "prometheus"];

/// Other extensions of formats.
const OTHER_EXTENSIONS: [(&str, &str); 2] = [("htm", "html"), ("markdown", "md")];

/// Returns the extensions that stand for a format.
pub fn extensions() -> impl Iterator<Item = &'static str> {
    let named = |name: &&str| EXPORTERS.into_iter().find(|known| known.name == *name);
    OF_EXTENSIONS.iter().filter_map(named).map(|known| known.extension)
}

/// Returns the format that a file's extension stands for, if it stands for one.
pub fn of_extension(extension: &str) -> Option<Exporter> {
    let other = OTHER_EXTENSIONS.iter().find(|(other, _)| other.eq_ignore_ascii_case(extension));
    let extension = other.map_or(extension, |(_, own)| own);
    let mut meant = EXPORTERS.into_iter().filter(|known| OF_EXTENSIONS.contains(&known.name));
    meant.find(|known| known.extension.eq_ignore_ascii_case(extension))
}

/// Names of tools, and the formats that they read.
const ALIASES: [(&str, &str); 4] = [
    ("github-action-benchmark", "benchmark-smaller"),
    ("customSmallerIsBetter", "benchmark-smaller"),
    ("customBiggerIsBetter", "benchmark-bigger"),
    ("bmf", "bencher"),
];

impl Exporter {
    /// The same format, for these results of several runs too.
    const fn of(self, of_findings: OfFindings) -> Exporter {
        Exporter { of_findings, ..self }
    }

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
        let is_possible = |known: &Exporter| {
            matches!(known.write, Means(_)) || !matches!(known.of_findings, Nothing)
        };
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
        self.for_findings()?;
        match (self.write, self.of_findings) {
            (_, Verdicts(_)) if !findings.has_verdict() => Err(format!(
                "{name}: the result has no verdict to write; weir ab and weir compare have one"
            )),
            (Means(_), _) if !findings.is_repetition() => {
                Err(format!("{name} is for single runs and for weir repeat"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the result of several runs in this format.
    ///
    /// # Errors
    /// Errors of `out`, or of [`Exporter::check`].
    pub fn write_findings(
        &self,
        findings: &Findings<'_>,
        options: &TextOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.check(findings).map_err(io::Error::other)?;
        match (self.write, self.of_findings) {
            (Means(write), _) => write(&findings.repeated(), out),
            (_, All(write) | Verdicts(write)) => write(findings, options, out),
            (_, Nothing) => Ok(()),
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
        match self.write {
            Plain(write) => write(document, out),
            Optional(write) => write(document, options, out),
            Means(write) => write(&Runs::one(document), out),
        }
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
