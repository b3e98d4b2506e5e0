//! The list of saved runs, as text and as JSON.

use serde_json::{Value, json};
use weir_text::setting::SAVE;
use weir_verdict::NamedMetric;

use crate::entry::{HEADLINE, RunEntry};

/// Version of the JSON of lists.
const SCHEMA_VERSION: u32 = 1;

/// Runs to print, in the order of their lines.
#[derive(Clone, Debug)]
pub struct List {
    /// The runs.
    pub entries: Vec<RunEntry>,
    /// True if all have one name, which then is no column.
    pub has_one_name: bool,
}

impl List {
    /// Returns the list as text: a table, or a sentence if it is empty.
    pub fn to_text(&self, layout: Layout) -> String {
        if self.entries.is_empty() {
            return format!("no runs: weir {SAVE} NAME URL saves one\n");
        }
        let column = |cell: &dyn Fn(&RunEntry) -> String| self.entries.iter().map(cell).collect();
        let mut columns = vec![TableColumn::number("ID", column(&|entry| entry.id.to_string()))];
        if !self.has_one_name {
            columns.push(TableColumn::text("Name", column(&|entry| entry.name.clone())));
        }
        columns.push(TableColumn::text("Time (UTC)", column(&RunEntry::minute)));
        columns
            .push(TableColumn::text("Grade", column(&|entry| entry.grade.in_words().to_owned())));
        // A narrow page leaves out first what says least.
        let mut shares = self.entries.iter().filter_map(|entry| entry.figure("errors"));
        let errors = if shares.all(|share| share.value == 0.0) { 1 } else { 4 };
        for (metric, rank) in HEADLINE.into_iter().zip([0, 2, 0, errors]) {
            let cells = column(&|entry| {
                entry.figure(metric).map_or_else(|| "-".to_owned(), |figure| figure.print())
            });
            columns.push(TableColumn::number(&title(metric), cells).optional(rank));
        }
        columns.push(TableColumn::text("Tags", column(&|entry| entry.tags.join(" "))).optional(3));
        lines(columns, layout, 0).join("\n") + "\n"
    }

    /// Returns the list as JSON.
    pub fn to_json(&self) -> Value {
        json!({ "schema_version": SCHEMA_VERSION, "kind": "history_list", "runs": self.entries })
    }
}

/// Title of a metric's column. The unit stands in each cell.
pub(crate) fn title(metric: &str) -> String {
    let named = metric.parse::<NamedMetric>().ok().map(|metric| metric.title());
    named.filter(|_| metric != "rate").unwrap_or_else(|| {
        let mut letters = metric.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    })
}

/// The page that a list or a trend is printed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a line; `None` if lines may have any length.
    pub width: Option<u16>,
    /// True if block characters can be shown.
    pub has_blocks: bool,
}

/// Blanks between columns.
const GAP: usize = 2;

/// A column of a table.
pub(crate) struct TableColumn {
    title: String,
    cells: Vec<String>,
    is_right: bool,
    /// Rank in which columns are left out, from 1; 0 stays on every page.
    rank: u8,
}

impl TableColumn {
    /// Returns a column of text, aligned at the left.
    pub(crate) fn text(title: &str, cells: Vec<String>) -> TableColumn {
        TableColumn { title: title.to_owned(), cells, is_right: false, rank: 0 }
    }

    /// Returns a column of numbers, aligned at the right.
    pub(crate) fn number(title: &str, cells: Vec<String>) -> TableColumn {
        TableColumn { is_right: true, ..TableColumn::text(title, cells) }
    }

    /// Lets narrow pages leave the column out; those of lower rank go first.
    pub(crate) fn optional(self, rank: u8) -> TableColumn {
        TableColumn { rank, ..self }
    }

    fn width(&self) -> usize {
        let lengths = self.cells.iter().chain([&self.title]).map(|cell| cell.chars().count());
        lengths.max().unwrap_or(0)
    }

    fn line(&self, cell: &str) -> String {
        let width = self.width();
        if self.is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    }
}

