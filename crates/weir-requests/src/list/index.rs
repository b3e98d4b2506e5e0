//! Places of the rows in a list of lines, so that a long list needs not be in memory. Where a row
//! is one line, the bytes alone tell the places; else the rows are read.

use std::io::{BufRead, Seek};
use std::sync::Arc;

use memchr::memchr;

use crate::list::lines::LinePlace;
use crate::list::{ListFormat, Row, RowError, RowReader};

/// Rows from one mark to the next.
const STRIDE: u64 = 64;

/// Rows that are skipped rather than looked up in the index.
const SKIP_MAX: u64 = 4 * STRIDE;

/// Places of the rows in a list: a mark for every 64th, or for the first row of the command line
/// that has it.
#[derive(Debug)]
pub struct RowIndex {
    format: ListFormat,
    rows: u64,
    marks: Vec<RowMark>,
}

/// Place of a row.
#[derive(Clone, Copy, Debug)]
struct RowMark {
    /// Its index.
    row: u64,
    place: LinePlace,
}

impl RowIndex {
    /// Makes the index of a list by reading its rows to the end; `None` if they are no lines.
    ///
    /// # Errors
    /// If a row cannot be read or is no request.
    pub fn read<R: BufRead>(mut reader: RowReader<R>) -> Result<Option<RowIndex>, RowError> {
        let format = reader.format();
        if format == ListFormat::Har {
            return Ok(None);
        }
        let mut index = RowIndex { format, rows: 0, marks: Vec::new() };
        loop {
            let place = reader.place();
            let Some(rows) = reader.read_more()? else { return Ok(Some(index)) };
            if index.rows >= index.marks.len() as u64 * STRIDE {
                index.marks.push(RowMark { row: index.rows, place });
            }
            index.rows += rows.len() as u64;
        }
    }

    /// Returns the last mark that is not behind `row`.
    fn mark(&self, row: u64) -> RowMark {
        let behind = self.marks.partition_point(|mark| mark.row <= row);
        self.marks[behind - 1]
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// Makes the index of a list from its bytes, piece by piece.
#[derive(Debug)]
pub struct RowIndexer {
    index: RowIndex,
    /// Offset of the next byte.
    offset: u64,
    line: LinePlace,
    is_blank: bool,
}

impl RowIndexer {
    /// Returns the indexer of a list in `format`; `None` if its rows are not single lines.
    pub fn new(format: ListFormat) -> Option<RowIndexer> {
        format.has_row_lines().then(|| RowIndexer {
            index: RowIndex { format, rows: 0, marks: Vec::new() },
            offset: 0,
            line: LinePlace { offset: 0, number: 1 },
            is_blank: true,
        })
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.is_blank {
                let blank = rest.iter().take_while(|byte| is_blank(**byte, self.line.number));
                let blank = blank.count();
                match rest.get(blank) {
                    None => break,
                    Some(b'\n') => {}
                    Some(first) => self.begin(*first),
                }
            }
            let Some(end) = memchr(b'\n', rest) else { break };
            self.offset += end as u64 + 1;
            self.line = LinePlace { offset: self.offset, number: self.line.number + 1 };
            self.is_blank = true;
            rest = &rest[end + 1..];
        }
        self.offset += rest.len() as u64;
    }

    /// Returns the index of the whole list.
    pub fn finish(self) -> RowIndex {
        self.index
    }

    /// Counts the line that begins with `first`, unless it is a comment.
    fn begin(&mut self, first: u8) {
        self.is_blank = false;
        if first == b'#' {
            return;
        }
        if self.index.rows.is_multiple_of(STRIDE) {
            self.index.marks.push(RowMark { row: self.index.rows, place: self.line });
        }
        self.index.rows += 1;
    }
}

/// True for a byte that may stand before the content of a line; a byte order mark before that of
/// the first.
fn is_blank(byte: u8, line: u64) -> bool {
    (byte.is_ascii_whitespace() && byte != b'\n')
        || (line == 1 && matches!(byte, 0xef | 0xbb | 0xbf))
}

/// Reads rows of an indexed list in any order; ascending ones fastest.
pub struct IndexedRows<R> {
    index: Arc<RowIndex>,
    reader: RowReader<R>,
    /// Row that the reader reads next.
    next: u64,
}

impl<R: BufRead + Seek> IndexedRows<R> {
    /// Opens the list that `index` was made of.
    ///
    /// # Errors
    /// If its first line cannot be read.
    pub fn open(input: R, index: Arc<RowIndex>) -> Result<IndexedRows<R>, RowError> {
        let reader = RowReader::open(input, Some(index.format))?;
        Ok(IndexedRows { index, reader, next: 0 })
    }

