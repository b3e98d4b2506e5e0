//! The dynamic table (RFC 7541 §2.3.2 and §4): entries, their sizes and their eviction. Independent
//! of blocks, and of the side that uses it.

use std::collections::VecDeque;

use super::TableMatch;

/// Size of an entry beyond its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Fields in the order of insertion, each with a hash by which an encoder finds it.
///
/// The bytes of all entries are contiguous. New ones follow at the end; once evicted bytes are the
/// greater part of the buffer, the others move to its start. So it has at most twice the bytes of
/// the table, and each field is one slice.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// Newest first.
    entries: VecDeque<TableEntry>,
    bytes: Vec<u8>,
    /// Position of `bytes[0]` since the start of all entries.
    base: usize,
    pub(super) size: usize,
    pub(super) size_max: usize,
    /// Changes of the entries or of the maximum size.
    pub(super) changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct TableEntry {
    /// Position of the name, on the scale of `base`; the value follows it.
    at: usize,
    name_bytes: u32,
    value_bytes: u32,
    hashes: Hashes,
}

/// Hashes of an entry: of its name, and of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hashes {
    pub(super) name: u32,
    pub(super) field: u32,
}

impl DynamicTable {
    pub(super) fn new(size_max: usize) -> DynamicTable {
        let entries = VecDeque::new();
        let bytes = Vec::new();
        DynamicTable { entries, bytes, base: 0, size: 0, size_max, changes: 0 }
    }

    /// Empties the table, and keeps its memory.
    pub(super) fn reset(&mut self, size_max: usize) {
        self.entries.clear();
        self.bytes.clear();
        (self.base, self.size, self.size_max) = (0, 0, size_max);
        self.changes += 1;
    }

    /// Returns the memory that it holds, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<TableEntry>()
    }

    /// Changes the maximum size, and evicts entries beyond it.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.changes += u64::from(size_max != self.size_max);
        self.size_max = size_max;
        self.evict_to(size_max);
    }

    /// Returns the field of the `nth` newest entry, from 0.
    #[inline]
    pub(super) fn field(&self, nth: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(nth)?;
        let field = &self.bytes[entry.at - self.base..];
        let (name, rest) = field.split_at(entry.name_bytes as usize);
        Some((name, &rest[..entry.value_bytes as usize]))
    }

    /// Inserts a field and evicts the oldest ones for it. A field larger than the table empties it
    /// (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], hashes: Hashes) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        let Some(room) = self.size_max.checked_sub(size) else { return self.evict_to(0) };
        self.changes += 1;
        self.evict_to(room);
        self.compact();
        self.entries.push_front(TableEntry {
            at: self.base + self.bytes.len(),
            name_bytes: name.len() as u32,
            value_bytes: value.len() as u32,
            hashes,
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
    }

    /// Returns the number of the newest entry with this field, or else of one with its name.
    pub(super) fn find(&self, name: &[u8], value: &[u8], hashes: Hashes) -> TableMatch {
        let mut named = TableMatch::None;
        for (nth, entry) in self.entries.iter().enumerate() {
            if entry.hashes == hashes && self.field(nth) == Some((name, value)) {
                return TableMatch::Field(nth);
            }
            let is_named = entry.hashes.name == hashes.name
                && named == TableMatch::None
                && self.field(nth).is_some_and(|(known, _)| known == name);
            if is_named {
                named = TableMatch::Name(nth);
            }
        }
        named
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            let Some(entry) = self.entries.pop_back() else { break };
            self.size -= (entry.name_bytes + entry.value_bytes) as usize + ENTRY_OVERHEAD;
            self.changes += 1;
        }
    }

    /// Frees the bytes of evicted entries if they are the greater part.
    fn compact(&mut self) {
        let end = self.base + self.bytes.len();
        let begin = self.entries.back().map_or(end, |entry| entry.at);
        let evicted = begin - self.base;
        if evicted > self.bytes.len() / 2 {
            self.bytes.drain(..evicted);
            self.base = begin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_evicted() {
        let mut table = DynamicTable::new(3 * 34);
        for value in [b"1", b"2", b"3", b"4"] {
            table.insert(b"a", value, Hashes::default());
        }
        let fields: Vec<_> = (0..4).map_while(|nth| table.field(nth)).collect();
        assert_eq!(fields, [(&b"a"[..], &b"4"[..]), (b"a", b"3"), (b"a", b"2")]);
        assert_eq!(table.size, 3 * 34);
        table.resize(34);
        assert_eq!((table.field(0), table.field(1)), (Some((&b"a"[..], &b"4"[..])), None));
        table.insert(b"a", b"too large", Hashes::default());
        assert_eq!((table.field(0), table.size), (None, 0));
    }

    #[test]
    fn memory_stays_within_twice_the_size() {
        let mut table = DynamicTable::new(4096);
        for number in 0..100_000usize {
            let value = vec![b'x'; number * 7 % 300];
            table.insert(b"name", &value, Hashes::default());
            assert_eq!(table.field(0), Some((&b"name"[..], &value[..])));
            assert!(table.bytes.len() <= 2 * 4096 && table.size <= 4096);
        }
    }

    #[test]
    fn every_change_is_counted() {
        let mut table = DynamicTable::new(100);
        let mut last = table.changes;
        let mut check = |table: &DynamicTable, is_changed: bool| {
            assert_eq!(table.changes != last, is_changed);
            last = table.changes;
        };
        table.insert(b"a", b"b", Hashes::default());
        check(&table, true);
        table.resize(100);
        check(&table, false);
        table.resize(50);
        check(&table, true);
        table.resize(10);
        check(&table, true);
        table.insert(b"too large", b"", Hashes::default());
        check(&table, false);
        table.resize(50);
        table.insert(b"a", b"b", Hashes::default());
        check(&table, true);
        table.insert(b"too large for all of the table", b"", Hashes::default());
        check(&table, true);
        table.reset(100);
        check(&table, true);
    }
}
