//! A table of values, read from CSV (RFC 4180) with a line of names.

use std::collections::HashSet;

/// A table of values, which is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Box<[Box<[u8]>]>>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// If it has no rows, or is no CSV; the text names the line.
    pub fn parse(bytes: &[u8]) -> Result<Table, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let mut reader = csv::Reader::from_reader(bytes);
        let failed = |error: csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("line {line}: it has {len} values, and the first line {expected_len}")
                }
                _ => format!("line {line}: it is no CSV"),
            }
        };
        let columns = reader.headers().map_err(failed)?;
        let columns: Vec<String> = columns.iter().map(|name| name.trim().to_owned()).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(name.as_str())) {
            let name = weir_text::brief(twice);
            return Err(format!("line 1: two columns are named {name:?}: rename one"));
        }
        let mut rows = Vec::new();
        for row in reader.byte_records() {
            rows.push(row.map_err(failed)?.iter().map(Box::from).collect());
        }
        match rows.is_empty() {
            true => Err("it has no rows behind its line of names".to_owned()),
            false => Ok(Table { columns, rows }),
        }
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the number of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the number of rows, at least 1.
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns the values of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u64) -> &[Box<[u8]>] {
        &self.rows[row as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_names_and_rows() {
        let table =
            Table::parse(b"\xef\xbb\xbfa, b \r\n1,2\r\n\"x,\ny\",\"\"\r\n").expect("a table");
        assert_eq!((table.columns(), table.rows()), (&["a".to_owned(), "b".to_owned()][..], 2));
        assert_eq!((&*table.row(1)[0], &*table.row(1)[1]), (&b"x,\ny"[..], &b""[..]));
        assert_eq!((table.column("b"), table.column("c")), (Some(1), None));
    }

    #[test]
    fn what_is_no_table_is_an_error_with_its_line() {
        for (text, part) in [
            ("a\n", "no rows"),
            ("", "no rows"),
            ("a,b\n1,2\n3\n", "line 3"),
            ("a, b,a\n1,2,3\n", "line 1: two columns are named \"a\""),
        ] {
            let error = Table::parse(text.as_bytes()).expect_err(text);
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
