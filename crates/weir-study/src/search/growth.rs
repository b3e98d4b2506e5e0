//! The growth of the backlog in a trial: a server that falls behind keeps each request waiting for
//! longer than the one before, long before it exceeds a loose limit.

use weir_result::Document;
use weir_result::document::SliceEntry;
use weir_result::study::BacklogGrowth;
use weir_stats::ValueInterval;

/// Returns the differences of the mean response times of consecutive slices, per second between
/// them. Requests without a response count with their age. Slices without a request are left out.
pub(super) fn rises(document: &Document) -> Vec<f64> {
    let slices = document.slices.iter();
    let means: Vec<(f64, f64)> =
        slices.filter_map(|slice| Some((slice.start_s, mean_s(slice)?))).collect();
    let rise = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
    means.windows(2).map(rise).collect()
}

/// Returns the mean response time of a slice in seconds; `None` without a request.
fn mean_s(slice: &SliceEntry) -> Option<f64> {
    let parts = [slice.ok.exact(), slice.not_ok.exact()];
    let count: u64 = parts.iter().map(|exact| exact.count).sum();
    let sum_ns: u128 = parts.iter().map(|exact| exact.sum_ns).sum();
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e9)
}

/// Returns the growth as documents have it.
pub(super) fn in_result(rise: ValueInterval) -> BacklogGrowth {
    BacklogGrowth { rise: rise.value, low: rise.low, high: rise.high }
}
