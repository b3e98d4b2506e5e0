//! Proof of a client limit by experiment: the same load again, with as many threads and with one
//! more, in turns (METHOD 1.9, `more-threads`). If one more thread speeds up a load, the client was
//! its limit.

use serde::{Deserialize, Serialize};
use weir_stats::{ValueInterval, mean_interval, ratio_interval};

use super::RatioEstimate;
use super::intervals::{Intervals, Selection};
use crate::counters::{ByOutcome, Slice};
use crate::measurements::Measurements;
use crate::quantile::{AllOutcomes, Bound};

/// Least relative rise of throughput, or fall of p99, that counts.
const EFFECT: f64 = 0.05;

const CONFIDENCE: f64 = 0.95;

/// Comparison of the same load with as many threads and with one more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProveClientSection {
    /// Workers of the run, and of the first short run of each pair.
    pub threads: u32,
    /// Workers of the second short run of each pair.
    pub more_threads: u32,
    /// Number of pairs of short runs.
    pub pairs: u32,
    /// Measured window of each short run, in nanoseconds.
    pub window_ns: u64,
    /// Requests that the short runs put on the wire; they are not in the accounting.
    pub sent: u64,
    /// Ratio of completed requests per second with more threads to those with as many; null if too
    /// few completed.
    pub throughput: Option<RatioEstimate>,
    /// Ratio of the 99th percentile of the response time with more threads to that with as many,
    /// failures slower than any response; null if there were too few responses.
    pub p99: Option<RatioEstimate>,
    /// True if the client was the limit. With more threads throughput was more than 5% higher, or
    /// p99 more than 5% lower, in every pair and over all pairs; and the interval excludes 1.
    pub is_client_limited: bool,
}

/// Two short runs, one after the other.
#[derive(Clone, Debug)]
pub struct ProofPair {
    /// Measurements with as many threads as the run.
    pub as_many: Measurements,
    /// Measurements with more threads.
    pub more: Measurements,
}

impl ProveClientSection {
    /// Compares the runs of the pairs, with so many threads and with more, each with a window of
    /// `window_ns`.
    pub fn of(
        threads: u32,
        more_threads: u32,
        window_ns: u64,
        pairs: &[ProofPair],
    ) -> ProveClientSection {
        let sides = [
            ThreadRuns::of(pairs.iter().map(|pair| &pair.as_many)),
            ThreadRuns::of(pairs.iter().map(|pair| &pair.more)),
        ];
        let ratio = |of: fn(&ThreadRuns) -> Option<ValueInterval>| {
            let [as_many, more] = &sides;
            let ratio = ratio_interval(of(more)?, of(as_many)?)?;
            Some(RatioEstimate { ratio: ratio.value, low: ratio.low, high: ratio.high })
        };
        let in_every_pair = |better: fn(&Measurements, &Measurements) -> bool| {
            pairs.iter().all(|pair| better(&pair.more, &pair.as_many))
        };
        let throughput = ratio(ThreadRuns::throughput);
        let p99 = ratio(ThreadRuns::p99);
        let is_faster = throughput.is_some_and(|x| x.ratio > 1.0 + EFFECT && x.low > 1.0)
            && in_every_pair(completes_more);
        let is_sooner = p99.is_some_and(|x| x.ratio < 1.0 - EFFECT && x.high < 1.0)
            && in_every_pair(has_lower_p99);
        let runs = || pairs.iter().flat_map(|pair| [&pair.as_many, &pair.more]);
        ProveClientSection {
            threads,
            more_threads,
            pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
            window_ns,
            sent: runs().map(|run| run.sent.warmup + run.sent.measured + run.sent.tail).sum(),
            throughput,
            p99,
            is_client_limited: is_faster || is_sooner,
        }
    }

    /// Returns the part whose client was the limit, if there is one.
    pub(super) fn worse(self, other: ProveClientSection) -> ProveClientSection {
        if other.is_client_limited && !self.is_client_limited { other } else { self }
    }
}

/// All runs with the same number of threads.
struct ThreadRuns {
    times: ByOutcome,
    slices: Vec<Slice>,
}

impl ThreadRuns {
    fn of<'m>(runs: impl Iterator<Item = &'m Measurements>) -> ThreadRuns {
        let mut side = ThreadRuns { times: ByOutcome::default(), slices: Vec::new() };
        for run in runs {
            side.times.add(response_time(run));
            side.slices.extend_from_slice(&run.slices);
        }
        side
    }

    fn throughput(&self) -> Option<ValueInterval> {
        let rate =
            |slice: &Slice| slice.completed as f64 / (slice.end_ns - slice.start_ns).max(1) as f64;
        let rates: Vec<f64> = self.slices.iter().map(rate).collect();
        let mean = mean_interval(&rates, CONFIDENCE)?;
        Some(ValueInterval {
            low: mean.mean - mean.half_width,
            value: mean.mean,
            high: mean.mean + mean.half_width,
        })
    }

    fn p99(&self) -> Option<ValueInterval> {
        let value = p99(&self.times)? as f64;
        let intervals = Intervals::of_slices(&self.times, &self.slices, Selection::All, 0.0);
        let ends = intervals.of(99.0)?.ends?;
        Some(ValueInterval { low: ends.low_ns as f64, value, high: ends.high_ns? as f64 })
    }
}

