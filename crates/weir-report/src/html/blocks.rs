//! Pieces of the view as HTML.

use std::fmt::Write as _;

use weir_text::{excerpt, printable};

use crate::view::{
    Block, CellValue, Entry, Fact, Form, Line, Plot, Report, Row, Section, Table, TableKind, Tone,
};

/// The body of a page, as far as it is written.
#[derive(Default)]
pub(super) struct HtmlPage {
    text: String,
    tables: usize,
}

impl HtmlPage {
    pub(super) fn text(self) -> String {
        self.text
    }

    /// Writes the head of the page, and begins its main part.
    pub(super) fn head(&mut self, report: &Report) {
        let mut about = report.about.iter().map(|fact| escaped(&fact.text));
        let target = about.next().unwrap_or_default();
        let rest: Vec<String> = about.chain([escaped(&report.title)]).collect();
        self.text += &format!("<header>\n<h1>{target}</h1>\n<p>{}</p>\n", rest.join(" · "));
        if !report.highlights.is_empty() {
            self.text += "<dl class=\"highlights\">\n";
            for entry in &report.highlights {
                let lines: String = entry.lines.iter().map(line).collect();
                let label = escaped(&entry.label);
                self.text += &format!("<div><dt>{label}</dt><dd>{lines}</dd></div>\n");
            }
            self.text += "</dl>\n";
        }
        self.text += "</header>\n<main>\n";
    }

    pub(super) fn section(&mut self, section: &Section) {
        let title = escaped(section.title);
        let id = title.to_lowercase().replace(' ', "-");
        self.text += &format!("<section id=\"{id}\">\n<h2>{title}</h2>\n");
        // Entries that follow each other are one list.
        for blocks in section.blocks.chunk_by(|one, next| is_entry(one) && is_entry(next)) {
            match &blocks[0] {
                Block::Entry(_) => self.entries(blocks),
                Block::Folded(of) => self.folded(of),
                Block::Line(of) => self.text += &format!("<p>{}</p>\n", line(of)),
                Block::Table(of) => self.table(of, section.title),
                Block::Plot(of) => self.plot(of),
                Block::Note(of) => self.text += &note(of),
            }
        }
        self.text += "</section>\n";
    }

    fn entries(&mut self, blocks: &[Block]) {
        self.text += "<dl>\n";
        for block in blocks {
            let Block::Entry(Entry { label, lines }) = block else { continue };
            let label = escaped(label);
            self.text += &format!("<dt>{label}</dt>\n");
            for of in lines {
                let class = if of.form == Form::Item { " class=\"item\"" } else { "" };
                self.text += &format!("<dd{class}>{}</dd>\n", line(of));
            }
        }
        self.text += "</dl>\n";
    }

    /// Writes lines that are closed until they are opened.
    fn folded(&mut self, entry: &Entry) {
        self.text += &format!("<details>\n<summary>{}</summary>\n<ul>\n", escaped(&entry.label));
        self.text.extend(entry.lines.iter().map(|of| format!("<li>{}</li>\n", line(of))));
        self.text += "</ul>\n</details>\n";
    }

