//! Header compression (RFC 7541): a [`Decoder`] for blocks that are received and an [`Encoder`] for
//! blocks that are sent. Independent of frames and of the meaning of fields.

mod decoder;
mod dynamic_table;
mod encoder;
mod huffman;
mod input;
mod static_table;

pub use decoder::Decoder;
pub use encoder::Encoder;

/// Size of both dynamic tables at the start of a connection (RFC 9113 §6.5.2), in bytes.
pub const TABLE_BYTES_DEFAULT: u32 = 4096;

/// Reason why a block cannot be decoded. The connection is lost with it, since the table no longer
/// equals the peer's (RFC 9113 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpackError {
    /// The block ends within a field.
    Truncated,
    /// An integer has more than 28 bits.
    IntegerTooLarge,
    /// No table has an entry with the index.
    BadIndex,
    /// A string is not in the Huffman code.
    BadHuffman,
    /// A table size update follows a field (RFC 7541 §4.2).
    UpdateOutOfPlace,
    /// A table size update is above the limit (RFC 7541 §6.3).
    UpdateTooLarge,
    /// The limit was reduced and the block does not begin with a table size update (RFC 7541 §4.2).
    UpdateMissing,
}

/// Result of a search in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableMatch {
    None,
    /// The place of an entry with the name and another value.
    Name(usize),
    /// The place of an entry with the name and the value.
    Field(usize),
}
