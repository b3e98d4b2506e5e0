//! A list of more rows than are prepared: a file whose rows are read during the load.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use aws_lc_rs::digest::{Context as Digest, SHA256};
use weir_engine::{ListedRequest, RowCursor, RowSource};
use weir_requests::list::{IndexedRows, ListFormat, Names, RowIndex, RowIndexer};
use weir_result::ListOrder;
use weir_result::document::{Input, InputRole};
use weir_text::setting::{EXPECT, LIST};

use super::request::{Common, RowPlace};
use super::rows::{in_list, reader};
use crate::digest::hexadecimal;
use crate::errors::shown;
use crate::input::open_input;
use crate::spec::InputFile;

/// Bytes that are read at once from a list in file order, and from one in random order.
const IN_ORDER_BYTES: usize = 256 * 1024;
const AT_RANDOM_BYTES: usize = 16 * 1024;

/// The index of a list's file, and the description of its content.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) index: Arc<RowIndex>,
    pub(super) input: Input,
}

impl Indexed {
    /// Reads a file from begin to end; a second time if its rows may have several lines, and are
    /// read to be found. `None` if they are no lines.
    ///
    /// # Errors
    /// When it cannot be read, a row is no request, or it is not the file that was specified.
    pub(super) fn of(file: &InputFile, place: &str, format: ListFormat) -> Result<Option<Indexed>> {
        let failed = || format!("{LIST} {} cannot be read", shown(&file.path));
        let mut indexer = RowIndexer::new(format);
        let mut opened = open_input(LIST, &file.path)?;
        let mut digest = Digest::new(&SHA256);
        let mut bytes = 0;
        let mut piece = vec![0; IN_ORDER_BYTES];
        loop {
            let count = opened.read(&mut piece).with_context(failed)?;
            if count == 0 {
                break;
            }
            digest.update(&piece[..count]);
            indexer.iter_mut().for_each(|indexer| indexer.add(&piece[..count]));
            bytes += count as u64;
        }
        let index = match indexer {
            Some(indexer) => indexer.finish(),
            None => {
                opened.rewind().with_context(failed)?;
                let input = BufReader::with_capacity(IN_ORDER_BYTES, opened);
                let index = reader(place, input, Some(format)).map(RowIndex::read)?;
                match index.map_err(|error| in_list(place, &error))? {
                    Some(index) => index,
                    None => return Ok(None),
                }
            }
        };
        let sha256 = hexadecimal(digest.finish().as_ref());
        let input = file.verify_digest(InputRole::List, bytes, sha256)?;
        Ok(Some(Indexed { index: Arc::new(index), input }))
    }
}

/// The rows of a long list.
#[derive(Debug)]
pub(super) struct LongList {
    pub(super) path: PathBuf,
    pub(super) index: Arc<RowIndex>,
    pub(super) preparer: RowPreparer,
}

/// Prepares the rows that are read during the load.
#[derive(Debug)]
pub(super) struct RowPreparer {
    /// Names of the rows that were read before the load.
    pub(super) names: Names,
    pub(super) common: Common,
}

impl RowSource for LongList {
    fn open(&self) -> Result<Box<dyn RowCursor + '_>, String> {
        let failed = |text: String| format!("{LIST} {}: {text}", shown(&self.path));
        let file = File::open(&self.path).map_err(|error| failed(error.to_string()))?;
        let capacity = if matches!(self.preparer.common.list.order, ListOrder::Random { .. }) {
            AT_RANDOM_BYTES
        } else {
            IN_ORDER_BYTES
        };
        let input = BufReader::with_capacity(capacity, file);
        let rows = IndexedRows::open(input, Arc::clone(&self.index));
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        Ok(Box::new(LongRows { list: self, rows }))
    }
}

/// A reader of the rows.
struct LongRows<'a> {
    list: &'a LongList,
    rows: IndexedRows<BufReader<File>>,
}

impl RowCursor for LongRows<'_> {
    fn read(&mut self, row: u64) -> Result<ListedRequest, String> {
        let failed = |text: String| format!("{LIST} {}: {text}", shown(&self.list.path));
        let row = self.rows.read(row).map_err(|error| failed(error.to_string()))?;
        let request = self.list.preparer.request(&row);
        request.map_err(|error| failed(format!("{}: {error:#}", row.position)))
    }
}

impl RowPreparer {
    /// Returns the request of a row.
    ///
    /// # Errors
    /// When it cannot be sent, or has what a list of this length cannot have.
    pub(super) fn request(&self, row: &weir_requests::list::Row) -> Result<ListedRequest> {
        if !row.expect.is_empty() {
            return Err(no_expectations());
        }
        if row.weight != 1 {
            return Err(anyhow!("a list of this length has no weights: repeat its rows"));
        }
        let marked = self.common.mark(row)?;
        if !marked.marks.fields.is_empty() {
            return Err(anyhow!("a list of this length has no templates: shorten it"));
        }
        let path = match self.common.place(&marked)? {
            RowPlace::Here(path) => path,
            RowPlace::Elsewhere(origin) => return Err(self.common.elsewhere(&origin)),
        };
        let request = self.common.request(marked, &path)?;
        let name = self.names.known(row.name.as_deref(), &request.method, &request.path);
        let name = name.context("a long list has a name for all others")?;
        Ok(ListedRequest {
            request: request.request,
            name,
            template: None,
            encoder: None,
            message: None,
        })
    }
}

/// Returns the error of a row with expectations.
pub(super) fn no_expectations() -> anyhow::Error {
    anyhow!("a list of this length has no `expect` in its rows: use {EXPECT}")
}

/// True if a file can be read several times, from any place.
pub(super) fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
