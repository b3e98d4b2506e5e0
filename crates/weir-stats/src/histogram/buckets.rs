//! The buckets of all histograms: 1 ns to 1 h, three significant digits.

/// Number of buckets of each histogram: 32 halves of 1,024 and the first one again.
pub const BUCKETS: usize = 33 * 1024;

/// Greatest value recorded as it is, in nanoseconds; greater ones count as this one and as clipped.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

const SUB_BUCKET_BITS: u32 = 11;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;

/// Returns the bucket of a value, at most [`HIGHEST_NS`].
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    debug_assert!(ns <= HIGHEST_NS);
    // Values below 2,048 have a bucket each; each octave above shares 1,024 buckets.
    let octave = (u64::BITS - (ns | (SUB_BUCKETS - 1)).leading_zeros()) - SUB_BUCKET_BITS;
    let within = (ns >> octave) as usize;
    (octave as usize) * (SUB_BUCKETS as usize / 2) + within
}

/// Returns the least value of a bucket.
pub fn lowest_in(bucket: usize) -> u64 {
    let half = SUB_BUCKETS as usize / 2;
    let octave = (bucket / half).saturating_sub(1);
    ((bucket - octave * half) as u64) << octave
}

/// Returns the greatest value of a bucket: percentiles print it, so that they never under-report.
pub fn highest_in(bucket: usize) -> u64 {
    let half = SUB_BUCKETS as usize / 2;
    let octave = (bucket / half).saturating_sub(1);
    lowest_in(bucket) + ((1u64 << octave) - 1)
}

/// Returns the middle of a bucket, which stands for its values in means.
pub fn middle_of(bucket: usize) -> u64 {
    lowest_in(bucket).midpoint(highest_in(bucket))
}