    /// Writes a table. The table of the rules is long, and closed until it is opened.
    fn table(&mut self, table: &Table, section: &str) {
        self.tables += 1;
        let title = Some(table.title).filter(|title| *title != section).unwrap_or_default();
        let heading = match title {
            "" => escaped(&table.caption),
            title => format!("<b>{}</b> {}", escaped(title), escaped(&table.caption)),
        };
        let is_closed = table.kind == TableKind::Rules;
        if is_closed {
            let rows = table.rows.len();
            let _ = writeln!(self.text, "<details>\n<summary>All {rows} rules</summary>");
        }
        let numbers = match table.kind {
            TableKind::Names => " class=\"numbers names\"",
            kind if kind.has_numbers() => " class=\"numbers\"",
            _ => "",
        };
        self.text += &format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table {}\">\n\
             <table{numbers}>\n",
            self.tables
        );
        if !heading.is_empty() {
            self.text += &format!("<caption><span>{heading}</span></caption>\n");
        }
        let has_remarks = table.rows.iter().any(|row| row.remark.is_some());
        if table.columns.iter().any(|title| !title.is_empty()) {
            let titles = table
                .columns
                .iter()
                .map(|title| format!("<th scope=\"col\">{}</th>", escaped(title)));
            let remark = if has_remarks { "<td></td>" } else { "" };
            self.text += &format!(
                "<thead><tr><td></td>{}{remark}</tr></thead>\n",
                titles.collect::<String>()
            );
        }
        self.text += "<tbody>\n";
        let columns = table.columns.len();
        self.text.extend(table.rows.iter().map(|of| row(of, columns, has_remarks)));
        self.text += "</tbody>\n</table>\n</div>\n";
        self.text.extend(table.legend.iter().map(|text| note(text)));
        if is_closed {
            self.text += "</details>\n";
        }
    }

    /// Writes the data of a plot, which the script of the page draws.
    fn plot(&mut self, plot: &Plot) {
        let name = escaped(&plot.name);
        let title = escaped(&plot.title);
        let about = escaped(&plot.about);
        let json = serde_json::to_string(plot).expect("a plot is JSON");
        self.text += &format!(
            "<figure class=\"plot\" id=\"{name}\">\n<figcaption><h3>{title}</h3>\n<p>{about}</p>\
             </figcaption>\n<noscript><p>Plots need JavaScript.</p></noscript>\n\
             <script type=\"application/json\">{}</script>\n</figure>\n",
            escaped_json(&json)
        );
    }
}

fn is_entry(block: &Block) -> bool {
    matches!(block, Block::Entry(_))
}

fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

/// Formats a row with all its cells; the remark has the last column.
fn row(row: &Row, columns: usize, has_remark: bool) -> String {
    let class = class(row.tone);
    let label = escaped(&row.label);
    let mut text = format!("<tr{class}><th scope=\"row\">{label}</th>");
    for index in 0..columns {
        text += &row.cells.get(index).map_or_else(|| "<td></td>".to_owned(), cell);
    }
    if has_remark {
        let remark = row.remark.as_ref().map(fact).unwrap_or_default();
        text += &format!("<td class=\"remark\">{remark}</td>");
    }
    text + "</tr>\n"
}

fn cell(cell: &CellValue) -> String {
    match cell {
        CellValue::Bar(part) => {
            let percent = 100.0 * part;
            format!("<td class=\"bar\"><div style=\"width:{percent:.1}%\"></div></td>")
        }
        cell => format!("<td{}>{}</td>", class(cell.tone()), escaped(cell.text())),
    }
}

fn line(line: &Line) -> String {
    let facts: Vec<String> = line.facts.iter().map(fact).collect();
    match (line.form, facts.split_first()) {
        (Form::Sum, Some((total, terms))) => format!("{total} = {}", terms.join(" + ")),
        (Form::Facts, _) => facts.join(" <span class=\"dot\">·</span> "),
        (Form::Command, _) => format!("<code>{}</code>", facts.join(" ")),
        _ => facts.join(" "),
    }
}

fn fact(fact: &Fact) -> String {
    let text = escaped(&fact.text);
    match class(fact.tone) {
        "" => text,
        class => format!("<span{class}>{text}</span>"),
    }
}

/// The class of a tone, as an attribute.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Main => " class=\"main\"",
        Tone::Good => " class=\"good\"",
        Tone::Caution => " class=\"caution\"",
        Tone::Bad => " class=\"bad\"",
        Tone::Aside => " class=\"aside\"",
    }
}

/// Escapes text for an element or for an attribute in double quotes (HTML Living Standard, 13.3).
/// Control characters and marks of direction become `?`, and a long text is cut.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(&excerpt(text)).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes JSON for a script element, which ends at `</script` and has states that begin with
/// `<!--` and `<script` (HTML Living Standard, 4.12.1.3).
fn escaped_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let hostile = "<script>\"'&\u{1b}[31m\u{202e}\0";
        assert_eq!(escaped(hostile), "&lt;script&gt;&quot;&#39;&amp;?[31m??");
        assert_eq!(escaped_json("{\"a\":\"</script><!--\"}"), r#"{"a":"\u003c/script>\u003c!--"}"#);
    }
}
