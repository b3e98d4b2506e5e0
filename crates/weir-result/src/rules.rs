//! Rules for adding one worker's measurements to another's, field by field.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::AddAssign;

use weir_stats::histogram::{Histogram, SparseHistogram};

/// Measurements that take in the same measurements of another worker or another part.
pub(crate) trait Merge {
    /// Adds the other's.
    fn merge(&mut self, other: &Self);
}

impl Merge for Histogram {
    fn merge(&mut self, other: &Histogram) {
        self.add(other);
    }
}

impl Merge for SparseHistogram {
    fn merge(&mut self, other: &SparseHistogram) {
        self.add(other);
    }
}

impl<T: Merge> Merge for Box<T> {
    fn merge(&mut self, other: &Box<T>) {
        T::merge(self, other);
    }
}

impl<T: Merge + Default> Merge for Option<T> {
    fn merge(&mut self, other: &Option<T>) {
        if let Some(theirs) = other {
            self.get_or_insert_default().merge(theirs);
        }
    }
}

/// Merges what has rules of its own.
pub(crate) fn merge<T: Merge>(mine: &mut T, theirs: &T) {
    mine.merge(theirs);
}

/// Adds.
pub(crate) fn sum<N: Copy + AddAssign>(mine: &mut N, theirs: &N) {
    *mine += *theirs;
}

/// Adds, up to the greatest number of 32 bits: a document may hold it.
pub(crate) fn saturating(mine: &mut u32, theirs: &u32) {
    *mine = mine.saturating_add(*theirs);
}

/// Keeps the greater.
pub(crate) fn max<N: Copy + Ord>(mine: &mut N, theirs: &N) {
    *mine = (*mine).max(*theirs);
}

/// Keeps the lesser of those that are not 0.
pub(crate) fn least(mine: &mut u64, theirs: &u64) {
    if *theirs > 0 && (*mine == 0 || *theirs < *mine) {
        *mine = *theirs;
    }
}

/// True if either is.
pub(crate) fn any(mine: &mut bool, theirs: &bool) {
    *mine |= theirs;
}

/// Requires both to be equal.
pub(crate) fn same<T: PartialEq + Debug>(mine: &T, theirs: &T) {
    debug_assert_eq!(mine, theirs);
}

/// Keeps one's own: another rule covers the field.
pub(crate) fn own<T>(_mine: &T, _theirs: &T) {}

/// Adds counts under the same key.
pub(crate) fn counts<K: Ord + Clone>(mine: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *mine.entry(key.clone()).or_default() += count;
    }
}

/// Keeps one's own entries, and takes the other's under further keys.
pub(crate) fn first_by_key<K: Ord + Clone, T: Clone>(
    mine: &mut BTreeMap<K, T>,
    theirs: &BTreeMap<K, T>,
) {
    for (key, other) in theirs {
        mine.entry(key.clone()).or_insert_with(|| other.clone());
    }
}

/// Merges values under the same key.
pub(crate) fn by_key<K: Ord + Copy, T: Merge + Default>(
    mine: &mut BTreeMap<K, T>,
    theirs: &BTreeMap<K, T>,
) {
    for (key, other) in theirs {
        mine.entry(*key).or_default().merge(other);
    }
}

/// Merges by position; the shorter list is continued with the other's entries.
pub(crate) fn by_position<T: Merge + Clone>(mine: &mut Vec<T>, theirs: &[T]) {
    for (known, other) in mine.iter_mut().zip(theirs) {
        known.merge(other);
    }
    mine.extend(theirs.iter().skip(mine.len()).cloned());
}

/// Appends.
pub(crate) fn append<T: Clone>(mine: &mut Vec<T>, theirs: &[T]) {
    mine.extend_from_slice(theirs);
}
