//! The rows of a list that is too long to be prepared before the load. For each worker a thread
//! reads them ahead of their slots, in bounded memory.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::{io, vec};

use weir_http::RawRequest;
use weir_io::{Clock, Nanos};

use crate::control::Control;
use crate::job::Job;
use crate::request_list::{ListRows, ListedRequest};
use crate::script::Batch;

/// Rows that the threads hand over at once.
const BLOCK_ROWS: usize = 64;

/// Rows read ahead over all workers, at least two blocks for each.
const AHEAD_ROWS: usize = 16_384;

/// The rows of one worker, in the order of their slots.
#[derive(Debug)]
pub(crate) struct RowFeed {
    receiver: Receiver<Vec<ListedRequest>>,
    block: vec::IntoIter<ListedRequest>,
    /// Scheme of the requests, if they are sent as fields.
    scheme: Option<&'static str>,
    is_over: bool,
    /// Time since which a slot waits for its row.
    starved_since: Option<Nanos>,
    /// Time that slots waited for their rows, in nanoseconds.
    pub(crate) starved_ns: u64,
}

impl RowFeed {
    /// Returns the feed of requests that are sent as fields, if there is a scheme.
    pub(crate) fn in_scheme(self, scheme: Option<&'static str>) -> RowFeed {
        RowFeed { scheme, ..self }
    }

    /// True if no row is left.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Moves the next row into `batch`. False if none has been read yet, or none is left.
    pub(crate) fn fill(&mut self, batch: &mut Batch) -> bool {
        let Some(ListedRequest { request, name, .. }) = self.next() else { return false };
        let bytes = request.bytes();
        batch.bytes.clear();
        batch.bytes.extend_from_slice(bytes);
        let length = u32::try_from(bytes.len()).expect("requests are limited when they are read");
        batch.requests.clear();
        batch.requests.push(RawRequest { bytes: length, traits: request.traits() });
        batch.fields.clear();
        batch.fields.extend(self.scheme.map(|scheme| Arc::new(request.request(scheme))));
        batch.tag = name;
        true
    }

    /// Notes that a slot that could be sent at `now` waits for its row.
    pub(crate) fn starve(&mut self, now: Nanos) {
        if !self.is_over {
            self.starved_since.get_or_insert(now);
        }
    }

    /// Notes that the row that a slot waited for is there.
    pub(crate) fn relieve(&mut self, now: Nanos) {
        if let Some(since) = self.starved_since.take() {
            self.starved_ns += now.since(since);
        }
    }

    fn next(&mut self) -> Option<ListedRequest> {
        if let Some(row) = self.block.next() {
            return Some(row);
        }
        match self.receiver.try_recv() {
            Ok(block) => self.block = block.into_iter(),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => self.is_over = true,
        }
        self.block.next()
    }
}

/// Starts the reader of a worker's rows, if its list is read during the load. A row that cannot be
/// read stops the run.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn start(
    job: &Arc<Job>,
    worker: u32,
    control: &Arc<Control>,
    clock: Clock,
) -> io::Result<Option<(RowFeed, JoinHandle<()>)>> {
    let Some(ListRows::Read(_)) = job.list.as_ref().map(|list| &list.rows) else {
        return Ok(None);
    };
    let blocks = (AHEAD_ROWS / BLOCK_ROWS / job.plan.own_threads() as usize).max(2);
    let (sender, receiver) = sync_channel(blocks);
    let (job, control) = (Arc::clone(job), Arc::clone(control));
    let read = move || {
        if let Err(text) = send_rows(&job, worker, &sender) {
            control.list_failed(text, clock.now());
        }
    };
    let thread = Builder::new().name(format!("weir-list-{worker}")).spawn(read)?;
    let feed = RowFeed {
        receiver,
        block: Vec::new().into_iter(),
        scheme: None,
        is_over: false,
        starved_since: None,
        starved_ns: 0,
    };
    Ok(Some((feed, thread)))
}

/// Reads the rows of a worker, until none is left or the worker has ended.
fn send_rows(
    job: &Job,
    worker: u32,
    sender: &SyncSender<Vec<ListedRequest>>,
) -> Result<(), String> {
    let Some(list) = &job.list else { return Ok(()) };
    let ListRows::Read(source) = &list.rows else { return Ok(()) };
    let mut reader = source.open()?;
    let turns = job.turns_of(job.partition(worker));
    let mut nth = 0;
    loop {
        let mut block = Vec::with_capacity(BLOCK_ROWS);
        while block.len() < BLOCK_ROWS {
            let Some(row) = list.row_at(turns.nth(nth)) else { break };
            block.push(reader.read(row)?);
            nth += 1;
        }
        let is_last = block.len() < BLOCK_ROWS;
        if sender.send(block).is_err() || is_last {
            return Ok(());
        }
    }
}
