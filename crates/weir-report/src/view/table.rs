//! A table: labelled rows of cells.

use super::{CellValue, Fact, Tone};

/// A table: a label for each row, and cells in columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// Content of the table, from which a renderer may derive the layout.
    pub kind: TableKind,
    /// Heading; empty if the section's heading says it.
    pub title: &'static str,
    /// Addition to the heading; may be empty.
    pub caption: String,
    /// Titles of the columns, without the title of the labels; the last ones matter least.
    pub columns: Vec<String>,
    /// Rows in order.
    pub rows: Vec<Row>,
    /// Explanations of the marks in the cells.
    pub legend: Vec<String>,
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
    /// Counts and times of the requests with each name.
    Names,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Label.
    pub label: String,
    /// One cell for each column; none if there is only a remark.
    pub cells: Vec<CellValue>,
    /// Remark after the cells.
    pub remark: Option<Fact>,
    /// Tone of the whole row.
    pub tone: Tone,
}

impl TableKind {
    /// True if the cells are numbers, which are aligned at the right.
    pub(crate) fn has_numbers(self) -> bool {
        matches!(
            self,
            TableKind::Latency | TableKind::Spectrum | TableKind::Metrics | TableKind::Names
        )
    }
}

impl Table {
    /// A table without a caption and a legend.
    pub fn new(
        kind: TableKind,
        title: &'static str,
        columns: impl IntoIterator<Item: Into<String>>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Table {
        let columns = columns.into_iter().map(Into::into).collect();
        let rows = rows.into_iter().collect();
        Table { kind, title, caption: String::new(), columns, rows, legend: Vec::new() }
    }
}

impl Row {
    /// A row without a remark.
    pub fn new(label: impl Into<String>, cells: impl IntoIterator<Item: Into<CellValue>>) -> Row {
        let cells = cells.into_iter().map(Into::into).collect();
        Row { label: label.into(), cells, remark: None, tone: Tone::Plain }
    }
}
