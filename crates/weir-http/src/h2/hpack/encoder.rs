//! The encoder of header blocks (RFC 7541 §6), which chooses representations as common clients do.
//! Independent of the meaning of fields, except for those that must not enter the table.

use super::dynamic_table::{DynamicTable, Hashes};
use super::input::{push_integer, push_string};
use super::static_table::{self, ENTRIES};
use super::{TABLE_BYTES_DEFAULT, TableMatch};

/// Fields with secrets. A table shared with other fields could be used to guess them (RFC 7541
/// §7.1.3).
const SENSITIVE: [&[u8]; 4] = [b"authorization", b"cookie", b"proxy-authorization", b"set-cookie"];

/// Fields whose values usually change with each message. They enter the table once a value repeats.
const VOLATILE: [&[u8]; 10] = [
    b":path",
    b"age",
    b"content-length",
    b"content-range",
    b"date",
    b"etag",
    b"if-modified-since",
    b"if-none-match",
    b"location",
    b"range",
];

/// Number of volatile fields that are remembered until they repeat.
const SEEN_FIELDS: usize = 16;

/// Encodes the header blocks of one connection, in the order in which they are sent.
///
/// A field enters the table when it first occurs, a volatile one when it repeats. Fields with
/// secrets never do, and intermediaries must not put them into a table either.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    /// Greatest size of the table that this side wants.
    size_max: u32,
    /// Size updates to send: the least size since the last block, and the current one.
    update: Option<(u32, u32)>,
    /// Changes of the pending update.
    updates: u64,
    /// Hashes of volatile fields, by their low bits.
    seen: [u32; SEEN_FIELDS],
}

impl Encoder {
    /// Creates an encoder whose table has at most `size_max` bytes.
    pub fn new(size_max: u32) -> Encoder {
        let table = DynamicTable::new(0);
        let mut encoder =
            Encoder { table, size_max, update: None, updates: 0, seen: [0; SEEN_FIELDS] };
        encoder.reset();
        encoder
    }

    /// Starts a new connection; allocations are kept.
    pub fn reset(&mut self) {
        self.table.reset(TABLE_BYTES_DEFAULT as usize);
        self.update = None;
        self.seen = [0; SEEN_FIELDS];
        if self.size_max < TABLE_BYTES_DEFAULT {
            self.resize(self.size_max);
        }
    }

    /// Applies the peer's limit on the size of the table (RFC 9113 §6.5.2).
    pub fn set_size_limit(&mut self, bytes: u32) {
        let size = bytes.min(self.size_max);
        if size as usize != self.table.size_max {
            self.resize(size);
        }
    }

    fn resize(&mut self, size: u32) {
        self.table.resize(size as usize);
        let least = self.update.map_or(size, |(least, _)| least.min(size));
        self.update = Some((least, size));
        self.updates += 1;
    }

    /// Returns a number that changes whenever an equal list of fields may need another block. A
    /// block whose encoding did not change it can be sent again.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.changes + self.updates
    }

    /// Begins a block: appends pending size updates to `out`.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((least, size)) = self.update.take() {
            self.updates += 1;
            if least < size {
                push_integer(out, 0x20, 5, least as usize);
            }
            push_integer(out, 0x20, 5, size as usize);
        }
    }

    /// Appends a field to the block. The name has no upper-case letters.
    pub fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let in_static = match static_table::find(name, value) {
            TableMatch::Field(index) => return push_integer(out, 0x80, 7, index),
            TableMatch::Name(index) => index,
            TableMatch::None => 0,
        };
        if SENSITIVE.contains(&name) {
            return push_literal(out, 0x10, 4, in_static, name, value);
        }
        let hashes = hashes(name, value);
        let index = match self.table.find(name, value, hashes) {
            TableMatch::Field(nth) => return push_integer(out, 0x80, 7, nth + ENTRIES + 1),
            TableMatch::Name(nth) if in_static == 0 => nth + ENTRIES + 1,
            _ => in_static,
        };
        // A field that would evict most others does not enter the table.
        let is_large = (name.len() + value.len()) * 4 > self.table.size_max * 3;
        if is_large || (VOLATILE.contains(&name) && !self.is_seen(hashes.field)) {
            return push_literal(out, 0x00, 4, index, name, value);
        }
        push_literal(out, 0x40, 6, index, name, value);
        self.table.insert(name, value, hashes);
    }

    /// True if a field with this hash was encoded not long ago. Remembers it.
    fn is_seen(&mut self, hash: u32) -> bool {
        let seen = &mut self.seen[hash as usize % SEEN_FIELDS];
        let is_seen = *seen == hash;
        *seen = hash;
        is_seen
    }
}

/// Appends a literal with the index of its name, or with the name if the index is 0.
fn push_literal(
    out: &mut Vec<u8>,
    pattern: u8,
    bits: u32,
    index: usize,
    name: &[u8],
    value: &[u8],
) {
    push_integer(out, pattern, bits, index);
    if index == 0 {
        push_string(out, name);
    }
    push_string(out, value);
}

fn hashes(name: &[u8], value: &[u8]) -> Hashes {
    let name = hash(0, name);
    Hashes { name, field: hash(name, value) }
}

/// Returns a hash that tells fields apart; equal ones are compared.
fn hash(seed: u32, bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let mut hash = u64::from(seed) ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    }
    for byte in rest {
        hash = (hash.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(FACTOR);
    }
    (hash >> 32) as u32
}
