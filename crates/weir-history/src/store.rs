//! The history's file: runs are saved, found, tagged and removed.
//!
//! The journal is SQLite's rollback journal, not its write-ahead log: a save is one short
//! transaction, so readers gain nothing, and home directories on network file systems work.

mod failure;

use std::error::Error;
use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use weir_result::Document;

use crate::entry::{MetricFigure, RunEntry, SavedRun};
use crate::error::HistoryError;
use crate::name::{Filter, Name, Selector, Tag};
use crate::schema::{self, STEPS};
use crate::series_key::SeriesKey;

/// Time to wait while another program writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Greatest document that is read, as [`Document::load`] limits its files.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Columns of an entry. The tags are one JSON array.
const ENTRY: &str = "SELECT id, name, run_id, time, grade, plan_sha256, plan, machine, figures, \
                     command, (SELECT json_group_array(tag) FROM \
                     (SELECT tag FROM tags WHERE run = runs.id ORDER BY tag)) FROM runs";

/// Newest first; of equal times, the one saved last.
const NEWEST: &str = "ORDER BY unix_ns DESC, id DESC";

/// A history of runs.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
}

impl History {
    /// Opens a history that exists.
    ///
    /// # Errors
    /// [`HistoryError::Absent`] without the file; others if it is none that this program reads.
    pub fn open(path: &Path) -> Result<History, HistoryError> {
        match path.try_exists() {
            Ok(false) => Err(HistoryError::Absent(path.to_owned())),
            _ => History::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE),
        }
    }

    /// Opens a history, and begins one if there is none, and checks that it can be written.
    ///
    /// # Errors
    /// When it cannot.
    pub fn create(path: &Path) -> Result<History, HistoryError> {
        if let Some(directory) = path.parent() {
            // As the XDG Base Directory Specification requires.
            let created = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            created.map_err(|cause| HistoryError::Directory { path: path.to_owned(), cause })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut history = History::connect(path, flags)?;
        schema::check_writable(&mut history.connection).map_err(HistoryError::at(path))?;
        Ok(history)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<History, HistoryError> {
        let failed = HistoryError::at(path);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(&failed)?;
        connection.busy_timeout(PATIENCE).map_err(&failed)?;
        // SQLite overwrites the content it removes (`secure_delete`).
        for (name, value) in [("foreign_keys", "ON"), ("secure_delete", "ON")] {
            connection.pragma_update(None, name, value).map_err(&failed)?;
        }
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        schema::migrate(&mut connection, path, &STEPS)?;
        Ok(History { connection, path: path.to_owned() })
    }

    /// Saves a document under a name, and returns the ID of the run.
    ///
    /// # Errors
    /// When the file cannot be written, the run is saved under this name already, or the document
    /// covers one part of a run.
    pub fn save(
        &mut self,
        name: &Name,
        tags: &[Tag],
        document: &Document,
    ) -> Result<i64, HistoryError> {
        if let Some(part) = document.plan.part {
            return Err(HistoryError::Part(part));
        }
        let failed = HistoryError::at(&self.path);
        let key = SeriesKey::of(document);
        let run = &document.run;
        let json = |value| serde_json::to_string(&value).expect("a value is JSON");
        let figures =
            serde_json::to_string(&MetricFigure::all_of(document)).expect("figures are JSON");
        let command = serde_json::to_string(&run.command).expect("words are JSON");
        let plan = json(key.plan);
        let machine = json(key.machine);
        let packed = packed(document);
        let transaction = self.connection.transaction().map_err(&failed)?;
        let same = "SELECT id FROM runs WHERE name = ?1 AND run_id = ?2";
        let known = transaction.query_row(same, [&name.0, &run.id], |row| row.get(0));
        if let Some(id) = known.optional().map_err(&failed)? {
            return Err(HistoryError::Twice { name: name.clone(), id });
        }
        let values = params![
            name.0,
            run.id,
            run.epoch,
            i64::try_from(run.epoch_unix_ns).unwrap_or(i64::MAX),
            document.verdict.grade.in_words(),
            run.plan_sha256,
            plan,
            machine,
            figures,
            command,
            packed
        ];
        let insert = "INSERT INTO runs (name, run_id, time, unix_ns, grade, plan_sha256, plan, \
                      machine, figures, command, document) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        transaction.execute(insert, values).map_err(&failed)?;
        let id = transaction.last_insert_rowid();
        add_tags(&transaction, id, tags).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(id)
    }

    /// Returns the runs that a filter selects, newest first.
    ///
    /// # Errors
    /// When the file cannot be read, or no run has the name.
    pub fn entries(&self, filter: Filter<'_>) -> Result<Vec<RunEntry>, HistoryError> {
        let failed = HistoryError::at(&self.path);
        let tagged = "EXISTS (SELECT 1 FROM tags WHERE run = runs.id AND tag = ?2)";
        let query = format!(
            "{ENTRY} WHERE (?1 IS NULL OR name = ?1) AND (?2 IS NULL OR {tagged}) {NEWEST} LIMIT ?3"
        );
        let mut statement = self.connection.prepare(&query).map_err(&failed)?;
        let values = params![
            filter.name.map(|name| &name.0),
            filter.tag.map(|tag| &tag.0),
            // A negative limit is none.
            filter.count.map_or(-1, i64::from)
        ];
        let rows = statement.query_map(values, |row| Ok(entry_of(row))).map_err(&failed)?;
        let entries = rows.map(|row| row.map_err(&failed)?).collect::<Result<Vec<_>, _>>()?;
        if let (Some(name), true) = (filter.name, entries.is_empty()) {
            self.check_name(name)?;
        }
        Ok(entries)
    }

    /// Returns the runs that a selector names, newest first; at least one.
    ///
    /// # Errors
    /// When there are none, or the file cannot be read.
    pub fn select(&self, selector: &Selector) -> Result<Vec<RunEntry>, HistoryError> {
        match selector {
            Selector::Name(name) => self.entries(Filter { name: Some(name), ..Filter::default() }),
            one => self.newest(one).map(|entry| vec![entry]),
        }
    }

    /// Returns the run that a selector names; of several the newest.
    ///
    /// # Errors
    /// When there is none, or the file cannot be read.
    pub fn newest(&self, selector: &Selector) -> Result<RunEntry, HistoryError> {
        let (name, place) = match selector {
            Selector::Id(id) => return self.entry(*id),
            Selector::Name(name) => (name, 1),
            Selector::Nth(name, place) => (name, *place),
        };
        let filter = Filter { name: Some(name), tag: None, count: Some(place) };
        let mut entries = self.entries(filter)?;
        let count = entries.len();
        let last = entries.pop().filter(|_| count == place as usize);
        last.ok_or_else(|| HistoryError::TooFew { selector: selector.clone(), count })
    }

    /// Returns the documents that a selector names, newest first; at least one. `weir compare`
    /// resolves a name that is no file by this.
    ///
    /// # Errors
    /// When there are none, or one of them cannot be read.
    pub fn documents(&self, selector: &Selector) -> Result<Vec<SavedRun>, HistoryError> {
        let entries = self.select(selector)?;
        let load =
            |entry: RunEntry| self.document(entry.id).map(|document| SavedRun { entry, document });
        entries.into_iter().map(load).collect()
    }

    /// Returns the document of a run.
    ///
    /// # Errors
    /// When there is no such run, or its document cannot be read.
    pub fn document(&self, id: i64) -> Result<Document, HistoryError> {
        let query = "SELECT document FROM runs WHERE id = ?1";
        let packed = self.connection.query_row(query, [id], |row| row.get::<_, Vec<u8>>(0));
        let packed = packed.optional().map_err(HistoryError::at(&self.path))?;
        let packed = packed.ok_or(HistoryError::UnknownId(id))?;
        let mut json = Vec::new();
        let unpacked = ZlibDecoder::new(&packed[..]).take(DOCUMENT_BYTES_MAX);
        let read = { unpacked }.read_to_end(&mut json);
        read.map_err(|error| HistoryError::Damaged { id, fault: error.to_string() })?;
        Document::from_json(&json).map_err(|cause| HistoryError::Document { id, cause })
    }

    /// Adds tags to a run, or removes them, and returns the run with its tags then.
    ///
    /// # Errors
    /// When there is no such run, or the file cannot be written.
    pub fn tag(&mut self, id: i64, tags: &[Tag], add: bool) -> Result<RunEntry, HistoryError> {
        self.entry(id)?;
        let failed = HistoryError::at(&self.path);
        let transaction = self.connection.transaction().map_err(&failed)?;
        if add {
            add_tags(&transaction, id, tags).map_err(&failed)?;
        } else {
            for tag in tags {
                let delete = "DELETE FROM tags WHERE run = ?1 AND tag = ?2";
                transaction.execute(delete, params![id, tag.0]).map_err(&failed)?;
            }
        }
        transaction.commit().map_err(&failed)?;
        self.entry(id)
    }

    /// Removes runs with their documents and tags; all of them or, if one does not exist, none.
    ///
    /// # Errors
    /// When there is no such run, or the file cannot be written.
    pub fn remove(&mut self, ids: &[i64]) -> Result<(), HistoryError> {
        let failed = HistoryError::at(&self.path);
        let transaction = self.connection.transaction().map_err(&failed)?;
        for id in ids {
            let removed = transaction.execute("DELETE FROM runs WHERE id = ?1", [id]);
            if removed.map_err(&failed)? == 0 {
                return Err(HistoryError::UnknownId(*id));
            }
        }
        transaction.commit().map_err(&failed)
    }

    fn entry(&self, id: i64) -> Result<RunEntry, HistoryError> {
        let query = format!("{ENTRY} WHERE id = ?1");
        let found = self.connection.query_row(&query, [id], |row| Ok(entry_of(row)));
        let found = found.optional().map_err(HistoryError::at(&self.path))?;
        found.unwrap_or(Err(HistoryError::UnknownId(id)))
    }

    /// Checks that a run has this name.
    fn check_name(&self, name: &Name) -> Result<(), HistoryError> {
        let failed = HistoryError::at(&self.path);
        let query = "SELECT DISTINCT name FROM runs ORDER BY name";
        let mut statement = self.connection.prepare(query).map_err(&failed)?;
        let names = statement.query_map([], |row| row.get(0)).map_err(&failed)?;
        let names = names.collect::<Result<Vec<String>, _>>().map_err(&failed)?;
        match names.contains(&name.0) {
            true => Ok(()),
            false => Err(HistoryError::UnknownName { name: name.clone(), names }),
        }
    }
}

fn add_tags(connection: &Connection, id: i64, tags: &[Tag]) -> rusqlite::Result<()> {
    for tag in tags {
        let insert = "INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)";
        connection.execute(insert, params![id, tag.0])?;
    }
    Ok(())
}

/// Reads the columns of [`ENTRY`].
fn entry_of(row: &Row<'_>) -> Result<RunEntry, HistoryError> {
    let id = row.get(0).unwrap_or_default();
    let read = || -> Result<RunEntry, Box<dyn Error>> {
        let text = |column| row.get::<_, String>(column);
        let tags: Vec<String> = serde_json::from_str(&text(10)?)?;
        // The file may come from elsewhere, and names and tags are printed as they are.
        tags.iter().try_for_each(|tag| tag.parse::<Tag>().map(drop))?;
        Ok(RunEntry {
            id,
            name: text(1)?.parse::<Name>()?.to_string(),
            tags,
            run_id: text(2)?,
            time: text(3)?,
            grade: serde_json::from_str(&format!("\"{}\"", text(4)?))?,
            plan_sha256: row.get(5)?,
            key: SeriesKey {
                plan: serde_json::from_str(&text(6)?)?,
                machine: serde_json::from_str(&text(7)?)?,
            },
            figures: serde_json::from_str(&text(8)?)?,
            command: serde_json::from_str(&text(9)?)?,
        })
    };
    read().map_err(|fault| HistoryError::Damaged { id, fault: fault.to_string() })
}

/// The JSON of a document, compressed.
fn packed(document: &Document) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let json = serde_json::to_vec(document).expect("a document is JSON");
    encoder.write_all(&json).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

#[cfg(test)]
mod tests;
