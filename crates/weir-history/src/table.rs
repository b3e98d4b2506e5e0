//! Tables of text: aligned columns. A narrow page leaves out the least important ones.

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

    /// Lets narrow pages leave the column out; columns of lower rank go first.
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
