//! Errors of SQLite, each with its remedy.

use std::path::Path;

use rusqlite::ErrorCode;
use weir_text::setting::HISTORY;

use crate::error::HistoryError;

impl HistoryError {
    /// Returns the conversion of SQLite's errors on the file at `path`.
    pub(crate) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> HistoryError + '_ {
        |cause| HistoryError::Unusable {
            path: path.to_owned(),
            remedy: remedy(&cause),
            cause: cause.into(),
        }
    }
}

/// The remedy for an error of SQLite.
fn remedy(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            format!("free space on its disk, or choose another place with {HISTORY} FILE")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program uses it: try again".to_owned()
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!(
                "it is damaged or no history: move it away, or give another file with {HISTORY}"
            )
        }
        _ => format!(
            "make the file and its directory writable, or choose another with {HISTORY} FILE"
        ),
    }
}
