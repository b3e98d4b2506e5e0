//! The report as GitHub Flavored Markdown, rendered from the [view](crate::view): for the summary
//! of a CI job, a pull request, an issue.
//!
//! Text from outside (a URL, the name of a server) is never markup: it makes no link, no emphasis,
//! no cell and no tag.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::iter;

use weir_result::Document;
use weir_text::{excerpt, printable};

use crate::text::TextOptions;
use crate::text::{Bars, bar};
use crate::view::{Block, CellValue, Entry, Fact, Form, Line, Report, Row, Section, Table, Tone};

/// Columns of the longest bar of a histogram.
const BAR_COLUMNS: usize = 20;

/// Writes the report of a document. Width and colour of the options do not matter.
///
/// # Errors
/// Errors of `out`, or the fault of a histogram, in a document that was neither loaded nor
/// assembled.
pub fn write(document: &Document, options: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    write_report(&Report::of(document, &options.detail()), out)
}

/// Writes a report that is built already, such as a study's.
///
/// # Errors
/// Errors of `out`.
pub fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let title = iter::once(escaped(&report.title));
    let about = report.about.iter().map(|fact| escaped(&fact.text));
    writeln!(out, "### {}", title.chain(about).collect::<Vec<_>>().join(" · "))?;
    report.sections_of_page().into_iter().try_for_each(|section| write_section(section, out))
}

fn write_section(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n#### {}", section.title)?;
    let mut is_in_list = false;
    let blocks = section.blocks.iter().filter(|block| !matches!(block, Block::Plot(_)));
    for block in blocks {
        let is_item = matches!(block, Block::Entry(_) | Block::Folded(_));
        if !(is_item && is_in_list) {
            writeln!(out)?;
        }
        is_in_list = is_item;
        let text = match block {
            Block::Line(of) => line(of) + "\n",
            Block::Entry(of) | Block::Folded(of) => entry(of),
            Block::Table(of) => table(of, section.title),
            Block::Plot(_) => String::new(),
            Block::Note(of) => format!("> note: {}\n", escaped(of)),
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Formats an entry as an item of a list. Its first line is beside the label, others are below.
fn entry(entry: &Entry) -> String {
    let mut text = format!("* {}", strong(&escaped(&entry.label)));
    for (index, of) in entry.lines.iter().enumerate() {
        let is_beside = index == 0 && of.form != Form::Item;
        text += if is_beside { " " } else { "\n  * " };
        text += &line(of);
    }
    text + "\n"
}

fn line(line: &Line) -> String {
    let facts: Vec<String> = line.facts.iter().map(fact).collect();
    match (line.form, facts.split_first()) {
        (Form::Sum, Some((total, terms))) => format!("{total} = {}", terms.join(" + ")),
        (Form::Facts, _) => facts.join(" · "),
        _ => facts.join(" "),
    }
}

fn fact(fact: &Fact) -> String {
    toned(&fact.text, fact.tone)
}

/// Formats a table, with its heading unless it equals the section's.
fn table(table: &Table, section: &str) -> String {
    let title = Some(table.title).filter(|title| *title != section).unwrap_or_default();
    let mut text = String::new();
    let mut label = escaped(title);
    if !table.caption.is_empty() {
        let heading = [strong(&label), escaped(&table.caption)];
        text = format!("{}\n\n", heading.join(" ").trim());
        label = String::new();
    }
    let has_remarks = table.rows.iter().any(|row| row.remark.is_some());
    let remark = has_remarks.then(String::new);
    let titles = table.columns.iter().map(|title| escaped(title)).chain(remark);
    text += &cells(iter::once(label).chain(titles));
    let align = if table.kind.has_numbers() { "---:" } else { "---" };
    let align = table.columns.iter().map(|_| align).chain(has_remarks.then_some("---"));
    text += &cells(iter::once("---").chain(align).map(str::to_owned));
    text.extend(table.rows.iter().map(|of| row(of, table.columns.len(), has_remarks)));
    text.extend(table.legend.iter().map(|note| format!("\n> {}\n", escaped(note))));
    text
}

/// Formats a row with all its cells; the remark has the last column.
fn row(row: &Row, columns: usize, has_remark: bool) -> String {
    let label = toned(&row.label, row.tone);
    let values = row.cells.iter().map(cell).chain(iter::repeat_with(String::new)).take(columns);
    let remark = has_remark.then(|| row.remark.as_ref().map(fact).unwrap_or_default());
    cells(iter::once(label).chain(values).chain(remark))
}

fn cell(cell: &CellValue) -> String {
    match cell {
        CellValue::Bar(part) => bar(*part, BAR_COLUMNS, Bars::Blocks),
        cell => toned(cell.text(), cell.tone()),
    }
}

/// Joins escaped cells to a line of a table.
fn cells(cells: impl Iterator<Item = String>) -> String {
    let mut text = String::from("|");
    for cell in cells {
        text += &if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") };
    }
    text + "\n"
}

/// Escapes text, and makes it bold if it should strike a reader.
fn toned(text: &str, tone: Tone) -> String {
    let text = escaped(text);
    match tone {
        Tone::Main | Tone::Bad => strong(&text),
        Tone::Plain | Tone::Good | Tone::Caution | Tone::Aside => text,
    }
}

/// Makes escaped text bold.
fn strong(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("**{text}**") }
}

/// Escapes text so that no part of it is markup. Character references are text wherever they stand
/// (CommonMark 0.31, 2.5), in the cells of tables too, where a backslash has a second meaning.
fn escaped(text: &str) -> String {
    let text = excerpt(text.trim());
    let text = printable(&text);
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let before = &text[..at];
        let after = &text[at + c.len_utf8()..];
        let is_markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '&' | '#' | '~' | '$' | '@' => true,
            '_' => {
                !(before.ends_with(char::is_alphanumeric)
                    && after.starts_with(char::is_alphanumeric))
            }
            // Renderers make links of what looks like a URL.
            ':' => after.starts_with("//"),
            '.' => before.ends_with("www"),
            _ => false,
        };
        if is_markup {
            write!(escaped, "&#{};", u32::from(c)).expect("a string takes all that is written");
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_renderer_would_obey_is_escaped() {
        for (text, expected) in [
            ("p99 < 5ms | p50", "p99 &#60; 5ms &#124; p50"),
            ("a\\|b", "a&#92;&#124;b"),
            ("`rm`", "&#96;rm&#96;"),
            ("<img src=x onerror=y>", "&#60;img src=x onerror=y&#62;"),
            ("![x](http://h/)", "!&#91;x&#93;(http&#58;//h/)"),
            ("&lt; &#60;", "&#38;lt; &#38;&#35;60;"),
            ("bad_response _x_ *y*", "bad_response &#95;x&#95; &#42;y&#42;"),
            (
                "www.h.de me@h ~~z~~ $k$ 12:30",
                "www&#46;h.de me&#64;h &#126;&#126;z&#126;&#126; \
              &#36;k&#36; 12:30",
            ),
            ("one\ntwo\r\u{1b}[1m\u{202e}", "one?two??&#91;1m?"),
            ("  µs ± 1%  ", "µs ± 1%"),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }
}
