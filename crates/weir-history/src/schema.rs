//! The tables of the history, and their conversion from older formats.
//!
//! `user_version` of the file is the number of steps that were applied. A released step is never
//! changed; a new format is a new step.

use std::path::Path;

use rusqlite::{Connection, Row};

use crate::error::HistoryError;

/// Marks an SQLite file as weir's: "weir" in ASCII.
const APPLICATION: u32 = 0x7765_6972;

/// Format that this program writes: the number of steps.
pub(crate) const STEPS: [&str; 1] = [FIRST];

const FIRST: &str = "
    CREATE TABLE runs (
        -- Never given twice, even after the newest run was removed.
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        run_id TEXT NOT NULL,
        -- RFC 3339, and nanoseconds since 1970: the run's epoch.
        time TEXT NOT NULL,
        unix_ns INTEGER NOT NULL,
        grade TEXT NOT NULL,
        plan_sha256 TEXT,
        -- JSON: the key of the series, the figures of lists, the command line.
        plan TEXT NOT NULL,
        machine TEXT NOT NULL,
        figures TEXT NOT NULL,
        command TEXT NOT NULL,
        -- The document: JSON, compressed (zlib).
        document BLOB NOT NULL,
        UNIQUE (name, run_id)
    ) STRICT;
    CREATE INDEX runs_of_name ON runs (name, unix_ns);
    CREATE TABLE tags (
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        PRIMARY KEY (run, tag)
    ) STRICT, WITHOUT ROWID;
";

/// Brings a file to the format after all `steps`; an empty file gets all of them.
///
/// # Errors
/// When SQLite fails, or another program or a newer weir wrote the file at `path`.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    steps: &[&str],
) -> Result<(), HistoryError> {
    let failed = HistoryError::at(path);
    let format = steps.len() as u32;
    if version(connection, path, format)? == format {
        return Ok(());
    }
    // Removed runs give their space back. Effective before the first table only.
    connection.pragma_update(None, "auto_vacuum", "FULL").map_err(&failed)?;
    let transaction = connection.transaction().map_err(&failed)?;
    // Read again: another program may have converted the file in between.
    let applied = version(&transaction, path, format)? as usize;
    for step in &steps[applied..] {
        transaction.execute_batch(step).map_err(&failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(&failed)?;
    transaction.pragma_update(None, "user_version", format).map_err(&failed)?;
    transaction.commit().map_err(&failed)
}

/// Checks that the file can be written: locks it, changes its header and takes the change back.
pub(crate) fn check_writable(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "user_version", STEPS.len() as u32 + 1)?;
    transaction.rollback()
}

/// Returns the format of the file, 0 if it is empty, and at most `newest`.
fn version(connection: &Connection, path: &Path, newest: u32) -> Result<u32, HistoryError> {
    // One statement reads one state: another program may begin the same history meanwhile.
    let header = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
                  FROM pragma_application_id, pragma_user_version";
    let read = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found = connection.query_row(header, [], read).map_err(HistoryError::at(path));
    let (application, version, tables): (u32, u32, u32) = found?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION, found) if found > newest => {
            Err(HistoryError::Newer { path: path.to_owned(), found, newest })
        }
        (APPLICATION, found @ 1..) => Ok(found),
        _ => Err(HistoryError::Foreign(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second format, as a later program may have one.
    const MORE: [&str; 2] = [FIRST, "ALTER TABLE runs ADD COLUMN note TEXT"];

    fn in_memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    fn columns(connection: &Connection) -> usize {
        let statement = connection.prepare("SELECT * FROM runs").expect("the table");
        statement.column_count()
    }

    #[test]
    fn each_missing_step_is_applied_once() {
        let mut connection = in_memory();
        for (steps, expected) in [(&STEPS[..], 12), (&STEPS, 12), (&MORE, 13), (&MORE, 13)] {
            migrate(&mut connection, Path::new("h"), steps).expect("it is converted");
            assert_eq!(columns(&connection), expected);
        }
        assert!(matches!(
            migrate(&mut connection, Path::new("h"), &STEPS),
            Err(HistoryError::Newer { found: 2, .. })
        ));
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut connection = in_memory();
        migrate(&mut connection, Path::new("h"), &STEPS).expect("it is converted");
        let broken = [FIRST, "ALTER TABLE runs ADD COLUMN note TEXT; NONSENSE"];
        assert!(matches!(
            migrate(&mut connection, Path::new("h"), &broken),
            Err(HistoryError::Unusable { .. })
        ));
        assert_eq!(
            (columns(&connection), version(&connection, Path::new("h"), 1).expect("ours")),
            (12, 1)
        );
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let mut connection = in_memory();
        connection.execute_batch("CREATE TABLE theirs (a)").expect("a table");
        assert!(matches!(
            migrate(&mut connection, Path::new("h"), &STEPS),
            Err(HistoryError::Foreign(_))
        ));
        let mut marked = in_memory();
        marked.pragma_update(None, "user_version", 1).expect("a number");
        assert!(matches!(
            migrate(&mut marked, Path::new("h"), &STEPS),
            Err(HistoryError::Foreign(_))
        ));
    }

    #[test]
    fn the_check_changes_nothing() {
        let mut connection = in_memory();
        migrate(&mut connection, Path::new("h"), &STEPS).expect("it is converted");
        check_writable(&mut connection).expect("memory can be written");
        assert_eq!(version(&connection, Path::new("h"), 1).expect("ours"), 1);
    }
}
