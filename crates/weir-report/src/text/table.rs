//! Columns of durations under a title each, in one unit a column.

use weir_run::quantile::{Bound, Quantile};
use weir_run::units::DurationColumn;

use super::page::{Page, Span, Style};

/// Columns that a label takes, and a column of numbers at least.
const LABEL_WIDTH: usize = 10;
const COLUMN_WIDTH: usize = 12;

/// A table: labels down the side, a column each for some times.
pub(super) struct Table {
    pub(super) label: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// What a column holds.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) unit: DurationColumn,
}

/// One line: a value for each column, and what is to be said of the line.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) values: Vec<Option<Cell>>,
    pub(super) remark: String,
}

/// What stands in a column of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    /// A time, or a bound of it.
    Time(Quantile),
    /// A time that rests on few requests.
    Weak(u64),
    /// The ends of an interval, in the unit of its column.
    Interval { low_ns: u64, high_ns: Option<u64> },
}

impl Table {
    pub(super) fn write(&self, page: &mut Page) {
        let cells: Vec<Vec<Span>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                let widest = cells.iter().map(|row| row[index].width() + 2).max();
                let title = self.columns[index].title.chars().count() + 2;
                widest.unwrap_or(0).max(title).max(COLUMN_WIDTH)
            })
            .collect();
        let label_width = self.rows.iter().map(|row| row.label.chars().count() + 2).max();
        let label_width = label_width.unwrap_or(0).max(LABEL_WIDTH);
        let titles = self.columns.iter().map(|column| Span::new(column.title, Style::Bold));
        let label = Span::new(format!("  {:<1$}", self.label, label_width - 2), Style::Dim);
        page.line(std::iter::once(label).chain(aligned(titles, &widths)));
        for (row, cells) in self.rows.iter().zip(cells) {
            let label = Span::plain(format!("  {:<1$}", row.label, label_width - 2));
            let mut line = vec![label];
            line.extend(aligned(cells, &widths));
            let used = label_width + widths.iter().sum::<usize>();
            let remark = Span::new(format!("   {}", row.remark), Style::Dim);
            // A remark repeats what stands above: rather none than half of one.
            if !row.remark.is_empty() && used + remark.width() <= page.width() {
                line.push(remark);
            }
            page.line(line);
        }
    }

    fn cells(&self, row: &Row) -> Vec<Span> {
        let pairs = self.columns.iter().zip(&row.values);
        pairs
            .map(|(Column { unit, .. }, cell)| match *cell {
                None => Span::plain(""),
                Some(Cell::Time(Quantile { ns, bound: Bound::Exact })) => {
                    Span::plain(unit.value(ns))
                }
                Some(Cell::Time(Quantile { ns, bound: Bound::Lower })) => {
                    Span::new(unit.at_least(ns), Style::Red)
                }
                Some(Cell::Weak(ns)) => Span::plain(format!("~ {}", unit.value(ns))),
                Some(Cell::Interval { low_ns, high_ns }) => {
                    Span::new(unit.interval(low_ns, high_ns), Style::Dim)
                }
            })
            .collect()
    }
}

/// Cells at the right of their columns.
fn aligned(cells: impl IntoIterator<Item = Span>, widths: &[usize]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (cell, width) in cells.into_iter().zip(widths) {
        spans.push(Span::plain(" ".repeat(width.saturating_sub(cell.width()))));
        spans.push(cell);
    }
    spans
}
