//! Lines of a list with their numbers, one of them in advance.

use std::io::{BufRead, Read, Seek, SeekFrom};

use crate::list::{Position, RowError};

/// Longest line in bytes. A longer body belongs in a file of its own.
const LINE_MAX: u64 = 16 << 20;

/// The lines of a text, without their ends and without a byte order mark.
pub(super) struct Lines<R> {
    input: R,
    /// Number of lines read so far.
    number: u64,
    next: Option<NumberedLine>,
    /// Offset of the last line that was read, and of the one behind it, in bytes.
    begin: u64,
    end: u64,
    /// True if the last line that was read had an end.
    has_end: bool,
}

/// Place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinePlace {
    /// Its offset in bytes.
    pub(super) offset: u64,
    /// Its number, from 1.
    pub(super) number: u64,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberedLine {
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) text: String,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, next: None, begin: 0, end: 0, has_end: true }
    }

    /// Returns the place of the next line.
    pub(super) fn place(&self) -> LinePlace {
        match &self.next {
            Some(next) => LinePlace { offset: self.begin, number: next.number },
            None => LinePlace { offset: self.end, number: self.number + 1 },
        }
    }

    /// Returns the next line and leaves it there; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<&NumberedLine>, RowError> {
        if self.next.is_none() {
            self.next = self.read()?;
        }
        Ok(self.next.as_ref())
    }

    /// Returns the next line; `None` at the end.
    pub(super) fn take(&mut self) -> Result<Option<NumberedLine>, RowError> {
        match self.next.take() {
            Some(line) => Ok(Some(line)),
            None => self.read(),
        }
    }

    /// Skips blank lines and those that begin with `#`, and returns the next one.
    pub(super) fn peek_content(&mut self) -> Result<Option<&NumberedLine>, RowError> {
        let is_content = |line: &NumberedLine| {
            let text = line.text.trim_ascii_start();
            !text.is_empty() && !text.starts_with('#')
        };
        while self.peek()?.is_some_and(|line| !is_content(line)) {
            self.next = None;
        }
        self.peek()
    }

    /// As [`Lines::peek_content`], and takes the line.
    pub(super) fn take_content(&mut self) -> Result<Option<NumberedLine>, RowError> {
        self.peek_content()?;
        self.take()
    }

    /// True if the line that was read last had an end: another one or the last of a whole text.
    pub(super) fn has_end(&self) -> bool {
        self.has_end
    }

    /// Continues with the line at this place.
    pub(super) fn move_to(
        &mut self,
        LinePlace { offset, number }: LinePlace,
    ) -> Result<(), RowError>
    where
        R: Seek,
    {
        self.next = None;
        self.number = number - 1;
        self.end = offset;
        let moved = self.input.seek(SeekFrom::Start(offset));
        moved
            .map(drop)
            .map_err(|error| RowError::new(number, format!("failed to read it: {error}")))
    }

    /// Returns what is left, with the next line; at most `most` bytes.
    pub(super) fn rest(&mut self, most: u64) -> Result<String, RowError> {
        let mut rest = self.next.take().map_or_else(String::new, |line| line.text + "\n");
        let number = self.number;
        let read = (&mut self.input).take(most).read_to_string(&mut rest);
        read.map_err(|error| RowError::new(number, format!("failed to read it: {error}")))?;
        if rest.len() as u64 >= most {
            let text = format!("it is longer than {} MiB", most >> 20);
            return Err(RowError::new(Position::Whole, text));
        }
        Ok(rest)
    }

    fn read(&mut self) -> Result<Option<NumberedLine>, RowError> {
        let mut bytes = Vec::new();
        self.number += 1;
        let number = self.number;
        let failed = |text: String| RowError::new(number, text);
        let read = (&mut self.input).take(LINE_MAX).read_until(b'\n', &mut bytes);
        let length = read.map_err(|error| failed(format!("failed to read it: {error}")))?;
        (self.begin, self.end) = (self.end, self.end + length as u64);
        if bytes.is_empty() {
            return Ok(None);
        }
        self.has_end = bytes.last() == Some(&b'\n');
        if self.has_end {
            bytes.pop();
        } else if bytes.len() as u64 == LINE_MAX {
            return Err(failed(format!("it is longer than {} MiB", LINE_MAX >> 20)));
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))?;
        let text = match text.strip_prefix('\u{feff}').filter(|_| number == 1) {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Ok(Some(NumberedLine { number, text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_marks_and_comments_are_dropped() {
        let mut lines = Lines::new("\u{feff}# a\r\n\r\n \t\n b \r\nc".as_bytes());
        let line = |number, text: &str| Some(NumberedLine { number, text: text.to_owned() });
        assert_eq!(lines.place(), LinePlace { offset: 0, number: 1 });
        assert_eq!(lines.peek_content().expect("text"), line(4, " b ").as_ref());
        assert_eq!(lines.place(), LinePlace { offset: 13, number: 4 });
        assert_eq!(lines.take_content().expect("text"), line(4, " b "));
        assert_eq!(lines.place(), LinePlace { offset: 18, number: 5 });
        assert_eq!(lines.take().expect("text"), line(5, "c"));
        assert_eq!(lines.take().expect("text"), None);
        assert_eq!(lines.peek().expect("text"), None);
    }

    #[test]
    fn a_line_that_is_no_text_is_an_error() {
        let mut lines = Lines::new(&b"/a\n/\xff\n"[..]);
        lines.take().expect("text");
        assert_eq!(lines.take(), Err(RowError::new(2, "it is not UTF-8")));
    }

    #[test]
    fn lines_and_documents_have_a_limit() {
        let endless = std::io::BufReader::new(std::io::repeat(b'a'));
        let error = Lines::new(endless).take().expect_err("it never ends");
        assert_eq!(error, RowError::new(1, "it is longer than 16 MiB"));
        let mut lines = Lines::new("{\n}".as_bytes());
        lines.peek().expect("text");
        assert_eq!(lines.rest(1 << 20).expect("text"), "{\n}");
        let endless = std::io::BufReader::new(std::io::repeat(b'a'));
        assert!(Lines::new(endless).rest(1 << 20).is_err());
    }
}
