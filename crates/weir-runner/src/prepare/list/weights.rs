//! Names of a list that have slices, and so intervals: those with the greatest weights.

use weir_engine::ListedRequest;

/// Greatest number of names with slices.
pub(super) const WITH_INTERVALS_MAX: usize = 16;

/// Returns the names with the greatest weights, `most` at most, in file order.
pub(super) fn heaviest(
    requests: &[ListedRequest],
    weights: &[u32],
    names: usize,
    most: usize,
) -> Vec<u16> {
    let mut sums = vec![0_u64; names];
    for (request, weight) in requests.iter().zip(weights) {
        sums[usize::from(request.name)] += u64::from(*weight);
    }
    let mut by_weight: Vec<u16> = (0..).take(names).collect();
    by_weight.sort_by_key(|name| std::cmp::Reverse(sums[usize::from(*name)]));
    by_weight.truncate(most);
    by_weight.sort_unstable();
    by_weight
}
