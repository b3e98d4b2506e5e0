//! Transport of rows from workers to a writer: chunks circulate between the two, so that a worker
//! neither waits nor allocates while the load runs. A row without room is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use super::RawRow;

/// Greatest number of rows of a chunk: sending one, which takes about a microsecond, is then
/// negligible beside the requests it holds.
const CHUNK_ROWS_MAX: usize = 4096;

/// Least number of chunks of a worker: one to fill, one to empty, two in transit.
const CHUNKS_MIN: usize = 4;

/// Log of the workers' rows. Clones are the same log.
#[derive(Clone, Debug)]
pub struct RawLog {
    sender: SyncSender<Message>,
    size: SinkSize,
    lost: Arc<AtomicU64>,
}

/// End of the log that a worker writes its rows to.
#[derive(Debug)]
pub struct RawSink {
    /// Chunk to fill; `None` while the writer has all of them.
    chunk: Option<Chunk>,
    chunk_rows: usize,
    /// Empty chunks returned by the writer.
    empty: Receiver<Chunk>,
    sender: SyncSender<Message>,
    /// Rows without room that are not yet in `all_lost`.
    lost: u64,
    all_lost: Arc<AtomicU64>,
}

/// End of the log at which the rows of all workers are received.
#[derive(Debug)]
pub struct RawSource {
    receiver: Receiver<Message>,
}

/// A full chunk, or `None` for the end: a worker that is stuck in its script keeps its sender, so
/// that the channel stays open.
type Message = Option<Chunk>;

#[derive(Debug)]
struct Chunk {
    rows: Vec<RawRow>,
    /// Channel back to its sink.
    home: SyncSender<Chunk>,
}

/// Buffer size of one sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SinkSize {
    chunks: usize,
    chunk_rows: usize,
}

impl SinkSize {
    /// Computes one worker's share of `bytes`; at least a row in each chunk.
    fn of_share(bytes: usize, workers: usize) -> SinkSize {
        let rows = bytes / workers.max(1) / size_of::<RawRow>();
        let chunk_rows = (rows / CHUNKS_MIN).clamp(1, CHUNK_ROWS_MAX);
        SinkSize { chunks: (rows / chunk_rows).max(CHUNKS_MIN), chunk_rows }
    }
}

impl RawLog {
    /// Creates a log for `workers` workers, whose buffers take `bytes` together, and its other end.
    pub fn new(bytes: usize, workers: u32) -> (RawLog, RawSource) {
        let workers = usize::try_from(workers).expect("a worker is a thread of this machine");
        let size = SinkSize::of_share(bytes, workers);
        // Room for every chunk, and for the end message: sending never waits.
        let (sender, receiver) = sync_channel(workers * size.chunks + 1);
        (RawLog { sender, size, lost: Arc::default() }, RawSource { receiver })
    }

    /// Creates the sink of one worker; at most one for each worker. Its memory is allocated, and
    /// touched, here.
    pub fn sink(&self) -> RawSink {
        let SinkSize { chunks, chunk_rows } = self.size;
        let (home, empty) = sync_channel(chunks);
        for _ in 0..chunks {
            // The kernel provides memory at the first write to it, which must not be in the window.
            let mut rows = vec![RawRow::EMPTY; chunk_rows];
            rows.clear();
            let chunk = Chunk { rows, home: home.clone() };
            home.try_send(chunk).expect("the channel holds all of them");
        }
        RawSink {
            chunk: None,
            chunk_rows,
            empty,
            sender: self.sender.clone(),
            lost: 0,
            all_lost: Arc::clone(&self.lost),
        }
    }

    /// Sends the end message, after which the writer receives nothing; called after the workers
    /// have ended. Rows of a worker that has not ended are dropped.
    pub fn end(&self) {
        // A writer that has ended needs no end message.
        let _gone = self.sender.send(None);
    }

    /// Returns the number of rows without room in the sinks that have ended.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl RawSink {
    /// Writes a row, or counts it as lost if the writer is too far behind. Never waits.
    #[inline]
    pub fn push(&mut self, row: RawRow) {
        if self.chunk.is_none() {
            self.chunk = self.empty.try_recv().ok();
        }
        self.put(row);
    }

    /// Writes a row, but waits for the writer. Used after the load, when there is time.
    pub fn push_waiting(&mut self, row: RawRow) {
        if self.chunk.is_none() {
            self.chunk = self.empty.recv().ok();
        }
        self.put(row);
    }

    /// Counts rows as lost that were never made: too many to write.
    pub fn lose(&mut self, rows: u64) {
        self.lost += rows;
    }

    /// Sends the remaining rows.
    ///
    /// Returns the number of rows without room.
    pub fn finish(mut self) -> u64 {
        self.hand_over();
        let lost = self.lost;
        self.count_lost();
        lost
    }

