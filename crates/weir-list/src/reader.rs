//! Reading a list row by row, in the memory of one row; a HAR file, which is one JSON object, in
//! that of its requests.

use std::io::{BufRead, Seek};
use std::vec::IntoIter;

use crate::lines::{LinePlace, Lines};
use crate::{ListFormat, Row, RowError, curl, har, json_lines, urls, vegeta};

/// Longest HAR file in bytes.
pub(crate) const HAR_MAX: u64 = 1 << 30;

/// The rows of a list, in file order.
pub struct RowReader<R> {
    lines: Lines<R>,
    format: ListFormat,
    /// Rows that are read and not taken yet: those of a HAR file, or of a line with several.
    read: IntoIter<Row>,
    /// True if a HAR file has been read.
    is_whole: bool,
}

impl<R: BufRead> RowReader<R> {
    /// Opens a list in `format`, or in the one that its first line tells.
    ///
    /// # Errors
    /// If the list has no content or its first line cannot be read.
    pub fn open(input: R, format: Option<ListFormat>) -> Result<RowReader<R>, RowError> {
        let mut lines = Lines::new(input);
        let Some(first) = lines.peek_content()? else {
            return Err(RowError::new(1, "the list has no rows"));
        };
        let format = format.unwrap_or_else(|| ListFormat::of(first));
        Ok(RowReader { lines, format, read: Vec::new().into_iter(), is_whole: false })
    }

    /// Returns the format of the list.
    pub fn format(&self) -> ListFormat {
        self.format
    }

    /// Returns the next row; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read or is no request.
    pub fn take(&mut self) -> Result<Option<Row>, RowError> {
        loop {
            if let Some(row) = self.read.next() {
                return Ok(Some(row));
            }
            if self.is_whole {
                return Ok(None);
            }
            let Some(rows) = self.read_more()? else { return Ok(None) };
            self.read = rows.into_iter();
        }
    }

    /// Continues with the row that begins at this place.
    pub(crate) fn move_to(&mut self, place: LinePlace) -> Result<(), RowError>
    where
        R: Seek,
    {
        self.read = Vec::new().into_iter();
        self.lines.move_to(place)
    }

    /// Skips a row.
    pub(crate) fn skip(&mut self) -> Result<(), RowError> {
        match self.format.has_row_lines() {
            true => self.lines.take_content().map(drop),
            false => self.take().map(drop),
        }
    }

    /// Returns the place of the next rows, if none is left of those that were read.
    pub(crate) fn place(&self) -> LinePlace {
        self.lines.place()
    }

    /// Reads the next rows; `None` at the end.
    pub(crate) fn read_more(&mut self) -> Result<Option<Vec<Row>>, RowError> {
        let lines = &mut self.lines;
        if self.format == ListFormat::Har {
            self.is_whole = true;
            return Ok(Some(har::rows(&lines.rest(HAR_MAX)?)?));
        }
        match self.format {
            ListFormat::VegetaHttp => Ok(vegeta::http(lines)?.map(|row| vec![row])),
            ListFormat::Curl => curl::rows(lines),
            format => {
                let Some(line) = lines.take_content()? else { return Ok(None) };
                let row = match format {
                    ListFormat::BodyLines => Ok(Row::of_body(line.number, &line.text)),
                    ListFormat::JsonLines => json_lines::row(&line),
                    ListFormat::VegetaJson => vegeta::json(&line),
                    _ => Ok(urls::row(&line)),
                };
                Ok(Some(vec![row?]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(u64, String)> {
        let mut reader = RowReader::open(text.as_bytes(), None).expect("rows");
        let mut targets = Vec::new();
        while let Some(row) = reader.take().expect("a row") {
            targets.push((row.line, row.target));
        }
        targets
    }

    #[test]
    fn every_format_is_read_by_its_content() {
        let check = |text: &str, expected: &[(u64, &str)]| {
            let expected: Vec<(u64, String)> =
                expected.iter().map(|(line, target)| (*line, (*target).to_owned())).collect();
            assert_eq!(targets(text), expected, "{text}");
        };
        check("# all\n/a\n\n /b?c \n", &[(2, "/a"), (4, "/b?c")]);
        check("{\"url\":\"/a\"}\n{\"url\":\"/b\"}", &[(1, "/a"), (2, "/b")]);
        check("GET http://h/a\nX: 1\n\nPUT http://h/b\n", &[(1, "http://h/a"), (4, "http://h/b")]);
        check("{\"method\":\"GET\",\"url\":\"http://h/\",\"header\":{}}\n", &[(1, "http://h/")]);
        check(
            "curl h/a \\\n -s\ncurl h/b h/c",
            &[(1, "http://h/a"), (3, "http://h/b"), (3, "http://h/c")],
        );
        let har = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://h/a"}}]}}"#;
        check(har, &[(1, "http://h/a")]);
        check(&har.replace(", ", ",\n").replace(": ", ":\n"), &[(1, "http://h/a")]);
    }

    #[test]
    fn a_list_without_rows_is_an_error() {
        for text in ["", "\n", "# nothing\n"] {
            assert!(RowReader::open(text.as_bytes(), None).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_given_format_decides() {
        let text = r#"{"url": "http://h/", "method": "PUT", "body": "e30="}"#;
        let mut reader =
            RowReader::open(text.as_bytes(), Some(ListFormat::VegetaJson)).expect("rows");
        let row = reader.take().expect("a row").expect("one");
        assert_eq!(row.body, Some(crate::RowBody::Bytes(b"{}".to_vec())));
        assert_eq!(reader.take(), Ok(None));
    }
}
