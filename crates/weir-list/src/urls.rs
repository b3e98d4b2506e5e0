//! A URL or a path on each line.

use crate::Row;
use crate::lines::Line;

/// Returns the row of a line.
pub(crate) fn row(line: &Line) -> Row {
    Row::new(line.number, line.text.trim())
}
