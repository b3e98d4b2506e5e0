//! Invariants of header compression for any bytes: another decoder agrees, memory is bounded,
//! fields survive encoding, and the frames of a block do not matter.

use loona_hpack::decoder::DecoderError;
use weir_http::h2::frame::{FRAME_BYTES_DEFAULT, PREFACE, Settings, push_headers, push_settings};
use weir_http::h2::hpack::{Decoder, Encoder, HpackError, TABLE_BYTES_DEFAULT};

use super::h2;

/// A name and a value.
type Field = (Vec<u8>, Vec<u8>);

/// The fields of a block within the limit, and true if there are more.
type Fields = (Vec<Field>, bool);

/// Greatest size of a list of fields that is passed on, in bytes, and the overhead of a field.
const LIST_BYTES_MAX: u32 = 2000;
const FIELD_OVERHEAD: usize = 32;

/// Greatest size of a table that is permitted, in bytes. It is above the default, so that tables
/// grow.
const TABLE_BYTES_MAX: u32 = 20_000;

/// Longest input on which another decoder has to agree, in bytes, and a divisor of its length. That
/// decoder is slow: it builds a table of Huffman codes for each string.
const COMPARED_BYTES_MAX: usize = 400;
const COMPARED_BYTES_UNIT: usize = 8;

/// Entries of the static table (RFC 7541 appendix A).
const STATIC_ENTRIES: usize = 61;

/// Names of fields to encode: of the static table, volatile, secret, and others.
const NAMES: [&str; 16] = [
    ":method",
    ":path",
    ":status",
    ":authority",
    "accept",
    "age",
    "authorization",
    "content-length",
    "cookie",
    "date",
    "etag",
    "set-cookie",
    "vary",
    "x",
    "x-request-id",
    "",
];

/// Names that never enter a table.
const SECRETS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Checks one input. Its first byte chooses the check, and is a number for it as well.
pub(crate) fn hpack(input: &[u8]) {
    let Some((&first, bytes)) = input.split_first() else { return };
    match first % 3 {
        0 => decoded(bytes),
        1 => round_trip(u32::from(first / 3) * 100, bytes),
        // Of at least 17 bytes, as the frames of a block are limited in number.
        _ => framed(17 + u32::from(first / 3), bytes),
    }
}

/// A step of a connection's decoder.
enum Step<'a> {
    Block(&'a [u8]),
    /// A greater limit of the table, before its acknowledgement.
    Raise(u32),
    /// A limit of the table, at its acknowledgement.
    Limit(u32),
}

/// Splits an input into steps: a byte that is the length of a block or the kind of a limit, and its
/// content.
fn steps(mut rest: &[u8]) -> impl Iterator<Item = Step<'_>> {
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        let bytes = match first {
            0..0xf0 => usize::from(first),
            0xf0..0xf8 => after.len(),
            0xf8.. => 2,
        };
        let (content, next) = after.split_at(bytes.min(after.len()));
        rest = next;
        let limit = || {
            let number = content.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
            number % (TABLE_BYTES_MAX + 1)
        };
        Some(match first {
            0..0xf8 => Step::Block(content),
            0xf8..0xfc => Step::Raise(limit()),
            0xfc.. => Step::Limit(limit()),
        })
    })
}

/// A decoder, beside another one for some inputs, and the limit of their tables.
struct Decoders {
    ours: Decoder,
    other: Option<loona_hpack::Decoder<'static>>,
    limit: u32,
}

impl Decoders {
    fn new(input: &[u8]) -> Decoders {
        let ours = Decoder::new(LIST_BYTES_MAX);
        let is_compared =
            input.len() <= COMPARED_BYTES_MAX && input.len().is_multiple_of(COMPARED_BYTES_UNIT);
        let other = is_compared.then(loona_hpack::Decoder::new);
        let mut decoders = Decoders { ours, other, limit: 0 };
        decoders.set_limit(TABLE_BYTES_DEFAULT);
        decoders
    }

    /// Starts a new connection.
    fn reset(&mut self) {
        self.ours.reset();
        self.other = self.other.as_ref().map(|_| loona_hpack::Decoder::new());
        self.set_limit(TABLE_BYTES_DEFAULT);
    }

    /// Sets the limit of the other one.
    fn set_limit(&mut self, bytes: u32) {
        self.limit = bytes;
        if let Some(other) = &mut self.other {
            other.set_max_allowed_table_size(bytes as usize);
        }
    }

    /// Decodes a block. Returns its fields within the limit, or an error, after which the
    /// connection is lost.
    fn decode(&mut self, block: &[u8]) -> Result<Fields, HpackError> {
        let before = self.ours.table_changes();
        let result = decode(&mut self.ours, block);
        assert!(self.ours.table_bytes() <= TABLE_BYTES_MAX as usize);
        if result.is_ok() && self.ours.table_changes() == before {
            assert_eq!(decode(&mut self.ours, block), result, "the table is the same");
        }
        if let Some(other) = &mut self.other {
            compare(&result, other, block);
        }
        result
    }

    /// Checks that both tables have the same entries, as far as one byte can name them.
    fn check_tables(mut self) {
        let ours = (0..).map_while(|nth| self.ours.table_field(nth));
        let ours: Vec<Field> = ours.map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!(self.ours.table_bytes(), ours.iter().map(size).sum::<usize>());
        let Some(other) = &mut self.other else { return };
        for (nth, index) in (STATIC_ENTRIES + 1..0x7f).enumerate() {
            let other = other.decode(&[0x80 | index as u8]).ok();
            assert_eq!(ours.get(nth), other.as_ref().map(|fields| &fields[0]), "entry {nth}");
        }
    }
}