    /// Reads the row with this index.
    ///
    /// # Errors
    /// If it cannot be read, is no request, or is no longer there.
    ///
    /// # Panics
    /// If the index has no such row.
    pub fn read(&mut self, row: u64) -> Result<Row, RowError> {
        assert!(row < self.index.rows, "row {row} of {}", self.index.rows);
        if row < self.next || row - self.next > SKIP_MAX {
            let mark = self.index.mark(row);
            self.reader.move_to(mark.place)?;
            self.next = mark.row;
        }
        while self.next < row {
            self.reader.skip()?;
            self.next += 1;
        }
        self.next += 1;
        self.reader.take()?.ok_or_else(|| RowError::new(0, "the list has become shorter"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::list::Position;

    fn index(text: &str, piece: usize) -> RowIndex {
        let mut indexer = RowIndexer::new(ListFormat::Urls).expect("a row is a line");
        text.as_bytes().chunks(piece).for_each(|bytes| indexer.add(bytes));
        indexer.finish()
    }

    /// A list with blank lines, comments and both ends of lines.
    fn list(rows: u64) -> String {
        let row = |row: u64| match row % 5 {
            0 => format!("/{row}\n"),
            1 => format!("\n \t\n  /{row}\r\n"),
            2 => format!("# /{row}\n/{row}\n"),
            3 => format!("\u{3}#/{row}\n").replace('\u{3}', "  ") + &format!("/{row} \n"),
            _ => format!("/{row}\n\r\n"),
        };
        format!("\u{feff}{}", (0..rows).map(row).collect::<String>())
    }

    #[test]
    fn rows_are_found_in_any_order_however_the_bytes_came() {
        for (rows, end) in [(0, ""), (1, ""), (64, ""), (65, "/last"), (1_000, "# no row")] {
            let text = list(rows) + end;
            let all = rows + u64::from(end == "/last");
            for piece in [1, 7, text.len().max(1)] {
                let index = Arc::new(index(&text, piece));
                assert_eq!(index.rows(), all, "{rows} in pieces of {piece}");
                if all == 0 {
                    continue;
                }
                let input = Cursor::new(text.as_bytes());
                let mut reader = IndexedRows::open(input, Arc::clone(&index)).expect("rows");
                let mut order: Vec<u64> = (0..rows).chain((0..rows).rev()).collect();
                order.extend((0..rows).map(|row| row * 379 % rows));
                for row in order {
                    let read = reader.read(row).expect("a row");
                    assert_eq!(read.target, format!("/{row}"));
                    let Position::Line(number) = read.position else { panic!("{read:?}") };
                    let line = text.lines().nth(number as usize - 1).unwrap_or_default();
                    assert!(line.contains(&read.target), "line {number}: {line}");
                }
            }
        }
    }

    /// Rows of several lines, and of lines that have several.
    #[test]
    fn rows_of_several_lines_are_found_in_any_order() {
        let vegeta = |row: u64| match row % 3 {
            0 => format!("# {row}\nGET http://h/{row}\nX-A: b\n@body\n\n\n"),
            1 => format!("HEAD http://h/{row}\n"),
            _ => format!("PUT http://h/{row}\r\n\r\n"),
        };
        // 500 rows, of which five are in one command, more than a stride apart from others too.
        let curl = |row: u64| match row % 5 {
            0 => format!("curl http://h/{row} http://h/{} \\\n -d 'a\nb'\n", row + 1),
            1 => String::new(),
            2 => format!("\n# no\ncurl http://h/{row}; curl http://h/{}\n", row + 1),
            3 => String::new(),
            _ => format!("curl -s http://h/{row}\n"),
        };
        let urls: String = (500..700).map(|row| format!(" http://h/{row}")).collect();
        let curl =
            (0..500).map(curl).collect::<String>() + &format!("curl{urls}\ncurl http://h/700\n");
        let vegeta: String = (0..500).map(vegeta).collect();
        for (format, text, rows) in
            [(ListFormat::VegetaHttp, vegeta, 500), (ListFormat::Curl, curl, 701)]
        {
            let open = || RowReader::open(text.as_bytes(), Some(format)).expect("rows");
            let index = RowIndex::read(open()).expect("rows").expect("rows are lines");
            assert_eq!(index.rows(), rows, "{format:?}");
            let mut in_order = open();
            let all: Vec<Row> = std::iter::from_fn(|| in_order.take().expect("a row")).collect();
            let input = Cursor::new(text.as_bytes());
            let mut reader = IndexedRows::open(input, Arc::new(index)).expect("rows");
            let order = (0..rows).chain((0..rows).rev());
            for row in order.chain((0..rows).map(|row| row * 379 % rows)) {
                let read = reader.read(row).expect("a row");
                assert_eq!(read, all[row as usize], "{format:?}: {row}");
                assert_eq!(read.target, format!("http://h/{row}"));
            }
        }
    }

    #[test]
    fn a_wrong_row_has_no_index() {
        let open = |text| RowReader::open(str::as_bytes(text), None).expect("rows");
        let error = RowIndex::read(open("GET http://h/\n\nX: 1\n")).expect_err("no target");
        assert_eq!(error.position, 3.into());
        let har = r#"{"log": {"entries": []}}"#;
        assert!(matches!(RowIndex::read(open(har)), Ok(None)));
        let has = |format| RowIndexer::new(format).is_some();
        assert!(has(ListFormat::JsonLines) && has(ListFormat::VegetaJson));
        assert!(!has(ListFormat::VegetaHttp) && !has(ListFormat::Curl) && !has(ListFormat::Har));
    }
}
