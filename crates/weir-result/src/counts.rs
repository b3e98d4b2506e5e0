//! Rows of small counts as text: LEB128, compressed with zlib, in base64. The decoder gets the
//! expected number of counts, and takes no more memory than those need, for any text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use weir_stats::histogram::zlib::{deflated, inflated};

/// Encoded bytes of the greatest count.
const COUNT_BYTES_MAX: usize = 5;

/// Encodes these counts as text.
pub(crate) fn encode(counts: &[u32]) -> String {
    let mut plain = Vec::with_capacity(counts.len());
    for count in counts {
        let mut rest = *count;
        while rest >= 0x80 {
            plain.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        plain.push(rest as u8);
    }
    STANDARD.encode(deflated(&plain))
}

/// Decodes the `expected` counts of a text. The error is the fault of the text.
pub(crate) fn decode(text: &str, expected: usize) -> Result<Vec<u32>, &'static str> {
    let compressed = STANDARD.decode(text).map_err(|_| "it is not base64")?;
    let plain = inflated(&compressed, expected.saturating_mul(COUNT_BYTES_MAX))
        .ok_or("it is not compressed, or too long")?;
    let mut counts = Vec::with_capacity(expected.min(plain.len()));
    let mut bytes = plain.iter();
    while let Some(first) = bytes.next() {
        let mut count = u64::from(first & 0x7f);
        let mut last = *first;
        let mut shift = 7;
        while last & 0x80 != 0 {
            last = *bytes.next().ok_or("a count is cut short")?;
            count |= u64::from(last & 0x7f) << shift;
            shift += 7;
            if shift > 7 * COUNT_BYTES_MAX {
                return Err("a count is out of range");
            }
        }
        counts.push(u32::try_from(count).map_err(|_| "a count is out of range")?);
    }
    if counts.len() == expected {
        Ok(counts)
    } else {
        Err("it has not as many counts as its spans")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back() {
        for counts in [vec![], vec![0], vec![1, 127, 128, 16_383, 16_384, u32::MAX, 0, 5]] {
            let text = encode(&counts);
            assert_eq!(decode(&text, counts.len()), Ok(counts.clone()));
            assert!(decode(&text, counts.len() + 1).is_err(), "{counts:?}");
        }
    }

    #[test]
    fn other_texts_do_not() {
        let text = |bytes: &[u8]| STANDARD.encode(deflated(bytes));
        assert_eq!(decode("?", 1), Err("it is not base64"));
        assert_eq!(decode("AAAA", 1), Err("it is not compressed, or too long"));
        assert_eq!(decode(&text(&[0x80]), 1), Err("a count is cut short"));
        assert_eq!(decode(&text(&[0xff; 5]), 1), Err("a count is cut short"));
        assert_eq!(
            decode(&text(&[0xff, 0xff, 0xff, 0xff, 0x7f]), 1),
            Err("a count is out of range")
        );
        assert_eq!(decode(&text(&[0; 99]), 9), Err("it is not compressed, or too long"));
    }
}