/// Returns the response time. In a closed loop, where both times are equal, either may be recorded.
fn response_time(run: &Measurements) -> &ByOutcome {
    let response_time = &run.results.response_time;
    let is_empty = response_time.ok.is_empty() && !response_time.has_failures();
    if is_empty { &run.results.service_time } else { response_time }
}

/// Returns p99; `None` if it is only bounded, or there is none.
fn p99(times: &ByOutcome) -> Option<u64> {
    let value = AllOutcomes::of(times).percentile(99.0);
    value.filter(|value| value.bound == Bound::Exact).map(|value| value.ns)
}

fn completes_more(more: &Measurements, as_many: &Measurements) -> bool {
    more.results.completed as f64 > (1.0 + EFFECT) * as_many.results.completed as f64
}

fn has_lower_p99(more: &Measurements, as_many: &Measurements) -> bool {
    let both = p99(response_time(more)).zip(p99(response_time(as_many)));
    both.is_some_and(|(more, as_many)| (more as f64) < (1.0 - EFFECT) * as_many as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Thirty slices of 100 ms with `count` responses each: a tenth take `slow_ns`, the others
    /// `ns`.
    fn run(count: u64, ns: u64, slow_ns: u64) -> Measurements {
        let mut run = Measurements::default();
        for k in 0..30 {
            let mut slice = Slice {
                start_ns: k * 100 * MS,
                end_ns: (k + 1) * 100 * MS,
                // Slices of a real run are never all equal.
                completed: count + k % 3,
                ..Slice::default()
            };
            (0..count).for_each(|i| slice.ok.record(if i % 10 == 0 { slow_ns } else { ns }));
            run.results.response_time.ok.add(&slice.ok);
            run.results.completed += slice.completed;
            run.sent.measured += count;
            run.slices.push(slice);
        }
        run
    }

    fn proof(pairs: &[(Measurements, Measurements)]) -> ProveClientSection {
        let pairs = pairs.iter().cloned();
        let pairs: Vec<_> = pairs.map(|(as_many, more)| ProofPair { as_many, more }).collect();
        ProveClientSection::of(2, 3, 3_000 * MS, &pairs)
    }

    #[test]
    fn a_client_that_does_more_with_more_threads_was_the_limit() {
        let proof = proof(&vec![(run(100, MS, MS), run(110, MS, MS)); 2]);
        let throughput = proof.throughput.expect("60 slices");
        assert!((throughput.ratio - 111.0 / 101.0).abs() < 1e-9, "{throughput:?}");
        assert!(throughput.low > 1.08 && throughput.high < 1.12, "{throughput:?}");
        assert!(proof.is_client_limited);
        assert_eq!((proof.pairs, proof.sent), (2, 2 * 30 * 210));
        assert_eq!(proof.p99.map(|p99| p99.ratio), Some(1.0));
    }

    #[test]
    fn so_was_one_whose_tail_gets_shorter() {
        let proof = proof(&vec![(run(100, MS, 9 * MS), run(100, MS, 5 * MS)); 2]);
        let p99 = proof.p99.expect("6,000 answers");
        assert!((p99.ratio - 5.0 / 9.0).abs() < 0.01 && p99.high < 1.0, "{p99:?}");
        assert!(proof.is_client_limited);
    }

    #[test]
    fn what_one_pair_denies_is_no_proof() {
        let slow = run(100, MS, MS);
        let fast = run(150, MS, MS);
        let proof = proof(&[(slow.clone(), fast), (slow.clone(), slow)]);
        assert!(proof.throughput.is_some_and(|x| x.low > 1.05), "{proof:?}");
        assert!(!proof.is_client_limited);
    }

    #[test]
    fn a_difference_that_is_small_or_to_the_worse_is_no_evidence() {
        let check = |as_many: Measurements, more: Measurements| {
            let proof = proof(&vec![(as_many, more); 2]);
            assert!(!proof.is_client_limited, "{proof:?}");
        };
        check(run(100, MS, MS), run(103, MS, MS));
        check(run(100, MS, MS), run(80, MS, MS));
        check(run(100, MS, 5 * MS), run(100, MS, 9 * MS));
    }

    #[test]
    fn nothing_measured_is_nothing_reported() {
        let nothing = proof(&[(Measurements::default(), Measurements::default())]);
        assert_eq!((nothing.throughput, nothing.p99, nothing.sent), (None, None, 0));
        assert!(!nothing.is_client_limited);
        // If most requests failed, p99 is a bound, and bounds are not compared.
        let mut failed = run(100, MS, MS);
        for ns in 0..10_000 {
            failed.results.response_time.failed_at.record(ns);
        }
        assert_eq!(proof(&vec![(run(100, MS, MS), failed); 2]).p99, None);
    }
}
