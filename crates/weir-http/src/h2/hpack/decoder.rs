//! The decoder of header blocks (RFC 7541 §3). Passes fields on and does not interpret them.

use super::dynamic_table::{DynamicTable, Hashes};
use super::input::Input;
use super::static_table::{self, ENTRIES};
use super::{HpackError, TABLE_BYTES_DEFAULT};

/// Size of a field in the list beyond its name and value (RFC 9113 §6.5.2).
const FIELD_OVERHEAD: usize = 32;

/// Decodes the header blocks of one connection, in the order in which they arrive.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// Greatest size that the peer may choose for the table.
    size_limit: u32,
    /// Size that an update at the start of the next block must not exceed, if one is required.
    required_update: Option<u32>,
    list_bytes_max: usize,
    /// Buffers for strings that are decoded or copied.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The place of a name or a field in the tables.
enum TablePlace {
    Static(&'static [u8], &'static [u8]),
    Dynamic(usize),
}

impl Decoder {
    /// Creates a decoder that passes on at most `list_bytes_max` bytes of fields per block, each
    /// with 32 bytes of overhead.
    pub fn new(list_bytes_max: u32) -> Decoder {
        Decoder {
            table: DynamicTable::new(TABLE_BYTES_DEFAULT as usize),
            size_limit: TABLE_BYTES_DEFAULT,
            required_update: None,
            list_bytes_max: list_bytes_max as usize,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Starts a new connection; allocations are kept.
    pub fn reset(&mut self) {
        self.table.reset(TABLE_BYTES_DEFAULT as usize);
        self.size_limit = TABLE_BYTES_DEFAULT;
        self.required_update = None;
    }

    /// Returns the memory that it holds, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.table.held_bytes() + self.name.capacity() + self.value.capacity()
    }

    /// Permits a larger table, before the peer has acknowledged it.
    pub fn raise_size_limit(&mut self, bytes: u32) {
        self.size_limit = self.size_limit.max(bytes);
    }

    /// Sets the greatest size of the table, once the peer has acknowledged it. If it is below the
    /// current size, the next block must begin with an update.
    pub fn set_size_limit(&mut self, bytes: u32) {
        self.size_limit = bytes;
        if (bytes as usize) < self.table.size_max {
            let least = self.required_update.map_or(bytes, |required| required.min(bytes));
            self.required_update = Some(least);
        }
    }

    /// Returns the number of changes to the table. A block that was decoded without a change means
    /// the same fields again until the next change.
    #[inline]
    pub fn table_changes(&self) -> u64 {
        self.table.changes
    }

    /// True if the next block must begin with a table size update.
    #[inline]
    pub fn requires_update(&self) -> bool {
        self.required_update.is_some()
    }

    /// Decodes a complete block and passes each field to `field`, in order. Returns true if the
    /// list of fields is larger than the limit; fields beyond it were not passed on.
    ///
    /// # Errors
    /// If it is invalid. The decoder must not be used again before [`Decoder::reset`].
    pub fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, HpackError> {
        let mut input = Input::new(block);
        self.size_updates(&mut input)?;
        let mut left = self.list_bytes_max;
        let mut is_too_large = false;
        let mut pass = |name: &[u8], value: &[u8]| match left
            .checked_sub(name.len() + value.len() + FIELD_OVERHEAD)
        {
            Some(rest) if !is_too_large => {
                left = rest;
                field(name, value);
            }
            _ => is_too_large = true,
        };
        while let Some(first) = input.peek() {
            match first {
                0x80.. => match place(input.integer(7)?)? {
                    TablePlace::Static(name, value) => pass(name, value),
                    TablePlace::Dynamic(nth) => {
                        let (name, value) = self.table.field(nth).ok_or(HpackError::BadIndex)?;
                        pass(name, value);
                    }
                },
                0x40..=0x7f => self.inserted(&mut input, &mut pass)?,
                0x20..=0x3f => return Err(HpackError::UpdateOutOfPlace),
                0x00..=0x1f => self.literal(&mut input, &mut pass)?,
            }
        }
        Ok(is_too_large)
    }

    /// Consumes the table size updates at the start of a block (RFC 7541 §4.2 and §6.3).
    #[inline]
    fn size_updates(&mut self, input: &mut Input<'_>) -> Result<(), HpackError> {
        while let Some(0x20..=0x3f) = input.peek() {
            let size = input.integer(5)?;
            if size > self.size_limit {
                return Err(HpackError::UpdateTooLarge);
            }
            if self.required_update.is_some_and(|required| size <= required) {
                self.required_update = None;
            }
            self.table.resize(size as usize);
        }
        if self.required_update.is_some() && input.peek().is_some() {
            return Err(HpackError::UpdateMissing);
        }
        Ok(())
    }

    /// Consumes a literal that enters the table (RFC 7541 §6.2.1).
    #[inline]
    fn inserted(
        &mut self,
        input: &mut Input<'_>,
        pass: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let name = match input.integer(6)? {
            0 => input.string(&mut self.name)?,
            index => match place(index)? {
                TablePlace::Static(name, _) => name,
                TablePlace::Dynamic(nth) => {
                    // A copy, as the insertion may evict the entry (RFC 7541 §4.4).
                    let (name, _) = self.table.field(nth).ok_or(HpackError::BadIndex)?;
                    self.name.clear();
                    self.name.extend_from_slice(name);
                    &self.name
                }
            },
        };
        let value = input.string(&mut self.value)?;
        pass(name, value);
        self.table.insert(name, value, Hashes::default());
        Ok(())
    }

    /// Consumes a literal that does not enter the table (RFC 7541 §6.2.2 and §6.2.3).
    #[inline]
    fn literal(
        &mut self,
        input: &mut Input<'_>,
        pass: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let name = match input.integer(4)? {
            0 => input.string(&mut self.name)?,
            index => match place(index)? {
                TablePlace::Static(name, _) => name,
                TablePlace::Dynamic(nth) => self.table.field(nth).ok_or(HpackError::BadIndex)?.0,
            },
        };
        pass(name, input.string(&mut self.value)?);
        Ok(())
    }

    /// Returns the field at an index of the dynamic table, from 0 for the newest, to inspect it.
    pub fn table_field(&self, nth: usize) -> Option<(&[u8], &[u8])> {
        self.table.field(nth)
    }

    /// Returns the size of the table (RFC 7541 §4.1), in bytes.
    pub fn table_bytes(&self) -> usize {
        self.table.size
    }
}

/// Returns the place of an index in the two tables (RFC 7541 §2.3.3).
#[inline(always)]
fn place(index: u32) -> Result<TablePlace, HpackError> {
    if index as usize > ENTRIES {
        return Ok(TablePlace::Dynamic(index as usize - ENTRIES - 1));
    }
    let (name, value) = static_table::field(index).ok_or(HpackError::BadIndex)?;
    Ok(TablePlace::Static(name, value))
}
