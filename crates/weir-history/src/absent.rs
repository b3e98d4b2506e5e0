//! The history in a build without SQLite. There is none: opening it fails, so that the other
//! functions compile and are never reached.

use std::path::Path;

use weir_result::Document;

use crate::entry::{RunEntry, SavedRun};
use crate::error::HistoryError;
use crate::name::{Filter, Name, Selector, Tag};

/// A history of runs; this build has none.
#[derive(Debug)]
pub enum History {}

impl History {
    /// Fails: this build has no history.
    ///
    /// # Errors
    /// Always [`HistoryError::Unsupported`].
    pub fn open(_path: &Path) -> Result<History, HistoryError> {
        Err(HistoryError::Unsupported)
    }

    /// Fails: this build has no history.
    ///
    /// # Errors
    /// Always [`HistoryError::Unsupported`].
    pub fn create(_path: &Path) -> Result<History, HistoryError> {
        Err(HistoryError::Unsupported)
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn save(
        &mut self,
        _name: &Name,
        _tags: &[Tag],
        _document: &Document,
    ) -> Result<i64, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn entries(&self, _filter: Filter<'_>) -> Result<Vec<RunEntry>, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn newest(&self, _selector: &Selector) -> Result<RunEntry, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn documents(&self, _selector: &Selector) -> Result<Vec<SavedRun>, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn document(&self, _id: i64) -> Result<Document, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn tag(&mut self, _id: i64, _tags: &[Tag], _add: bool) -> Result<RunEntry, HistoryError> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn remove(&mut self, _ids: &[i64]) -> Result<(), HistoryError> {
        match *self {}
    }
}