/// Returns the lines of a table, titles first, without blanks at their ends. Columns without any
/// text are left out.
pub(crate) fn lines(mut columns: Vec<TableColumn>, layout: Layout, indent: usize) -> Vec<String> {
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    if columns.is_empty() {
        return Vec::new();
    }
    let limit = layout.width.map_or(usize::MAX, usize::from);
    let width = |columns: &[TableColumn]| {
        indent + columns.iter().map(|column| column.width() + GAP).sum::<usize>()
    };
    while width(&columns) - GAP > limit {
        let optional = columns.iter().enumerate().filter(|(_, column)| column.rank > 0);
        match optional.min_by_key(|(_, column)| column.rank) {
            Some((least, _)) => columns.remove(least),
            None => break,
        };
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |cell: &dyn Fn(&TableColumn) -> String| {
        let cells: Vec<String> = columns.iter().map(cell).collect();
        format!("{:indent$}{}", "", cells.join("  ")).trim_end().to_owned()
    };
    let titles = line(&|column| column.line(&column.title));
    let rows = (0..rows).map(|row| line(&|column| column.line(&column.cells[row])));
    std::iter::once(titles).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::MetricFigure;
    use crate::tests::entry;
    use weir_result::quantile::Bound;

    fn list() -> List {
        let mut second = entry(12, "nginx-default", "2026-11-23T22:12:14.123Z");
        second.tags = vec!["main".to_owned(), "v1.2".to_owned()];
        let mut first = entry(7, "api", "2026-11-20T08:01:00Z");
        first.figures = vec![
            MetricFigure { metric: "rate".to_owned(), value: 512.0, bound: Bound::Lower },
            MetricFigure { metric: "p99".to_owned(), value: 4.2e6, bound: Bound::Upper },
        ];
        List { entries: vec![second, first], has_one_name: false }
    }

    #[test]
    fn a_page_of_80_columns() {
        let expected = "\
ID  Name           Time (UTC)        Grade       Rate        p99  Tags
12  nginx-default  2026-11-23 22:12  clean   71,135/s    4.21 ms  main v1.2
 7  api            2026-11-20 08:01  clean  ≥ 512.0/s  ≤ 4.20 ms
";
        assert_eq!(list().to_text(Layout { width: Some(80), has_blocks: true }), expected);
    }

    #[test]
    fn a_page_without_end() {
        let expected = "\
ID  Time (UTC)        Grade       Rate     p50        p99  Errors  Tags
12  2026-11-23 22:12  clean   71,135/s  120 µs    4.21 ms      0%  main v1.2
 7  2026-11-20 08:01  clean  ≥ 512.0/s       -  ≤ 4.20 ms       -
";
        let list = List { has_one_name: true, ..list() };
        assert_eq!(list.to_text(Layout::default()), expected);
    }

    #[test]
    fn an_empty_list_says_how_to_begin() {
        let list = List { entries: Vec::new(), has_one_name: false };
        let text = list.to_text(Layout::default());
        assert_eq!(text, "no runs: weir `history.save` NAME URL saves one\n");
        let expected = json!({ "schema_version": 1, "kind": "history_list", "runs": [] });
        assert_eq!(list.to_json(), expected);
    }

    #[test]
    fn json_has_values_and_bounds() {
        let json = list().to_json();
        assert_eq!(json["runs"][0]["id"], 12);
        assert_eq!(json["runs"][0]["tags"], json!(["main", "v1.2"]));
        let expected = json!({ "metric": "p99", "value": 4.2e6, "bound": "upper" });
        assert_eq!(json["runs"][1]["figures"][1], expected);
    }

    fn cells(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    fn columns() -> Vec<TableColumn> {
        vec![
            TableColumn::number("ID", cells(&["9", "10"])),
            TableColumn::text("Name", cells(&["nginx", "a"])),
            TableColumn::number("p50", cells(&["1 µs", "20 µs"])).optional(1),
            TableColumn::text("Note", cells(&["", ""])),
            TableColumn::text("Tags", cells(&["", "v1"])).optional(2),
        ]
    }

    #[test]
    fn columns_are_aligned() {
        let expected = ["ID  Name     p50  Tags", " 9  nginx   1 µs", "10  a      20 µs  v1"];
        assert_eq!(lines(columns(), Layout::default(), 0), expected);
    }

    #[test]
    fn narrow_pages_leave_columns_out() {
        let of = |width| lines(columns(), Layout { width: Some(width), has_blocks: false }, 1);
        assert_eq!(of(23)[0], " ID  Name     p50  Tags");
        assert_eq!(of(22)[0], " ID  Name   Tags");
        assert_eq!(of(15)[0], " ID  Name");
        assert_eq!(of(1)[0], " ID  Name");
    }
}
