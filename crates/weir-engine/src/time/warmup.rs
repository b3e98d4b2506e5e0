//! The warm-up that ends when the load is steady (`--warmup auto`, METHOD 1.12).
//!
//! Workers add up the responses of each tenth of a second in shared counters. The first worker
//! evaluates them and sets t0. Until then t0 is the latest end of the warm-up.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_io::Nanos;

/// Length of a bin, in nanoseconds.
const BIN_NS: u64 = 100_000_000;

/// Bins per batch, as in MSER-5.
const BATCH: usize = 5;

/// Most bins: ten minutes. Of a longer warm-up only the first ten minutes are evaluated.
const BINS_MAX: u64 = 6_000;

/// Delay after the end of a bin until all workers have added theirs, in nanoseconds.
const LATE_NS: u64 = 200_000_000;

/// Responses of all workers, by tenths of a second from S.
#[derive(Debug)]
pub(crate) struct WarmupBoard {
    bins: Box<[WarmupBin]>,
}

#[derive(Debug, Default)]
struct WarmupBin {
    responses: AtomicU64,
    time_ns: AtomicU64,
}

impl WarmupBoard {
    /// Returns empty bins for a warm-up of at most `warmup_ns`.
    pub(crate) fn new(warmup_ns: u64) -> WarmupBoard {
        let bins = warmup_ns.div_ceil(BIN_NS).min(BINS_MAX);
        WarmupBoard { bins: (0..bins).map(|_| WarmupBin::default()).collect() }
    }

    fn add(&self, sum: Sum) {
        if let Some(bin) = self.bins.get(sum.bin as usize) {
            bin.responses.fetch_add(sum.responses, Ordering::Relaxed);
            bin.time_ns.fetch_add(sum.time_ns, Ordering::Relaxed);
        }
    }

    /// True if the responses until `elapsed_ns` after S are steady: MSER deletes less than half of
    /// the series of rates, and of the series of mean times.
    pub(crate) fn has_settled(&self, elapsed_ns: u64) -> bool {
        let complete = (elapsed_ns.saturating_sub(LATE_NS) / BIN_NS) as usize;
        let bins = &self.bins[..complete.min(self.bins.len())];
        let mut rates = Vec::new();
        let mut times = Vec::new();
        for batch in bins.chunks_exact(BATCH) {
            let sum = |of: fn(&WarmupBin) -> &AtomicU64| {
                batch.iter().map(|bin| of(bin).load(Ordering::Relaxed)).sum::<u64>() as f64
            };
            let responses = sum(|bin| &bin.responses);
            // A batch without a response is infinitely far from steady.
            if responses == 0.0 {
                return false;
            }
            rates.push(responses);
            times.push(sum(|bin| &bin.time_ns) / responses);
        }
        let is_interior = |series: &[f64]| {
            weir_stats::mser(series).is_some_and(|deleted| 2 * (deleted + 1) < series.len())
        };
        is_interior(&rates) && is_interior(&times)
    }
}

/// Responses of one worker that are not yet added to the board.
#[derive(Debug, Default)]
pub(crate) struct WarmupDetector {
    current: Sum,
    /// Bins that are over and not yet added.
    complete: Vec<Sum>,
    /// Time of the next update of the board.
    pub(crate) look_at: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bin: u64,
    responses: u64,
    time_ns: u64,
}

impl WarmupDetector {
    /// Counts `responses` responses that arrived `since_start_ns` after S and took `time_ns` each.
    #[inline]
    pub(crate) fn responded(&mut self, since_start_ns: u64, time_ns: u64, responses: u32) {
        let bin = since_start_ns / BIN_NS;
        if bin != self.current.bin {
            self.complete.push(self.current);
            self.current = Sum { bin, ..Sum::default() };
        }
        self.current.responses += u64::from(responses);
        let times_ns = time_ns.saturating_mul(u64::from(responses));
        self.current.time_ns = self.current.time_ns.saturating_add(times_ns);
    }

    /// Adds the bins that are over at `now` to the board.
    pub(crate) fn add_to(&mut self, board: &WarmupBoard, start: Nanos, now: Nanos) {
        if self.current.bin < now.since(start) / BIN_NS {
            self.complete.push(std::mem::take(&mut self.current));
        }
        self.complete.drain(..).for_each(|sum| board.add(sum));
        self.look_at = now.after(BIN_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Returns the time at which a load with response times `time_ns` is detected as steady.
    fn settles_at(time_ns: impl Fn(u64) -> u64) -> Option<u64> {
        let board = WarmupBoard::new(60 * SECOND_NS);
        let mut warmup = WarmupDetector::default();
        let mut noise = 1_u64;
        (0..60_000).map(|step| step * 1_000_000).find(|at| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            warmup.responded(*at, time_ns(*at) + (noise >> 54), 1);
            if warmup.look_at <= Nanos(*at) {
                warmup.add_to(&board, Nanos::ZERO, Nanos(*at));
                return board.has_settled(*at);
            }
            false
        })
    }

    #[test]
    fn a_steady_load_is_seen_soon() {
        let at = settles_at(|_| 100_000).expect("steady from the first");
        assert!((3 * SECOND_NS..6 * SECOND_NS).contains(&at), "{at}");
    }

    #[test]
    fn a_beginning_that_is_slow_is_waited_for() {
        let at = settles_at(|at| if at < 8 * SECOND_NS { 5_000_000 - at / 2_000 } else { 100_000 });
        let at = at.expect("steady after 8 s");
        assert!((8 * SECOND_NS..25 * SECOND_NS).contains(&at), "{at}");
    }

    #[test]
    fn what_never_settles_is_not_waited_out() {
        assert_eq!(settles_at(|at| at / 1_000), None);
    }
}
