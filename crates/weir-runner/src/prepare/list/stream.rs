//! A list that is longer than what is prepared, from where it can be read once, such as standard
//! input: its rows are read while the load runs.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use aws_lc_rs::digest::{Context as Digest, SHA256};
use weir_engine::NextRow;
use weir_requests::list::{Row, RowReader};
use weir_result::document::{Input, InputRole};
use weir_result::{ListOrder, Plan};
use weir_text::Setting;
use weir_text::setting::{DURATION, LIST, LIST_ORDER, REQUESTS, WARMUP};

use super::long::RowPreparer;
use super::rows::{at, in_list};
use crate::digest::hexadecimal;
use crate::errors::shown;
use crate::input::open_input;
use crate::spec::RunSpec;

/// Path of standard input.
const STANDARD_INPUT: &str = "/dev/stdin";

/// The part of a stream that was read, which is known at the end of a run.
pub(crate) struct StreamFacts {
    path: PathBuf,
    /// Number of its rows.
    rows: AtomicU64,
    /// Digest and number of its bytes.
    bytes: Mutex<(Digest, u64)>,
}

impl fmt::Debug for StreamFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamFacts { path, rows, .. } = self;
        f.debug_struct("StreamFacts")
            .field("path", path)
            .field("rows", rows)
            .finish_non_exhaustive()
    }
}

impl StreamFacts {
    fn bytes(&self) -> MutexGuard<'_, (Digest, u64)> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the description of the part that was read.
    pub(crate) fn input(&self) -> Input {
        let (digest, bytes) = self.bytes().clone();
        let path = self.path.to_string_lossy().into_owned();
        Input { role: InputRole::List, path, bytes, sha256: hexadecimal(digest.finish().as_ref()) }
    }

    /// Returns the plan with what is known once the stream was read. A run that was interrupted may
    /// have `planned` more slots than there were rows by then.
    pub(crate) fn complete(&self, plan: &Plan, planned: u64) -> Plan {
        let mut plan = plan.clone();
        let rows = self.rows.load(Ordering::Acquire);
        plan.load.requests.get_or_insert(rows.max(planned));
        if let Some(list) = &mut plan.list {
            (list.rows, list.turns, list.sha256) = (rows, rows, self.input().sha256);
        }
        plan
    }
}

/// A stream, of which the bytes that are used are digested.
pub(super) struct StreamInput {
    input: BufReader<File>,
    facts: Arc<StreamFacts>,
}

impl StreamInput {
    /// Opens what is at `path`, which `setting` names.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(path: &Path, setting: Setting) -> Result<StreamInput> {
        let input = BufReader::new(open_input(setting, path)?);
        let rows = AtomicU64::new(0);
        let bytes = Mutex::new((Digest::new(&SHA256), 0));
        let facts = Arc::new(StreamFacts { path: path.to_owned(), rows, bytes });
        Ok(StreamInput { input, facts })
    }

    /// Returns the description of the part that was read.
    pub(super) fn facts(&self) -> Arc<StreamFacts> {
        Arc::clone(&self.facts)
    }
}

impl Read for StreamInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for StreamInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let mut bytes = self.facts.bytes();
        bytes.0.update(&self.input.buffer()[..count]);
        bytes.1 += count as u64;
        drop(bytes);
        self.input.consume(count);
    }
}

/// The rows behind those that were read before the load.
pub(super) struct UnreadRows {
    reader: Mutex<Option<RowReader<StreamInput>>>,
    facts: Arc<StreamFacts>,
}

impl fmt::Debug for UnreadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnreadRows").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl UnreadRows {
    pub(super) fn new(reader: RowReader<StreamInput>, facts: Arc<StreamFacts>) -> UnreadRows {
        UnreadRows { reader: Mutex::new(Some(reader)), facts }
    }

    pub(super) fn facts(&self) -> Arc<StreamFacts> {
        Arc::clone(&self.facts)
    }

    /// Returns what reads the rows, `first` before the others, and prepares them. It fails if there
    /// are fewer than `requests`. `place` is that of a row in messages, before its number.
    ///
    /// # Panics
    /// If it was called before.
    pub(super) fn take_next(
        &self,
        first: Vec<Row>,
        preparer: RowPreparer,
        place: String,
        requests: Option<u64>,
    ) -> NextRow {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut reader = reader.expect("a list is prepared once");
        let mut first = first.into_iter();
        let facts = self.facts();
        Box::new(move || {
            let row = match first.next() {
                Some(row) => Some(row),
                None => reader.take().map_err(|error| in_list(&place, &error).to_string())?,
            };
            let Some(row) = row else {
                let rows = facts.rows.load(Ordering::Acquire);
                return match requests.filter(|requests| rows < *requests) {
                    Some(requests) => Err(format!(
                        "{LIST} {} has {rows} requests and is read once: {REQUESTS} {requests} \
                         needs another pass; write it to a file",
                        name(&facts.path)
                    )),
                    None => Ok(None),
                };
            };
            let request = preparer.request(&row);
            let request =
                request.map_err(|error| format!("{}: {error:#}", at(&place, row.position)))?;
            facts.rows.fetch_add(1, Ordering::AcqRel);
            Ok(Some(request))
        })
    }
}

/// Returns the name of a list's file in messages.
pub(super) fn name(path: &Path) -> String {
    match path == Path::new(STANDARD_INPUT) {
        true => "(standard input)".to_owned(),
        false => shown(path),
    }
}

/// Returns the number of requests of a run that reads its list once; `None` if the list decides it.
///
/// # Errors
/// When it may need a second pass.
pub(super) fn requests(spec: &RunSpec, order: ListOrder, path: &Path) -> Result<Option<u64>> {
    let load = &spec.load;
    let has_warmup = load.warmup.is_auto || load.warmup.span_ns > 0;
    match (order, load.requests) {
        (ListOrder::Once, _) => Ok(None),
        (ListOrder::Sequential, Some(requests)) if load.length_ns().is_none() && !has_warmup => {
            Ok(Some(requests))
        }
        _ => bail!(
            "{LIST} {} is too long to be kept, and is read once: give {LIST_ORDER} once, or \
             {REQUESTS} without {DURATION}, {WARMUP} and {LIST_ORDER}; or write it to a file",
            name(path)
        ),
    }
}
