//! Rows of a list, read with errors that name the list and the line.

use std::io::BufRead;

use anyhow::{Result, anyhow};
use weir_requests::list::{ListFormat, Position, Row, RowError, RowReader};

/// Returns the position of a row in a list, for messages. `place` begins those of the list; it is
/// empty for the URLs of the command line.
pub(super) fn at(place: &str, position: Position) -> String {
    match position {
        Position::Whole => place.trim_end_matches(": ").to_owned(),
        Position::Line(number) if place.is_empty() => format!("URL {number}"),
        position => format!("{place}{position}"),
    }
}

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
    anyhow!("{}: {}", at(place, error.position), error.text)
}