    #[inline]
    fn put(&mut self, row: RawRow) {
        let Some(chunk) = &mut self.chunk else {
            self.lost += 1;
            return;
        };
        chunk.rows.push(row);
        if chunk.rows.len() >= self.chunk_rows {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let Some(chunk) = self.chunk.take() else { return };
        match self.sender.try_send(Some(chunk)) {
            Ok(()) => {}
            // The writer has ended, or there are more sinks than the log was made for.
            Err(TrySendError::Disconnected(back) | TrySendError::Full(back)) => {
                let mut chunk = back.expect("a chunk was sent");
                self.lost += chunk.rows.len() as u64;
                chunk.rows.clear();
                self.chunk = Some(chunk);
            }
        }
    }

    fn count_lost(&mut self) {
        self.all_lost.fetch_add(std::mem::take(&mut self.lost), Ordering::Relaxed);
    }
}

impl Drop for RawSink {
    fn drop(&mut self) {
        // A worker that fails does not call `finish`, but its lost rows must be counted.
        self.lost += self.chunk.as_ref().map_or(0, |chunk| chunk.rows.len() as u64);
        self.count_lost();
    }
}

impl RawSource {
    /// Passes every chunk of rows to `take`, until [`RawLog::end`] or the end of the last sink. The
    /// rows of one sink come in order, chunks of several sinks interleave.
    ///
    /// # Errors
    /// The first error of `take`; rows after it count as lost.
    pub fn receive<E>(self, mut take: impl FnMut(&[RawRow]) -> Result<(), E>) -> Result<(), E> {
        while let Ok(Some(Chunk { mut rows, home })) = self.receiver.recv() {
            take(&rows)?;
            rows.clear();
            let chunk = Chunk { rows, home: home.clone() };
            // Its worker may have ended, which closes the channel.
            let _gone = home.try_send(chunk);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: usize = size_of::<RawRow>();

    fn row(intended_at: u64) -> RawRow {
        RawRow { intended_at, ..RawRow::EMPTY }
    }

    /// Returns the due times of all rows received.
    fn received(source: RawSource) -> Vec<u64> {
        let mut seen = Vec::new();
        let taken: Result<(), ()> = source.receive(|rows| {
            seen.extend(rows.iter().map(|row| row.intended_at));
            Ok(())
        });
        taken.expect("nothing fails");
        seen
    }

    #[test]
    fn buffers_are_shared_out_within_their_bound() {
        for (bytes, workers, chunks, chunk_rows) in [
            (0, 1, 4, 1),
            (ROW * 40, 1, 4, 10),
            (ROW * 4096 * 4, 1, 4, 4096),
            (ROW * 4096 * 20, 2, 10, 4096),
            (32 << 20, 5_000, 4, (32 << 20) / (20_000 * ROW)),
            (32 << 20, 0, (32 << 20) / (4096 * ROW), 4096),
        ] {
            let size = SinkSize::of_share(bytes, workers);
            assert_eq!(size, SinkSize { chunks, chunk_rows }, "{bytes} for {workers}");
            let taken = workers * size.chunks * size.chunk_rows * ROW;
            assert!(taken <= bytes.max(workers * CHUNKS_MIN * ROW), "{taken} of {bytes}");
        }
    }

    #[test]
    fn rows_come_out_in_order_and_whole() {
        let (log, source) = RawLog::new(ROW * 12, 2);
        let mut first = log.sink();
        let mut second = log.sink();
        (0..4).for_each(|at| first.push(row(at)));
        (10..13).for_each(|at| second.push(row(at)));
        assert_eq!((first.finish(), second.finish()), (0, 0));
        log.end();
        let seen = received(source);
        assert_eq!(seen.iter().filter(|at| **at < 10).copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(seen.iter().filter(|at| **at >= 10).copied().collect::<Vec<_>>(), [10, 11, 12]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (log, source) = RawLog::new(ROW * 8, 1);
        let mut sink = log.sink();
        (0..11).for_each(|at| sink.push(row(at)));
        sink.lose(100);
        assert_eq!(sink.finish(), 103);
        assert_eq!(log.lost(), 103);
        log.end();
        assert_eq!(received(source), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn chunks_come_back() {
        let (log, source) = RawLog::new(ROW * 8, 1);
        let mut sink = log.sink();
        (0..8).for_each(|at| sink.push(row(at)));
        let mut seen = 0;
        let stopped = source.receive(|rows| {
            seen += rows.len();
            // Every earlier chunk is back, and each takes two rows.
            if seen > 2 && seen <= 8 {
                sink.push(row(9));
                sink.push(row(9));
            }
            if seen == 14 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((stopped, seen), (Err("enough"), 14));
        assert_eq!(sink.finish(), 0);
    }

    #[test]
    fn a_writer_that_gives_up_loses_the_rest() {
        let (log, source) = RawLog::new(ROW * 8, 1);
        let mut sink = log.sink();
        (0..2).for_each(|at| sink.push(row(at)));
        assert_eq!(source.receive(|_| Err("the disk is full")), Err("the disk is full"));
        (0..101).for_each(|at| sink.push_waiting(row(at)));
        assert_eq!(sink.finish(), 101);
        log.end();
    }

    #[test]
    fn a_sink_that_is_dropped_counts_what_it_held() {
        let (log, source) = RawLog::new(ROW * 8, 1);
        let mut sink = log.sink();
        (0..3).for_each(|at| sink.push(row(at)));
        drop(sink);
        assert_eq!(log.lost(), 1);
        drop(log);
        assert_eq!(received(source), [0, 1]);
    }
}
