//! curl command lines, which have neither responses nor times.

use crate::list::{ListFormat, RowError, RowReader};
use crate::scenario::import::recorded::{RecordedEntry, RecordedFile, literal_row};

/// Reads a file.
///
/// # Errors
/// If a command cannot be read; the error names its line.
pub(super) fn read(text: &str) -> Result<RecordedFile, RowError> {
    let input = std::io::Cursor::new(text);
    let mut rows = RowReader::open(input, Some(ListFormat::Curl))?;
    let mut file = RecordedFile::default();
    while let Some(row) = rows.take()? {
        file.entries.push(RecordedEntry::written(None, literal_row(row)));
    }
    Ok(file)
}
