//! A table of durations: columns with a title each, in one unit per column.

use weir_result::quantile::{Bound, Quantile};
use weir_result::units::DurationColumn;

use super::page::{Page, Span, Style};

/// Columns of a label, and the least width of a column of numbers.
const LABEL_WIDTH: usize = 10;
const COLUMN_WIDTH: usize = 12;

/// A table: labels at the left, and a column for each kind of time.
pub(super) struct Table {
    pub(super) label: Span,
    /// Columns of numbers; those at the right are dropped if the page is too narrow.
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// The head of a column.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) unit: DurationColumn,
}

/// One line: a value for each column, and a remark after them. A row without values has its remark
/// in their place.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) values: Vec<Option<Cell>>,
    pub(super) remark: String,
}

/// The content of a column of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    /// A time or a bound of it, with `~` if it is imprecise.
    Time { value: Quantile, imprecise: bool },
    /// A lower bound of a time, in nanoseconds.
    OrMore(u64),
    /// The ends of an interval, in the unit of its column.
    Interval { low_ns: u64, high_ns: Option<u64> },
}

impl Cell {
    pub(super) fn time(value: Quantile) -> Cell {
        Cell::Time { value, imprecise: false }
    }

    fn print(self, unit: &DurationColumn) -> Span {
        match self {
            Cell::Time { value: Quantile { ns, bound }, imprecise } => {
                let (text, style) = match bound {
                    Bound::Exact => (unit.value(ns), Style::Plain),
                    Bound::Lower => (unit.at_least(ns), Style::Red),
                    Bound::Upper => (unit.at_most(ns), Style::Yellow),
                    Bound::Unknown => return Span::new("unknown", Style::Yellow),
                };
                let mark = if imprecise { "~ " } else { "" };
                Span::new(format!("{mark}{text}"), style)
            }
            Cell::OrMore(ns) => Span::plain(unit.or_more(ns)),
            Cell::Interval { low_ns, high_ns } => {
                Span::new(unit.interval(low_ns, high_ns), Style::Dim)
            }
        }
    }
}

impl Table {
    pub(super) fn write(mut self, page: &mut Page) {
        let cells: Vec<Vec<Span>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                let widest = cells.iter().filter_map(|row| row.get(index)).map(Span::width).max();
                let title = self.columns[index].title.chars().count();
                (widest.unwrap_or(0).max(title) + 2).max(COLUMN_WIDTH)
            })
            .collect();
        let labels = self.rows.iter().map(|row| row.label.chars().count() + 2);
        let label_width = labels.chain([self.label.width() + 2]).max().unwrap_or(0);
        let label_width = label_width.max(LABEL_WIDTH);
        while widths.len() > 1 && label_width + widths.iter().sum::<usize>() > page.width() {
            widths.pop();
            self.columns.pop();
        }
        let used = label_width + widths.iter().sum::<usize>();
        let titles = self.columns.iter().map(|column| Span::new(column.title, Style::Bold));
        let blanks = " ".repeat(label_width.saturating_sub(self.label.width()));
        let head = [self.label, Span::plain(blanks)];
        page.line(head.into_iter().chain(aligned(titles, &widths)));
        for (row, cells) in self.rows.iter().zip(cells) {
            let mut line = vec![Span::plain(format!("  {:<1$}", row.label, label_width - 2))];
            let is_alone = cells.is_empty();
            line.extend(aligned(cells, &widths));
            let remark = Span::new(format!("   {}", row.remark), Style::Dim);
            // A remark repeats what stands above, so it is left out rather than cut.
            if is_alone || !row.remark.is_empty() && used + remark.width() <= page.width() {
                line.push(remark);
            }
            page.line(line);
        }
    }

    fn cells(&self, row: &Row) -> Vec<Span> {
        let pairs = self.columns.iter().zip(&row.values);
        let print = |(column, cell): (&Column, &Option<Cell>)| match cell {
            None => Span::plain(""),
            Some(cell) => cell.print(&column.unit),
        };
        pairs.map(print).collect()
    }
}

/// Right-aligns cells in their columns.
fn aligned(cells: impl IntoIterator<Item = Span>, widths: &[usize]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (cell, width) in cells.into_iter().zip(widths) {
        spans.push(Span::plain(" ".repeat(width.saturating_sub(cell.width()))));
        spans.push(cell);
    }
    spans
}
