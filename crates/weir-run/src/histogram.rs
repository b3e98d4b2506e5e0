//! Histograms in HdrHistogram's own layout: 1 ns to 1 h, three significant digits (METHOD 1.7).
//!
//! [`Tally`] is what a worker records into, [`Histogram`] what results are read from,
//! [`SparseHistogram`] what travels between threads. All three keep the exact least, greatest and
//! sum beside the buckets.

/// Buckets of each histogram: 32 halves of 1,024 and the first one again.
pub const BUCKETS: usize = 33 * 1024;

/// The greatest value recorded as it is; greater ones count as this one and as clipped.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

const SUB_BUCKET_BITS: u32 = 11;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;

/// The bucket of a value, at most [`HIGHEST_NS`].
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    debug_assert!(ns <= HIGHEST_NS);
    // Values below 2,048 have a bucket each; each octave above shares 1,024 buckets.
    let octave = (u64::BITS - (ns | (SUB_BUCKETS - 1)).leading_zeros()) - SUB_BUCKET_BITS;
    let within = (ns >> octave) as usize;
    (octave as usize) * (SUB_BUCKETS as usize / 2) + within
}

/// The least value of a bucket.
pub fn lowest_in(bucket: usize) -> u64 {
    let half = SUB_BUCKETS as usize / 2;
    let octave = (bucket / half).saturating_sub(1);
    ((bucket - octave * half) as u64) << octave
}

/// The greatest value of a bucket: what a percentile prints, so that it never under-reports.
pub fn highest_in(bucket: usize) -> u64 {
    let half = SUB_BUCKETS as usize / 2;
    let octave = (bucket / half).saturating_sub(1);
    lowest_in(bucket) + ((1u64 << octave) - 1)
}

/// The value that stands for a bucket in means: its middle.
pub fn middle_of(bucket: usize) -> u64 {
    lowest_in(bucket).midpoint(highest_in(bucket))
}

/// Exact figures beside the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Values recorded.
    pub count: u64,
    /// Least value; `u64::MAX` when there is none.
    pub min_ns: u64,
    /// Greatest value, also when clipped; 0 when there is none.
    pub max_ns: u64,
    /// Sum of all values as they came, unclipped.
    pub sum_ns: u128,
    /// Of `count`: values beyond [`HIGHEST_NS`], in the last bucket.
    pub clipped: u64,
}

impl Default for Exact {
    fn default() -> Exact {
        Exact { count: 0, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, clipped: 0 }
    }
}

impl Exact {
    fn add(&mut self, other: &Exact) {
        self.count += other.count;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.clipped += other.clipped;
    }
}

/// What a worker records into: 32-bit counts on pages that exist only once touched.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: Vec<u32>,
    exact: Exact,
}

impl Tally {
    /// An empty tally. Its memory is asked for at the first record.
    pub fn new() -> Tally {
        Tally::default()
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if self.counts.is_empty() || ns > HIGHEST_NS {
            return self.record_rare(ns, 1);
        }
        self.counts[bucket_of(ns)] += 1;
        self.exact.count += 1;
        self.exact.min_ns = self.exact.min_ns.min(ns);
        self.exact.max_ns = self.exact.max_ns.max(ns);
        self.exact.sum_ns += u128::from(ns);
    }

    /// Records the same value `times` times.
    pub fn record_many(&mut self, ns: u64, times: u32) {
        if times > 0 {
            self.record_rare(ns, times);
        }
    }

    #[cold]
    fn record_rare(&mut self, ns: u64, times: u32) {
        if self.counts.is_empty() {
            // Zeroed by the allocator (calloc): pages of buckets never hit cost nothing.
            self.counts = vec![0; BUCKETS];
        }
        self.counts[bucket_of(ns.min(HIGHEST_NS))] += times;
        self.exact.add(&Exact {
            count: u64::from(times),
            min_ns: ns,
            max_ns: ns,
            sum_ns: u128::from(ns) * u128::from(times),
            clipped: if ns > HIGHEST_NS { u64::from(times) } else { 0 },
        });
    }

    /// The exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Takes what was recorded since the last call, leaving the tally empty.
    pub fn take_sparse(&mut self) -> SparseHistogram {
        let mut buckets = Vec::new();
        if self.exact.count > 0 {
            let range = bucket_of(self.exact.min_ns.min(HIGHEST_NS))
                ..=bucket_of(self.exact.max_ns.min(HIGHEST_NS));
            let first = *range.start();
            for (offset, count) in self.counts[range].iter_mut().enumerate() {
                if *count > 0 {
                    let bucket = u16::try_from(first + offset).expect("33,792 buckets fit 16 bits");
                    buckets.push((bucket, *count));
                    *count = 0;
                }
            }
        }
        SparseHistogram { buckets, exact: std::mem::take(&mut self.exact) }
    }
}

