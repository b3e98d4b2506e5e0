//! Measured entries: the files in `docs/measured/`, one for each case of `cargo xtask accuracy` and
//! `cargo xtask bench`, and the pages rendered from them. This module measures nothing.

mod entry;
mod json;
mod page;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub use entry::{Entry, Outcome, Table};
pub use page::{ACCURACY, PAGES, PERFORMANCE, Page};

/// Writes an entry's file and the page that shows it. `root` is the repository's.
pub fn write(root: &Path, page: &Page, entry: &Entry) -> Result<()> {
    let file = root.join(page.file(&entry.id));
    let write = || {
        fs::create_dir_all(root.join(page.directory))?;
        fs::write(&file, entry.to_json())
    };
    write().with_context(|| format!("failed to write {}", file.display()))?;
    render(root, page)
}

/// Writes a page from the files of its entries.
pub fn render(root: &Path, page: &Page) -> Result<()> {
    let text = page.text(|path| fs::read_to_string(root.join(path)).ok())?;
    fs::write(root.join(page.path), text).with_context(|| format!("failed to write {}", page.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["load", "sent", "lost"]);
        table.row(&["-c1", "1,234", "0"]);
        table.row(&["-c2", "6", "–"]);
        table
    }

    #[test]
    fn files_are_read_as_they_were_written_with_a_line_for_each_row() {
        let entry = Entry {
            id: "V1".to_owned(),
            question: "Is it \"so\": [yes, no]?".to_owned(),
            notes: vec!["one".to_owned()],
            summary: Some(table().select(&["load"])),
            tables: vec![table().under("Seen:")],
            machine: [("CPU".to_owned(), "2 × A".to_owned())].into(),
            ..Entry::default()
        };
        let text = entry.to_json();
        assert!(text.contains("\n      [\"-c1\", \"1,234\", \"0\"],\n"), "{text}");
        assert_eq!(Entry::from_json(&text).expect("it was written"), entry);
        for wrong in ["\"title\"", "\"rows\"", "as expected"] {
            assert!(Entry::from_json(&text.replacen(wrong, "\"more\"", 1)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn tables_are_selected_and_summed() {
        let some = table().filter("load", &["-c2"]).select(&["sent", "load", "none"]);
        assert_eq!(some.in_markdown(), "| sent | load |\n|---|---:|\n| 6 | -c2 |\n");
        assert_eq!((table().sum("sent"), table().sum("lost"), table().sum("none")), (1_240, 0, 0));
        let table = table();
        let first = table.cells().next().expect("two rows");
        assert_eq!(first, [("load", "-c1"), ("sent", "1,234"), ("lost", "0")]);
        assert!(table.under("Seen:").in_markdown().starts_with("Seen:\n\n| load |"));
    }

    #[test]
    fn a_measurement_prints_everything() {
        let entry =
            Entry { tables: vec![table()], doubts: vec!["late".into()], ..Entry::default() };
        let text = entry.in_full();
        assert!(text.contains("| -c2 | 6 | – |") && text.contains("- late"), "{text}");
    }
}
