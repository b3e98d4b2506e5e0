//! Histograms as text: HdrHistogram's V2 encoding, compressed, in base64, as other tools read it.
//!
//! The buckets are HdrHistogram's, so that encoding only writes counts. Decoding accepts any text:
//! it ends in buckets within [`BUCKETS`] or in the fault of the text, with memory bounded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::buckets::{BUCKETS, HIGHEST_NS};
use super::zlib::{deflated, inflated};

const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
const SIGNIFICANT_DIGITS: u32 = 3;
const LOWEST_NS: u64 = 1;

/// Header: cookie, payload length, offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;

/// Greatest payload: a count takes nine bytes at most.
const PAYLOAD_BYTES_MAX: usize = BUCKETS * 9;

/// Reasons why a text is no histogram of this program: it is cut short, or of a unit, range or
/// precision whose buckets cannot be added.
const NOT_BASE64: &str = "it is not base64";
const NOT_A_HISTOGRAM: &str = "it is not a compressed HdrHistogram of version 2";
const OTHER_LAYOUT: &str = "it is not a histogram from 1 ns to 1 h with three digits";
const COUNTS_OUT_OF_RANGE: &str = "its counts are out of range";

/// Encodes these buckets, ascending, as text.
pub(super) fn encode(buckets: impl IntoIterator<Item = (usize, u64)>) -> String {
    let mut payload = Vec::new();
    let mut next = 0;
    for (bucket, count) in buckets.into_iter().filter(|(_, count)| *count > 0) {
        // A negative number is the number of empty buckets that follow.
        let empty = i64::try_from(bucket - next).expect("33,792 buckets fit 64 bits");
        if empty > 0 {
            write_number(-empty, &mut payload);
        }
        write_number(i64::try_from(count).unwrap_or(i64::MAX), &mut payload);
        next = bucket + 1;
    }
    let payload_bytes = u32::try_from(payload.len()).expect("at most 33,792 counts");
    let mut plain = Vec::with_capacity(HEADER_BYTES + payload.len());
    for word in [COOKIE, payload_bytes, 0, SIGNIFICANT_DIGITS] {
        plain.extend_from_slice(&word.to_be_bytes());
    }
    plain.extend_from_slice(&LOWEST_NS.to_be_bytes());
    plain.extend_from_slice(&HIGHEST_NS.to_be_bytes());
    plain.extend_from_slice(&1.0_f64.to_be_bytes());
    plain.extend_from_slice(&payload);
    STANDARD.encode(compress(&plain))
}

/// Decodes the buckets of a text, ascending.
pub(super) fn decode(text: &str) -> Result<Vec<(usize, u64)>, &'static str> {
    let compressed = STANDARD.decode(text).map_err(|_| NOT_BASE64)?;
    let plain = decompress(&compressed).ok_or(NOT_A_HISTOGRAM)?;
    let (header, payload) = plain.split_at_checked(HEADER_BYTES).ok_or(NOT_A_HISTOGRAM)?;
    let payload_bytes = word_at(header, 4).and_then(|bytes| usize::try_from(bytes).ok());
    if word_at(header, 0) != Some(COOKIE) || payload_bytes != Some(payload.len()) {
        return Err(NOT_A_HISTOGRAM);
    }
    let is_ours = word_at(header, 8) == Some(0)
        && word_at(header, 12) == Some(SIGNIFICANT_DIGITS)
        && header[16..24] == LOWEST_NS.to_be_bytes()
        && header[24..32] == HIGHEST_NS.to_be_bytes()
        && header[32..40] == 1.0_f64.to_be_bytes();
    if !is_ours {
        return Err(OTHER_LAYOUT);
    }
    read_counts(payload)
}

fn read_counts(mut payload: &[u8]) -> Result<Vec<(usize, u64)>, &'static str> {
    let mut buckets = Vec::new();
    let mut next = 0_usize;
    while !payload.is_empty() {
        let number = read_number(&mut payload).ok_or(NOT_A_HISTOGRAM)?;
        let step = if number < 0 { number.unsigned_abs() } else { 1 };
        if number > 0 {
            buckets.push((next, number.unsigned_abs()));
        }
        next = usize::try_from(step)
            .ok()
            .and_then(|step| next.checked_add(step))
            .filter(|next| *next <= BUCKETS)
            .ok_or(COUNTS_OUT_OF_RANGE)?;
    }
    Ok(buckets)
}