/// The buckets that were hit and nothing else: small enough to send every second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    buckets: Vec<(u16, u32)>,
    exact: Exact,
}

impl SparseHistogram {
    /// The exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Adds another one.
    pub fn add(&mut self, other: &SparseHistogram) {
        let mine = std::mem::take(&mut self.buckets);
        let (mut left, mut right) = (mine.iter().peekable(), other.buckets.iter().peekable());
        self.buckets.reserve(mine.len().max(other.buckets.len()));
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let sum = (a.0, a.1 + b.1);
                    left.next();
                    right.next();
                    sum
                }
                (Some(a), Some(b)) if a.0 > b.0 => *right.next().expect("peeked"),
                (Some(_), _) => *left.next().expect("peeked"),
                (None, Some(_)) => *right.next().expect("peeked"),
                (None, None) => break,
            };
            self.buckets.push(next);
        }
        self.exact.add(&other.exact);
    }
}

/// What results are read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    exact: Exact,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// The exact figures.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.exact.count
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.exact.count == 0
    }

    /// Adds a worker's tally.
    pub fn add_tally(&mut self, tally: &Tally) {
        if tally.exact.count > 0 {
            let counts = self.counts_mut();
            for (mine, theirs) in counts.iter_mut().zip(&tally.counts).filter(|(_, n)| **n > 0) {
                *mine += u64::from(*theirs);
            }
            self.exact.add(&tally.exact);
        }
    }

    /// Adds a sparse histogram.
    pub fn add_sparse(&mut self, sparse: &SparseHistogram) {
        if sparse.exact.count > 0 {
            let counts = self.counts_mut();
            for (bucket, count) in &sparse.buckets {
                counts[usize::from(*bucket)] += u64::from(*count);
            }
            self.exact.add(&sparse.exact);
        }
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Histogram) {
        if other.exact.count > 0 {
            let counts = self.counts_mut();
            for (mine, theirs) in counts.iter_mut().zip(&other.counts).filter(|(_, n)| **n > 0) {
                *mine += theirs;
            }
            self.exact.add(&other.exact);
        }
    }

    /// Records `times` values that lie evenly in one bucket or are all `ns`, with their exact sum:
    /// the bucket arithmetic for ranges of slots that were never sent.
    pub fn record_range(&mut self, least_ns: u64, greatest_ns: u64, times: u64, sum_ns: u128) {
        debug_assert!(least_ns <= greatest_ns);
        let bucket = bucket_of(greatest_ns.min(HIGHEST_NS));
        self.counts_mut()[bucket] += times;
        self.exact.add(&Exact {
            count: times,
            min_ns: least_ns,
            max_ns: greatest_ns,
            sum_ns,
            clipped: if greatest_ns > HIGHEST_NS { times } else { 0 },
        });
    }

    /// Records one value.
    pub fn record(&mut self, ns: u64) {
        self.record_range(ns, ns, 1, u128::from(ns));
    }

    /// The buckets that were hit, ascending: `(bucket, count)`.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    fn counts_mut(&mut self) -> &mut Vec<u64> {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS];
        }
        &mut self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_partition_the_range() {
        let mut expected = 0;
        for bucket in 0..bucket_of(HIGHEST_NS) {
            assert_eq!(lowest_in(bucket), expected, "bucket {bucket}");
            assert_eq!(bucket_of(lowest_in(bucket)), bucket);
            assert_eq!(bucket_of(highest_in(bucket)), bucket);
            expected = highest_in(bucket) + 1;
        }
        assert!(bucket_of(HIGHEST_NS) < BUCKETS);
    }

    #[test]
    fn layout_is_that_of_hdrhistogram() {
        let theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3)
            .expect("the bounds are valid");
        for ns in [1, 2047, 2048, 2049, 4095, 4096, 999_999, 1_234_567_890, HIGHEST_NS] {
            assert_eq!(highest_in(bucket_of(ns)), theirs.highest_equivalent(ns), "{ns}");
            assert_eq!(lowest_in(bucket_of(ns)), theirs.lowest_equivalent(ns), "{ns}");
        }
    }
}
