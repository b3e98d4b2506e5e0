//! The report as a view: sections of labelled lines, tables with typed cells, plots, and notes.
//! Text, Markdown and HTML are renderers of it.
//!
//! The view is a function of a document. It has no widths, colours or markup; a renderer has no
//! documents.

mod assertions;
mod cell;
mod command;
mod connections;
mod course;
mod details;
mod fact;
mod head;
mod highlights;
mod histogram;
mod notice;
mod percentiles;
mod plot;
mod rules;
mod server;
mod spectrum;
pub(crate) mod study;
mod throughput;
mod tls;
mod usage;
mod verdict;

use weir_result::study::Comparison;
use weir_result::{Document, Study};

use plot::RunPlots;

pub use cell::Cell;
pub use fact::{Fact, Tone};
pub use notice::{Notice, Remedy};
pub use plot::{Axis, Mark, Plot, Role, Scale, Unit, short};

/// A report in the order of reading.
#[derive(Clone, Debug)]
pub struct Report {
    /// Program that wrote the document.
    pub title: String,
    /// Target of the run.
    pub about: Vec<Fact>,
    /// Figures to show first, where there is room; the sections have them too.
    pub highlights: Vec<Entry>,
    /// Sections; one without blocks has nothing to report.
    pub sections: Vec<Section>,
}

/// Parts of a report that only some readers want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// True for a compact histogram of the latencies.
    pub histogram: bool,
    /// True for rate and p99 over time, as sparklines.
    pub course: bool,
    /// True for the whole spectrum of latencies, not only a few percentiles.
    pub spectrum: bool,
    /// True for all findings, the machine, the workers, connect and first-byte times.
    pub verbose: bool,
    /// True for the grade and the findings.
    pub verdict: bool,
    /// True for every rule of the verdict with its figure.
    pub rules: bool,
    /// True for plots.
    pub plots: bool,
}

/// A part of a report with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Content in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A line without a label.
    Line(Line),
    /// Lines with a label.
    Entry(Entry),
    /// A table.
    Table(Table),
    /// A plot. Renderers of text leave it out.
    Plot(Plot),
    /// A note.
    Note(Notice),
}

/// Lines with a label.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Label: `Throughput`.
    pub label: String,
    /// One line or more.
    pub lines: Vec<Line>,
}

/// Facts of one line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Relation of the facts to each other.
    pub form: Form,
    /// Facts in order.
    pub facts: Vec<Fact>,
}

/// Relation of the facts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Facts side by side.
    Facts,
    /// The first fact is the sum of the others.
    Sum,
    /// One sentence.
    Sentence,
    /// One sentence, an item of a list.
    Item,
    /// One sentence about a list, after its items.
    Remark,
    /// A shell command, which stays one when it is broken into lines.
    Command,
}

/// A table: a label for each row, and cells in columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// Content of the table, from which a renderer may derive the layout.
    pub kind: TableKind,
    /// Heading; empty if the section's heading says it.
    pub title: &'static str,
    /// Addition to the heading; may be empty.
    pub caption: String,
    /// Titles of the columns, without that of the labels; the last ones matter least.
    pub columns: Vec<String>,
    /// Rows in order.
    pub rows: Vec<Row>,
    /// Explanations of the marks in the cells.
    pub legend: Vec<Notice>,
}

/// Content of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Percentiles, the greatest and the mean of each time.
    Latency,
    /// Percentiles down to the last request.
    Spectrum,
    /// Shares of the requests by time.
    Histogram,
    /// Rules of the verdict.
    Rules,
    /// Assertions and their outcomes.
    Assertions,
    /// Metrics of several runs.
    Metrics,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Label.
    pub label: Cell,
    /// One cell for each column; none if there is only a remark.
    pub cells: Vec<Cell>,
    /// Remark after the cells.
    pub remark: Option<Fact>,
    /// Tone of the whole row.
    pub tone: Tone,
}

impl Report {
    /// Builds the report of a document.
    pub fn of(document: &Document, detail: &Detail) -> Report {
        let mut sections = vec![
            Section { title: "Run", blocks: head::blocks(document) },
            Section { title: "Verdict", blocks: verdict::blocks(document, detail) },
        ];
        let plots = if detail.plots { RunPlots::of(document) } else { RunPlots::default() };
        let mut results = throughput::blocks(document);
        if detail.course {
            results.extend(course::blocks(document));
        }
        results.extend(percentiles::blocks(document, detail.verbose));
        results.extend(plots.results);
        sections.push(Section { title: "Results", blocks: results });
        if detail.histogram {
            sections.push(Section { title: "Histogram", blocks: histogram::blocks(document) });
        }
        if detail.spectrum {
            sections.push(Section { title: "Spectrum", blocks: spectrum::blocks(document) });
        }
        let mut details = details::blocks(document, detail);
        details.extend(plots.details);
        sections.push(Section { title: "Details", blocks: details });
        if detail.rules {
            sections.push(Section { title: "Rules", blocks: rules::blocks(&document.verdict) });
        }
        sections.push(Section { title: "Assertions", blocks: assertions::blocks(document) });
        Report {
            title: head::title(document),
            about: head::about(document),
            highlights: highlights::of(document),
            sections,
        }
    }
}

impl Report {
    /// Builds the report of a study.
    pub fn of_study(study: &Study) -> Report {
        study::report(study)
    }

    /// Builds the report of a comparison that is no study; `runs` are a run of each side, if known.
    pub fn of_comparison(comparison: &Comparison, runs: Option<[&Document; 2]>) -> Report {
        study::comparison_report(comparison, runs)
    }

    /// True if an assertion failed.
    pub fn has_failed(&self) -> bool {
        self.sections.iter().any(Section::has_failed)
    }

    /// Returns the sections in the order of a page, which is read from its top: failed assertions
    /// come first.
    pub fn sections_of_page(&self) -> Vec<&Section> {
        let (failed, others): (Vec<&Section>, Vec<&Section>) =
            self.sections.iter().partition(|section| section.has_failed());
        failed.into_iter().chain(others).collect()
    }
}

impl Section {
    /// True if it has a failed assertion.
    fn has_failed(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Table(table) if table.kind == TableKind::Assertions => {
                table.rows.iter().any(|row| row.tone == Tone::Bad)
            }
            _ => false,
        })
    }
}

impl Block {
    /// A label with one line of facts.
    fn facts(label: &str, facts: Vec<Fact>) -> Block {
        Block::entry(label, vec![Line::facts(facts)])
    }

    /// A label with one sentence.
    fn sentence(label: &str, sentence: Fact) -> Block {
        Block::entry(label, vec![Line::sentence(sentence)])
    }

    fn entry(label: &str, lines: Vec<Line>) -> Block {
        Block::Entry(Entry { label: label.to_owned(), lines })
    }
}

/// Titles of columns.
fn titles<const N: usize>(titles: [&str; N]) -> Vec<String> {
    titles.map(str::to_owned).into()
}

impl Line {
    fn facts(facts: Vec<Fact>) -> Line {
        Line { form: Form::Facts, facts }
    }

    fn sentence(sentence: Fact) -> Line {
        Line { form: Form::Sentence, facts: vec![sentence] }
    }

    fn item(sentence: Fact) -> Line {
        Line { form: Form::Item, facts: vec![sentence] }
    }
}
