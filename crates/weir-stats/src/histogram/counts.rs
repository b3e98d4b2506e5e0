//! Counts by bucket, in little memory while few buckets are in use. Independent of the values that
//! the buckets stand for.

use std::ops::{AddAssign, Range};

use super::buckets::BUCKETS;

/// Counts by bucket: a list while few buckets are in use, then a table. With thousands of threads
/// there are hundreds of thousands of these, and most get some values a second; tables would take
/// more mappings than a process may have.
#[derive(Clone, Debug, Default)]
pub(super) struct BucketCounts<N> {
    /// Non-empty buckets, ascending, while there is no table; a copy's list may be of any length.
    few: Vec<(u16, N)>,
    /// Table of all buckets; empty while the list is in use.
    pub(super) table: Vec<N>,
}

/// Greatest number of buckets in a list. A table has ten times as much memory resident.
const FEW_BUCKETS: usize = 1000;

/// Number of neighbouring buckets in a table that are read at once.
const GROUP_BUCKETS: usize = 64;

/// Number of buckets by which a list grows: doubling would make it a third too large.
const FEW_MORE: usize = 100;

impl<N: Copy + Default + PartialEq + AddAssign> BucketCounts<N> {
    #[inline]
    pub(super) fn add(&mut self, bucket: usize, count: N) {
        if self.table.is_empty() {
            return self.add_to_few(bucket, count);
        }
        self.table[bucket] += count;
    }

    fn add_to_few(&mut self, bucket: usize, count: N) {
        let name = u16::try_from(bucket).expect("33,792 buckets fit 16 bits");
        match self.few.binary_search_by_key(&name, |(known, _)| *known) {
            Ok(at) => self.few[at].1 += count,
            Err(at) if self.few.len() < FEW_BUCKETS => {
                if self.few.len() == self.few.capacity() {
                    self.few.reserve_exact(FEW_MORE);
                }
                self.few.insert(at, (name, count));
            }
            Err(_) => {
                self.spread();
                self.table[bucket] += count;
            }
        }
    }

    /// Moves the list into a table.
    pub(super) fn spread(&mut self) {
        if self.table.is_empty() {
            // The allocator zeroes it (calloc): pages without a used bucket cost nothing.
            self.table = vec![N::default(); BUCKETS];
            for (bucket, count) in std::mem::take(&mut self.few) {
                self.table[usize::from(bucket)] += count;
            }
        }
    }

    /// Returns the non-empty buckets, ascending; all of them lie in `range`.
    pub(super) fn within(&self, range: Range<usize>) -> impl Iterator<Item = (usize, N)> + '_ {
        let range = if self.table.is_empty() { 0..0 } else { range };
        let few = self.few.iter().map(|(bucket, count)| (usize::from(*bucket), *count));
        // Most of a table is empty: one comparison each skips the empty groups of buckets.
        let empty = [N::default(); GROUP_BUCKETS];
        let groups = self.table[range.clone()].chunks(GROUP_BUCKETS);
        let groups = (range.start..).step_by(GROUP_BUCKETS).zip(groups);
        let used = groups.filter(move |(_, group)| **group != empty[..group.len()]);
        let table = used.flat_map(|(first, group)| (first..).zip(group.iter().copied()));
        few.chain(table).filter(|(_, count)| *count != N::default())
    }

    /// Returns the same counts, which all lie in `range`, in the least memory: as a list, unless
    /// the table is shorter.
    pub(super) fn compact(&self, range: Range<usize>) -> BucketCounts<N> {
        let used = self.within(range.clone()).count();
        if used * size_of::<(u16, N)>() >= self.table.len() * size_of::<N>() {
            return self.clone();
        }
        let mut few = Vec::with_capacity(used);
        few.extend(self.within(range).map(|(bucket, count)| {
            (u16::try_from(bucket).expect("33,792 buckets fit 16 bits"), count)
        }));
        BucketCounts { few, table: Vec::new() }
    }

    pub(super) fn get(&self, bucket: usize) -> N {
        let name = u16::try_from(bucket).unwrap_or(u16::MAX);
        match self.few.binary_search_by_key(&name, |(known, _)| *known) {
            Ok(at) => self.few[at].1,
            Err(_) => self.table.get(bucket).copied().unwrap_or_default(),
        }
    }

    /// Clears these buckets, which are all that are non-empty.
    pub(super) fn forget(&mut self, hit: &[(u16, N)]) {
        self.few.clear();
        if !self.table.is_empty() {
            hit.iter().for_each(|(bucket, _)| self.table[usize::from(*bucket)] = N::default());
        }
    }
}