/// Checks that another decoder agrees on a block.
fn compare(
    result: &Result<Fields, HpackError>,
    other: &mut loona_hpack::Decoder<'_>,
    block: &[u8],
) {
    let mut expected = Vec::new();
    let other = other.decode_with_cb(block, |name, value| {
        expected.push((name.into_owned(), value.into_owned()));
    });
    match (result, other) {
        // It refuses an update without a field, after it has applied it.
        (Ok(fields), Ok(()) | Err(DecoderError::SizeUpdateAtEnd)) => {
            assert_eq!(*fields, within_limit(expected));
        }
        // It permits updates anywhere, and does not know which are required.
        (Err(HpackError::UpdateOutOfPlace | HpackError::UpdateMissing), _) | (Err(_), Err(_)) => {}
        (ours, other) => panic!("{ours:?}, and another decoder: {other:?}"),
    }
}

/// Decodes the blocks of some connections.
fn decoded(input: &[u8]) {
    let mut decoders = Decoders::new(input);
    for step in steps(input) {
        match step {
            Step::Raise(bytes) => {
                decoders.ours.raise_size_limit(bytes);
                decoders.set_limit(decoders.limit.max(bytes));
            }
            Step::Limit(bytes) => {
                decoders.ours.set_size_limit(bytes);
                decoders.set_limit(bytes);
            }
            Step::Block(block) => {
                if decoders.decode(block).is_err() {
                    decoders.reset();
                }
            }
        }
    }
    // A buffer has up to three times the bytes of its table, and up to twice as much is allocated.
    // Each byte of Huffman code is at most 8/5 of a byte.
    let held_bytes_max = 8 * TABLE_BYTES_MAX as usize + 8 * input.len() + 1000;
    assert!(decoders.ours.held_bytes() <= held_bytes_max, "{}", decoders.ours.held_bytes());
    decoders.check_tables();
}

/// Encodes lists of fields and decodes them, while the limit of the table changes.
fn round_trip(size_max: u32, input: &[u8]) {
    let mut encoder = Encoder::new(size_max);
    let mut decoders = Decoders::new(input);
    for step in steps(input) {
        match step {
            Step::Block(bytes) => {
                let fields = fields(bytes);
                // The second time, the table may have some of them.
                for _ in 0..2 {
                    let before = (encoder.generation(), decoders.ours.table_changes());
                    let block = encode(&mut encoder, &fields);
                    assert_eq!(decoders.decode(&block), Ok(within_limit(fields.clone())));
                    if encoder.generation() == before.0 {
                        assert_eq!(decoders.ours.table_changes(), before.1, "not to be repeated");
                    }
                }
            }
            Step::Raise(bytes) | Step::Limit(bytes) => {
                encoder.set_size_limit(bytes);
                decoders.ours.set_size_limit(bytes);
                decoders.set_limit(bytes);
            }
        }
    }
    let mut names = (0..).map_while(|nth| decoders.ours.table_field(nth)).map(|(name, _)| name);
    assert!(!names.any(|name| SECRETS.iter().any(|secret| secret.as_bytes() == name)));
    decoders.check_tables();
}

/// Checks that requests do not depend on the frames in which their fields arrive.
fn framed(frame_bytes: u32, input: &[u8]) {
    let connection = |frame_bytes| {
        let mut bytes = PREFACE.to_vec();
        push_settings(&mut bytes, &Settings::default(), &Settings::default());
        let blocks = steps(input).filter_map(|step| match step {
            Step::Block(block) => Some(block),
            Step::Raise(_) | Step::Limit(_) => None,
        });
        for (stream, block) in (1..).step_by(2).zip(blocks) {
            push_headers(&mut bytes, stream, block, true, frame_bytes);
        }
        h2::run_server(&bytes, usize::MAX)
    };
    assert_eq!(connection(frame_bytes), connection(FRAME_BYTES_DEFAULT));
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, HpackError> {
    let mut fields = Vec::new();
    let is_too_large =
        decoder.decode(block, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    Ok((fields, is_too_large))
}

fn encode(encoder: &mut Encoder, fields: &[Field]) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in fields {
        encoder.field(name, value, &mut block);
    }
    block
}

/// Reads fields to encode. Each begins with two bytes: the number of its name or the length of
/// another one, and the length of its value. Large values are one byte, repeated.
fn fields(mut rest: &[u8]) -> Vec<Field> {
    let mut take = |bytes: usize| {
        let (content, after) = rest.split_at_checked(bytes)?;
        rest = after;
        Some(content)
    };
    let field = || {
        let &[name, value] = take(2)?.first_chunk()?;
        let name = match name {
            0..0x80 => NAMES[usize::from(name) % NAMES.len()].as_bytes(),
            0x80.. => take(usize::from(name % 0x20))?,
        };
        let value = match value {
            0..0x80 => take(usize::from(value))?.to_vec(),
            0x80.. => take(1)?.repeat(usize::from(value % 0x80) * 8),
        };
        Some((name.to_vec(), value))
    };
    std::iter::from_fn(field).collect()
}

/// Returns the size of a field in a list or a table (RFC 7541 §4.1), in bytes.
fn size((name, value): &Field) -> usize {
    name.len() + value.len() + FIELD_OVERHEAD
}

/// Returns the fields of a list before the one that exceeds the limit.
fn within_limit(mut fields: Vec<Field>) -> Fields {
    let mut left = LIST_BYTES_MAX as usize;
    let beyond = fields.iter().position(|field| {
        let rest = left.checked_sub(size(field));
        left = rest.unwrap_or(left);
        rest.is_none()
    });
    fields.truncate(beyond.unwrap_or(fields.len()));
    (fields, beyond.is_some())
}
