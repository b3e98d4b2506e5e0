//! The rows of a list that is too long to be prepared before the load. For each worker a thread
//! reads them ahead of their slots, in bounded memory; one thread for all workers reads a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::{io, vec};

use weir_http::RawRequest;
use weir_io::{Clock, Nanos};

use super::batch::Batch;
use crate::control::Control;
use crate::job::{Job, ListRows, ListTurn, ListedRequest, RequestList, RowStream};

/// Rows that the threads hand over at once.
const BLOCK_ROWS: usize = 64;

/// Rows read ahead over all workers, at least two blocks for each.
const AHEAD_ROWS: usize = 16_384;

/// Least number of rows of a stream that one worker has ahead.
const STREAM_AHEAD_MIN: usize = 64;

/// Number of a stream's rows as long as its end is not reached.
const NO_END: u64 = u64::MAX;

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
    /// Number of a stream's rows, once its end is reached; `None` without a stream, or after it was
    /// taken.
    end: Option<Arc<AtomicU64>>,
}

impl RowFeed {
    /// Returns the feed of requests that are sent as fields, if there is a scheme.
    pub(crate) fn in_scheme(self, scheme: Option<&'static str>) -> RowFeed {
        RowFeed { scheme, ..self }
    }

    fn new(receiver: Receiver<Vec<ListedRequest>>, end: Option<Arc<AtomicU64>>) -> RowFeed {
        RowFeed {
            receiver,
            block: Vec::new().into_iter(),
            scheme: None,
            is_over: false,
            starved_since: None,
            starved_ns: 0,
            end,
        }
    }

    /// Returns the number of rows of a stream, once, when its end is reached.
    pub(crate) fn take_end(&mut self) -> Option<u64> {
        let rows = self.end.as_ref()?.load(Ordering::Acquire);
        (rows != NO_END).then(|| {
            self.end = None;
            rows
        })
    }

    /// True if a slot that could be sent waits for its row.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved_since.is_some() && !self.is_over
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

/// The feeds of a run's workers, and the threads that end with them.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    /// One for each worker, in their order; none if the list is in memory.
    pub(crate) feeds: vec::IntoIter<RowFeed>,
    /// The thread of a stream is not among them: it may wait for input that never comes.
    pub(crate) readers: Vec<JoinHandle<()>>,
}

impl Feeds {
    /// Starts the readers of the workers' rows, if their list is read during the load. A row that
    /// cannot be read stops the run.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(job: &Arc<Job>, control: &Arc<Control>, clock: Clock) -> io::Result<Feeds> {
        let Some(list) = job.requests.list.clone() else { return Ok(Feeds::default()) };
        match &list.rows {
            ListRows::Prepared(_) => Ok(Feeds::default()),
            ListRows::Read(_) => {
                let mut feeds = Vec::new();
                let mut readers = Vec::new();
                for worker in job.plan.own_workers() {
                    let (feed, reader) = start_reader(job, worker, control, clock)?;
                    feeds.push(feed);
                    readers.push(reader);
                }
                Ok(Feeds { feeds: feeds.into_iter(), readers })
            }
            ListRows::Streamed(stream) => {
                let feeds = start_stream(job, Arc::clone(stream), control, clock)?;
                Ok(Feeds { feeds: feeds.into_iter(), readers: Vec::new() })
            }
        }
    }
}

/// Starts the reader of a worker's rows.
fn start_reader(
    job: &Arc<Job>,
    worker: u32,
    control: &Arc<Control>,
    clock: Clock,
) -> io::Result<(RowFeed, JoinHandle<()>)> {
    let blocks = (AHEAD_ROWS / BLOCK_ROWS / job.plan.own_threads() as usize).max(2);
    let (sender, receiver) = sync_channel(blocks);
    let job = Arc::clone(job);
    let control = Arc::clone(control);
    let read = move || {
        if let Err(text) = send_rows(&job, worker, &sender) {
            control.list_failed(text, clock.now());
        }
    };
    let thread = Builder::new().name(format!("weir-list-{worker}")).spawn(read)?;
    Ok((RowFeed::new(receiver, None), thread))
}

/// Starts the reader of a stream, and returns the feeds of the workers.
fn start_stream(
    job: &Arc<Job>,
    stream: Arc<RowStream>,
    control: &Arc<Control>,
    clock: Clock,
) -> io::Result<Vec<RowFeed>> {
    // Rows go one by one: those of a slow stream must not wait for others.
    let ahead = (AHEAD_ROWS / job.plan.own_threads() as usize).max(STREAM_AHEAD_MIN);
    let end = Arc::new(AtomicU64::new(NO_END));
    let mut senders = vec![None; job.plan.threads as usize];
    let mut feeds = Vec::new();
    for worker in job.plan.own_workers() {
        let (sender, receiver) = sync_channel(ahead);
        senders[worker as usize] = Some(sender);
        feeds.push(RowFeed::new(receiver, Some(Arc::clone(&end))));
    }
    let job = Arc::clone(job);
    let control = Arc::clone(control);
    let read = move || {
        let Some(list) = &job.requests.list else { return };
        let owner = |index| job.partition(0).owner(index) as usize;
        if let Err(text) = send_stream(list, &stream, owner, &mut senders, &end) {
            control.list_failed(text, clock.now());
        }
    };
    Builder::new().name("weir-list".to_owned()).spawn(read)?;
    Ok(feeds)
}

/// Reads the rows of a stream and sends each to the worker that owns its slot, until none is left
/// or all workers have ended. Rows of other parts have no sender.
fn send_stream(
    list: &RequestList,
    stream: &RowStream,
    owner: impl Fn(u64) -> usize,
    senders: &mut [Option<SyncSender<Vec<ListedRequest>>>],
    end: &AtomicU64,
) -> Result<(), String> {
    let Some(mut next) = stream.take() else { return Ok(()) };
    let mut index = 0;
    while list.row_at(ListTurn::Slot(index)).is_some() && senders.iter().any(Option::is_some) {
        let Some(row) = next()? else {
            end.store(index, Ordering::Release);
            return Ok(());
        };
        let sender = &mut senders[owner(index)];
        if sender.as_ref().is_some_and(|sender| sender.send(vec![row]).is_err()) {
            *sender = None;
        }
        index += 1;
    }
    Ok(())
}

/// Reads the rows of a worker, until none is left or the worker has ended.
fn send_rows(
    job: &Job,
    worker: u32,
    sender: &SyncSender<Vec<ListedRequest>>,
) -> Result<(), String> {
    let Some(list) = &job.requests.list else { return Ok(()) };
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
