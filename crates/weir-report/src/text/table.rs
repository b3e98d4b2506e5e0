//! Tables: of times in columns, of bars, and of sentences that wrap.

use crate::view::{CellValue, Row, Table, TableKind, Tone};

use super::lines::span;
use super::page::{Span, TextPage};
use super::{Bars, bar};

/// Columns of a label, and the least width of a column of numbers.
const LABEL_WIDTH: usize = 10;
const COLUMN_WIDTH: usize = 12;

/// Least width that a column of names keeps beside wide columns of numbers.
const NAME_WIDTH: usize = 12;

/// Columns of a share beside a bar, and greatest length of a bar.
const SHARE_WIDTH: usize = 6;
const BAR_MAX: usize = 60;

/// Columns of a rule's outcome, of its id and of its figure, each with a gap.
const RULE_WIDTH: usize = 9;
const ID_WIDTH: usize = 18;
const FIGURE_WIDTH: usize = 10;

/// Columns of an assertion's outcome, with a gap after it.
const OUTCOME_WIDTH: usize = 6;

/// Greatest column at which the measured value begins, so that it keeps half of the page.
const MEASURED_MAX: usize = 40;

/// Writes a table and its legend.
pub(super) fn write(table: &Table, bars: Bars, page: &mut TextPage) {
    match table.kind {
        TableKind::Latency | TableKind::Spectrum => {
            times(table, &Vec::from_iter(0..table.columns.len()), true, page);
        }
        TableKind::Metrics | TableKind::Names => {
            for (number, columns) in groups(table, page.width()).iter().enumerate() {
                times(table, columns, number == 0, page);
            }
        }
        TableKind::Histogram => histogram(table, bars, page),
        TableKind::Rules => rules(table, page),
        TableKind::Assertions => assertions(table, page),
    }
    for note in &table.legend {
        page.paragraph(Span::plain(""), 2, &Span::new(note, Tone::Aside));
    }
}

/// Writes the heading on a line of its own, with its caption.
fn heading(table: &Table, page: &mut TextPage) {
    let title = Span::new(format!("  {}", table.title), Tone::Main);
    page.line([title, Span::new(format!("   {}", table.caption), Tone::Aside)]);
}

/// A cell in its own tone.
fn of_cell(cell: &CellValue) -> Span {
    Span::new(cell.text(), cell.tone())
}

/// Writes these columns of a table. Those at the right are dropped if the page is too narrow.
fn times(table: &Table, columns: &[usize], has_caption: bool, page: &mut TextPage) {
    let mut label = Span::new(format!("  {}", table.title), Tone::Main);
    if has_caption && !table.caption.is_empty() {
        heading(table, page);
        label = Span::plain("");
    }
    let mut widths: Vec<usize> = columns.iter().map(|index| column_width(table, *index)).collect();
    let labels: Vec<Span> = table.rows.iter().map(|row| Span::plain(&row.label)).collect();
    let label_width = label_width(table, label.width(), widths.iter().sum(), page.width());
    while widths.len() > 1 && label_width + widths.iter().sum::<usize>() > page.width() {
        widths.pop();
    }
    let used = label_width + widths.iter().sum::<usize>();
    let titles = columns.iter().map(|index| Span::new(table.columns[*index].clone(), Tone::Main));
    let blanks = " ".repeat(label_width.saturating_sub(label.width()));
    page.line([label, Span::plain(blanks)].into_iter().chain(aligned(titles, &widths)));
    for ((row, label), remark) in table.rows.iter().zip(labels).zip(remarks(table)) {
        let mut label = label;
        if label.width() + 2 > label_width {
            // A name too long for its column has a line of its own.
            page.line([Span::plain("  "), std::mem::replace(&mut label, Span::plain(""))]);
        }
        let blanks = " ".repeat((label_width - 2).saturating_sub(label.width()));
        let mut line = vec![Span::plain("  "), label, Span::plain(blanks)];
        let cells = columns.iter().filter_map(|index| row.cells.get(*index)).map(of_cell);
        line.extend(aligned(cells, &widths));
        // A remark repeats what stands above, so it is left out rather than cut.
        line.extend(remark.filter(|of| row.cells.is_empty() || used + of.width() <= page.width()));
        page.line(line);
    }
}

/// Splits the columns of a table into groups that are narrow enough for the page; each is written
/// with the labels.
fn groups(table: &Table, width: usize) -> Vec<Vec<usize>> {
    let widths = (0..table.columns.len()).map(|index| column_width(table, index)).sum();
    let labels = label_width(table, table.title.len() + 2, widths, width);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut used = width;
    for index in 0..table.columns.len() {
        let wide = column_width(table, index);
        match groups.last_mut().filter(|_| used + wide <= width) {
            Some(group) => {
                group.push(index);
                used += wide;
            }
            None => {
                groups.push(vec![index]);
                used = labels + wide;
            }
        }
    }
    groups
}

