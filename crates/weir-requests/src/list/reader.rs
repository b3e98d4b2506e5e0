//! Reading a list row by row, in the memory of one row; a HAR file, which is one JSON object, in
//! that of its requests.

use std::io::{BufRead, Seek};
use std::vec::IntoIter;

use weir_text::setting::LIST_FORMAT;

use crate::list::lines::{LinePlace, Lines};
use crate::list::{ListFormat, Position, Row, RowError, curl, har, json_lines, urls, vegeta};

/// Longest HAR file in bytes.
pub(super) const HAR_MAX: u64 = 1 << 30;

/// The rows of a list, in file order.
pub struct RowReader<R> {
    lines: Lines<R>,
    format: ListFormat,
    /// True if the format was not told by the first line.
    is_given: bool,
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
            return Err(RowError::new(Position::Whole, "it has no rows"));
        };
        if format.is_none() && is_goreplay(&first.text) {
            return Err(RowError::new(first.number, GOREPLAY));
        }
        let is_given = format.is_some();
        let format = format.unwrap_or_else(|| ListFormat::of(first));
        let read = Vec::new().into_iter();
        Ok(RowReader { lines, format, is_given, read, is_whole: false })
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

    /// Checks that a row is a request that can be sent as it stands in the list.
    fn check(&self, row: &Row) -> Result<(), RowError> {
        let failed = |text: String| Err(RowError::new(row.position, text));
        if let Some(blank) = blank_of(&row.target) {
            let format = self.format.name();
            let other = match self.is_given {
                true => String::new(),
                false => format!(", as which it was recognised; {LIST_FORMAT} names another"),
            };
            let target = weir_text::brief(&row.target);
            return failed(format!(
                "{target:?} has {blank} in its URL: write it as %20; the list is read in the \
                 format {format}{other}"
            ));
        }
        let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
        let length = row.headers.iter().find(|(name, _)| is_length(name));
        match length {
            Some((_, length)) if row.body.is_none() && length.trim() != "0" => {
                let length = weir_text::brief(length);
                failed(format!("its Content-Length is {length}, and it has no body: give both"))
            }
            _ => Ok(()),
        }
    }

    /// Continues with the row that begins at this place.
    pub(super) fn move_to(&mut self, place: LinePlace) -> Result<(), RowError>
    where
        R: Seek,
    {
        self.read = Vec::new().into_iter();
        self.lines.move_to(place)
    }

    /// Skips a row.
    pub(super) fn skip(&mut self) -> Result<(), RowError> {
        match self.format.has_row_lines() {
            true => self.lines.take_content().map(drop),
            false => self.take().map(drop),
        }
    }

    /// Returns the place of the next rows, if none is left of those that were read.
    pub(super) fn place(&self) -> LinePlace {
        self.lines.place()
    }

    /// Reads the next rows, which can be sent as they stand in the list; `None` at the end.
    pub(super) fn read_more(&mut self) -> Result<Option<Vec<Row>>, RowError> {
        let Some(rows) = self.read_rows()? else { return Ok(None) };
        rows.iter().try_for_each(|row| self.check(row))?;
        Ok(Some(rows))
    }

    fn read_rows(&mut self) -> Result<Option<Vec<Row>>, RowError> {
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

/// The error of a capture of GoReplay.
const GOREPLAY: &str = "it is a capture of GoReplay, which is no list: write its requests as lines \
                        of METHOD URL (vegeta-http), or as JSON lines";

/// True if a line begins a message in a capture of GoReplay: kind, identifier, time, length.
fn is_goreplay(line: &str) -> bool {
    let mut words = line.split(' ');
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit());
    matches!(words.next(), Some("1" | "2" | "3"))
        && words
            .next()
            .is_some_and(|id| id.len() >= 16 && id.bytes().all(|it| it.is_ascii_hexdigit()))
        && words.next().is_some_and(is_number)
}

/// Returns the name of the first blank of a target outside of its fields; `None` if it has none.
fn blank_of(target: &str) -> Option<&'static str> {
    let mut rest = target;
    loop {
        let (text, behind) = rest.split_once("{{").unwrap_or((rest, ""));
        if let Some(found) = text.chars().find(|next| next.is_whitespace() || next.is_control()) {
            return Some(if found.is_control() { "a control character" } else { "a blank" });
        }
        rest = behind.split_once("}}")?.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(Position, String)> {
        let mut reader = RowReader::open(text.as_bytes(), None).expect("rows");
        let mut targets = Vec::new();
        while let Some(row) = reader.take().expect("a row") {
            targets.push((row.position, row.target));
        }
        targets
    }

    #[test]
    fn every_format_is_read_by_its_content() {
        let check = |text: &str, expected: &[(u64, &str)]| {
            let target = |(line, target): &(u64, &str)| ((*line).into(), (*target).to_owned());
            let expected: Vec<(Position, String)> = expected.iter().map(target).collect();
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
        for text in [har, &har.replace(", ", ",\n").replace(": ", ":\n")] {
            assert_eq!(targets(text), [(Position::Entry(1), "http://h/a".to_owned())]);
        }
    }

    /// A row that is not understood never becomes another request.
    #[test]
    fn rows_that_are_not_understood_are_errors() {
        for (text, expected) in [
            ("http://h/a b\n", "line 1: \"http://h/a b\" has a blank in its URL"),
            ("/a\n/b HTTP/1.1\n", "line 2: \"/b HTTP/1.1\" has a blank in its URL"),
            ("GET http://h/ a\n", "in the format vegeta-http, as which it was recognised"),
            ("GET http://h/\nContent-Length: 5\n", "line 1: its Content-Length is 5"),
            (r#"{"url": "/a b"}"#, "a blank in its URL"),
            (r#"{"url": "/a\u0007b"}"#, "a control character in its URL"),
            ("curl 'http://h/a b'", "a blank in its URL"),
            ("1 0123456789abcdef01234567 1790000000000000000 0\n\nGET / HTTP/1.1\n", "of GoReplay"),
        ] {
            let read = RowReader::open(text.as_bytes(), None).and_then(|mut reader| {
                while reader.take()?.is_some() {}
                Ok(())
            });
            let error = read.expect_err(text).to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert_eq!(targets("/a?x={{csv:a b}}&y={{csv:c}}\n").len(), 1);
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
        assert_eq!(row.body, Some(crate::list::RowBody::Bytes(b"{}".to_vec())));
        assert_eq!(reader.take(), Ok(None));
    }
}