/// Writes a number as ZigZag LEB128-64b9B: zig-zag, then seven bits a byte, the ninth byte whole.
fn write_number(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        let low = u8::try_from(rest & 0x7f).expect("seven bits");
        rest >>= 7;
        if rest == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
    out.push(u8::try_from(rest).expect("eight bits are left of 64"));
}

/// Reads a number in the same encoding; `None` if the bytes end inside it.
fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut raw = 0_u64;
    for index in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if index == 8 {
            raw |= u64::from(*byte) << 56;
            break;
        }
        raw |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
}

fn compress(plain: &[u8]) -> Vec<u8> {
    let deflated = deflated(plain);
    let length = u32::try_from(deflated.len()).expect("at most 300 kB before compression");
    [&COMPRESSED_COOKIE.to_be_bytes()[..], &length.to_be_bytes(), &deflated].concat()
}

fn decompress(compressed: &[u8]) -> Option<Vec<u8>> {
    let (header, deflated) = compressed.split_at_checked(8)?;
    let length = usize::try_from(word_at(header, 4)?).ok()?;
    if word_at(header, 0)? != COMPRESSED_COOKIE || length != deflated.len() {
        return None;
    }
    // A decompression bomb is cut there.
    inflated(deflated, HEADER_BYTES + PAYLOAD_BYTES_MAX)
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::{bucket_of, lowest_in};

    fn theirs() -> hdrhistogram::Histogram<u64> {
        hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3).expect("valid bounds")
    }

    fn bytes_of(text: &str) -> Vec<u8> {
        STANDARD.decode(text).expect("base64")
    }

    #[test]
    fn the_reference_library_reads_what_we_write() {
        let values = [(0, 3), (17, 1), (2_047, 5), (999_999, 1_000_000), (HIGHEST_NS, 2)];
        let text = encode(values.iter().map(|(ns, count)| (bucket_of(*ns), *count)));
        let read: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes_of(&text).as_slice()).expect("a histogram");
        for (ns, count) in values {
            assert_eq!(read.count_at(ns), count, "{ns}");
        }
        assert_eq!(read.len(), 1_000_011);
    }

    #[test]
    fn we_read_what_the_reference_library_writes() {
        let mut histogram = theirs();
        let values = [(1_u64, 1_u64), (54_000, 200), (2_000_300_000, 7)];
        for (ns, count) in values {
            histogram.record_n(ns, count).expect("in range");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("in memory");
        let expected: Vec<_> = values.iter().map(|(ns, n)| (bucket_of(*ns), *n)).collect();
        assert_eq!(decode(&STANDARD.encode(bytes)), Ok(expected));
    }

    #[test]
    fn other_layouts_are_refused() {
        let mut histogram =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1_000_000, 3).expect("valid bounds");
        histogram.record(5).expect("in range");
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("in memory");
        assert_eq!(decode(&STANDARD.encode(bytes)), Err(OTHER_LAYOUT));
        assert_eq!(decode("no base64!"), Err(NOT_BASE64));
        assert_eq!(decode(""), Err(NOT_A_HISTOGRAM));
        let mut cut = bytes_of(&encode([(7, 1), (9, 2)]));
        cut.pop();
        assert_eq!(decode(&STANDARD.encode(cut)), Err(NOT_A_HISTOGRAM));
    }

    #[test]
    fn a_bomb_and_a_count_beyond_the_range_are_refused() {
        let zeros = vec![0; 100_000_000];
        assert_eq!(decode(&STANDARD.encode(compress(&zeros))), Err(NOT_A_HISTOGRAM));
        let beyond = encode([(BUCKETS + 5, 1)]);
        assert_eq!(decode(&beyond), Err(COUNTS_OUT_OF_RANGE));
    }

    proptest! {
        #[test]
        fn buckets_survive(
            counts in prop::collection::btree_map(0..BUCKETS, 1..=(i64::MAX as u64), 0..50)
        ) {
            let buckets: Vec<_> = counts.into_iter().collect();
            prop_assert_eq!(decode(&encode(buckets.iter().copied())), Ok(buckets));
        }

        #[test]
        fn numbers_survive(number in any::<i64>()) {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            prop_assert_eq!(read_number(&mut bytes.as_slice()), Some(number));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&STANDARD.encode(&bytes));
            let _ = decode(&STANDARD.encode(compress(&bytes)));
            prop_assert!(lowest_in(BUCKETS - 1) > 0);
        }
    }
}
