//! The fields of lines that have been parsed before. Independent of where the lines come from.

use super::line::{self, Field, Line};

/// Iterator over the fields of lines already parsed as field lines.
pub(crate) struct Fields<'a> {
    lines: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Returns the fields of `lines`, which contain nothing but valid field lines.
    pub(crate) fn of(lines: &'a [u8]) -> Fields<'a> {
        Fields { lines, at: 0 }
    }

    /// Returns the current line, unless there is none.
    fn line(&self) -> Option<Line> {
        let plain = line::plain_field(self.lines, self.at).map(Line::Field);
        plain.or_else(|| line::read(self.lines, self.at).expect("the lines have been read before"))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let Some(Line::Field(Field { colon, mut content, next })) = self.line() else {
            return None;
        };
        let name = &self.lines[self.at..colon];
        self.at = next;
        while let Some(b' ' | b'\t') = self.lines.get(self.at)
            && let Some(Line::Fold { content: folded, next }) = self.line()
        {
            (content, self.at) = (folded, next);
        }
        Some((name, line::trim(&self.lines[colon + 1..content])))
    }
}