/// Width of the column of labels with its title, beside columns of `widths` in all. Names leave
/// room for the numbers.
fn label_width(table: &Table, title: usize, widths: usize, page: usize) -> usize {
    let labels = table.rows.iter().map(|row| Span::plain(&row.label).width());
    let widest = labels.chain([title]).max().map_or(0, |width| width + 2).max(LABEL_WIDTH);
    match table.kind {
        TableKind::Names => widest.min(page.saturating_sub(widths).max(NAME_WIDTH)),
        _ => widest,
    }
}

/// Width of a column with its title and its cells, and the gap before it.
fn column_width(table: &Table, index: usize) -> usize {
    let cells = table.rows.iter().filter_map(|row| row.cells.get(index));
    let widest = cells.map(|cell| of_cell(cell).width()).max().unwrap_or(0);
    let width = widest.max(table.columns[index].chars().count()) + 2;
    if table.kind == TableKind::Names { width } else { width.max(COLUMN_WIDTH) }
}

/// Remarks after the cells; their counts are aligned at the right.
fn remarks(table: &Table) -> Vec<Option<Span>> {
    let count = |row: &Row| {
        let text = &row.remark.as_ref().filter(|_| !row.cells.is_empty())?.text;
        text.find(|c: char| !c.is_ascii_digit() && c != ',').filter(|digits| *digits > 0)
    };
    let widest = table.rows.iter().filter_map(count).max().unwrap_or(0);
    let remark = |row: &Row| {
        let blanks = count(row).map_or(0, |width| widest - width);
        let text = span(row.remark.as_ref()?);
        Some(Span::new(format!("   {:blanks$}{}", "", text.text()), Tone::Aside))
    };
    table.rows.iter().map(remark).collect()
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

/// Writes a bar for each row.
fn histogram(table: &Table, bars: Bars, page: &mut TextPage) {
    heading(table, page);
    let labels: Vec<String> = table.rows.iter().map(|row| row.label.clone()).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let room = page.width().saturating_sub(2 + label_width + 2 + SHARE_WIDTH + 2).min(BAR_MAX);
    for (row, label) in table.rows.iter().zip(labels) {
        let mut line = vec![Span::plain(format!("  {label:>label_width$}  "))];
        line.extend(row.cells.iter().map(|cell| match cell {
            CellValue::Bar(part) => Span::plain(bar(*part, room, bars)),
            cell => {
                let text = format!("{:>SHARE_WIDTH$}  ", cell.text());
                Span::new(text, cell.tone())
            }
        }));
        page.line(line);
    }
}

/// Writes the rules, with their sentences wrapped.
fn rules(table: &Table, page: &mut TextPage) {
    page.line([Span::new(format!("  {}", table.title), Tone::Main)]);
    for row in &table.rows {
        let outcome = row.label.clone();
        let [id, figure, text] = texts(row);
        let label = format!("  {outcome:<RULE_WIDTH$}{id:<ID_WIDTH$}{figure:>FIGURE_WIDTH$}  ");
        let indent = label.chars().count();
        page.paragraph(Span::new(label, row.tone), indent, &Span::new(text, row.tone));
    }
}

/// Writes the assertions, with their measured values in one column.
fn assertions(table: &Table, page: &mut TextPage) {
    let claims = table.rows.iter().filter_map(|row| row.cells.first());
    let longest = claims.map(|claim| claim.text().chars().count()).max().unwrap_or(0);
    let indent = (2 + OUTCOME_WIDTH + longest + 3).min(MEASURED_MAX);
    for row in &table.rows {
        let outcome = row.label.clone();
        let [claim, measured] = texts(row);
        let label = format!("  {outcome:<OUTCOME_WIDTH$}{claim}");
        let measured = Span::new(measured, row.tone);
        // A label too long for its column has a line of its own.
        if label.chars().count() + 2 > indent {
            page.line([Span::new(label, row.tone)]);
            page.paragraph(Span::plain(""), indent, &measured);
        } else {
            page.paragraph(Span::new(label, row.tone), indent, &measured);
        }
    }
}

/// Texts of the first cells of a row; empty if there are fewer.
fn texts<const N: usize>(row: &Row) -> [String; N] {
    std::array::from_fn(|index| {
        row.cells.get(index).map(CellValue::text).unwrap_or_default().to_owned()
    })
}
