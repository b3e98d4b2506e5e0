//! Rows of a list, read with errors that name the list and the line.

use std::io::BufRead;

use anyhow::{Result, anyhow};
use weir_list::{ListFormat, Row, RowError, RowReader};

/// Opens a list whose rows are at `place`, in `format` or the one that it is in.
///
/// # Errors
/// When it has no content or cannot be read.
pub(super) fn reader<R: BufRead>(
    place: &str,
    input: R,
    format: Option<ListFormat>,
) -> Result<RowReader<R>> {
    RowReader::open(input, format).map_err(|error| in_list(place, &error))
}

/// Reads at most `most` rows.
///
/// # Errors
/// When one is no request; the message has its line.
pub(super) fn rows<R: BufRead>(
    place: &str,
    reader: &mut RowReader<R>,
    most: usize,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    while rows.len() < most
        && let Some(row) = reader.take().map_err(|error| in_list(place, &error))?
    {
        rows.push(row);
    }
    Ok(rows)
}

/// Returns the error of a list whose rows are at `place`.
pub(super) fn in_list(place: &str, error: &RowError) -> anyhow::Error {
    anyhow!("{place}{}: {}", error.line, error.text)
}
