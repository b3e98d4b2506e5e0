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
        let row = literal_row(row);
        file.entries.push(RecordedEntry {
            name: None,
            url: row.target.clone(),
            row: Ok(row),
            response: None,
            times_ns: None,
            is_resource: false,
            captures: Vec::new(),
            remarks: Vec::new(),
        });
    }
    Ok(file)
}
