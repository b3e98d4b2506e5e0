//! The frames of the last second of a load, and the figures that follow from their differences.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use weir_engine::WorkerFrame;
use weir_result::histogram::highest_in;

use crate::frame::Frame;

/// Frames in one second.
const FRAMES: usize = 4;

/// Percentile of the send lag.
const P: f64 = 99.0;

/// Bits of a bucket's number by which buckets of frames differ that are merged into one.
const MERGED: usize = (1 << WorkerFrame::COARSENESS) - 1;

/// The frames of the last second. Before the first one stands the frame of a load that has not
/// begun.
#[derive(Clone, Debug, Default)]
pub struct RecentFrames {
    /// The latest frame.
    pub latest: Frame,
    /// Those before it, the oldest first.
    earlier: VecDeque<Frame>,
}

impl RecentFrames {
    /// Adds a frame, and drops the one that is then older than a second.
    pub fn push(&mut self, frame: Frame) {
        if self.earlier.len() == FRAMES {
            self.earlier.pop_front();
        }
        self.earlier.push_back(mem::replace(&mut self.latest, frame));
    }

    /// Returns the responses per second; 0 before two timed frames.
    pub fn rate_rps(&self) -> f64 {
        let timed =
            self.earlier.iter().find_map(|frame| Some((frame.at_ns?, frame.ended.completed)));
        let (Some((from_ns, before)), Some(until_ns)) = (timed, self.latest.at_ns) else {
            return 0.0;
        };
        let span_ns = until_ns.saturating_sub(from_ns);
        let completed = self.latest.ended.completed.saturating_sub(before);
        if span_ns > 0 { completed as f64 / (span_ns as f64 / 1e9) } else { 0.0 }
    }

    /// Returns the 99th percentile of the send lag of the last second, in nanoseconds. It is
    /// coarser than the percentile of all requests. `None` in a closed loop, and without a measured
    /// request.
    pub fn send_lag_p99_ns(&self) -> Option<u64> {
        let before = &self.earlier.front()?.lags.send_lag;
        let now = &self.latest.lags.send_lag;
        // The highest bucket stands for those merged into it, so the ends of both are compared.
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for (bucket, count) in now.buckets() {
            *counts.entry(bucket | MERGED).or_default() += count;
        }
        for (bucket, count) in before.buckets() {
            let entry = counts.entry(bucket | MERGED).or_default();
            *entry = entry.saturating_sub(count);
        }
        // The rank of the percentile, counted from the greatest value.
        let recent = counts.values().sum::<u64>();
        let mut left = (recent as f64 * (1.0 - P / 100.0)) as u64;
        let found = counts.into_iter().rev().find(|(_, count)| {
            let is_within = left < *count;
            left = left.saturating_sub(*count);
            is_within
        });
        found.map(|(bucket, _)| highest_in(bucket).min(now.exact().max_ns))
    }
}

#[cfg(test)]
mod tests {
    use weir_result::Tally;

    use super::*;
    use crate::frame::{EndedRequests, SendLags};

    /// The frame of a load with `slow` requests 100 µs late and `fast` requests 1 µs late.
    fn frame(slow: u32, fast: u32) -> Frame {
        let mut tally = Tally::new();
        let values = [(100_000, slow), (1_000, fast)].into_iter().filter(|(_, times)| *times > 0);
        values.for_each(|(ns, times)| tally.record_times(ns, times));
        let send_lag = tally.sparse(WorkerFrame::COARSENESS);
        Frame { lags: SendLags { send_lag, ..SendLags::default() }, ..Frame::default() }
    }

    #[test]
    fn the_send_lag_of_the_last_second_forgets_what_was_before() {
        let mut frames = RecentFrames::default();
        assert_eq!(frames.send_lag_p99_ns(), None);
        frames.push(frame(10, 190));
        assert!(frames.send_lag_p99_ns() > Some(99_999), "{:?}", frames.send_lag_p99_ns());
        (1..=5).for_each(|index| frames.push(frame(10, 190 + index * 100)));
        // The frame before the last four was the first one after the slow requests.
        assert_eq!(frames.send_lag_p99_ns(), Some(1_007));
        let all = frames.latest.lags.send_lag.percentile(99.0);
        assert!(all.is_some_and(|ns| (100_000..100_900).contains(&ns)), "{all:?}");
        (1..=5).for_each(|index| frames.push(frame(10 + index, 690)));
        let recent = frames.send_lag_p99_ns().expect("4 values");
        assert!((100_000..100_900).contains(&recent), "{recent}");
    }

    #[test]
    fn the_rate_is_over_the_timed_frames_of_the_last_second() {
        let mut frames = RecentFrames::default();
        let frame = |at_ns, completed| {
            let ended = EndedRequests { completed, ..EndedRequests::default() };
            Frame { at_ns, ended, ..Frame::default() }
        };
        frames.push(frame(None, 5));
        assert_eq!(frames.rate_rps(), 0.0);
        for quarter in 0..8 {
            let at_ns = Some(quarter * 250_000_000);
            let completed = 10 * u64::try_from(quarter * quarter).expect("not negative");
            frames.push(frame(at_ns, completed));
        }
        assert_eq!(frames.rate_rps(), 400.0, "490 - 90 responses");
    }
}
