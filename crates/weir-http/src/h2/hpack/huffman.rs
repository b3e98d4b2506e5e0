//! The Huffman code of strings (RFC 7541 §5.2 and appendix B). Independent of the use of strings.
//!
//! The code is canonical: the length of each symbol's code determines all codes. Both directions
//! use tables that the compiler computes from the lengths.

use super::HpackError;

/// Number of the symbol that ends a string. It never occurs in one.
const EOS: u16 = 256;

/// Length of each symbol's code, in bits; the last is EOS.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11,
    10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8,
    15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5,
    6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
    23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21,
    23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25,
    26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26,
    28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// Length of the longest code, in bits.
const LONGEST: u32 = 30;

/// Bits that one look-up resolves. Longer codes are of control characters and rare ones.
const SHORT: u32 = 10;

const TABLES: Tables = Tables::new();

struct Tables {
    /// Code of each symbol.
    codes: [u32; 257],
    /// By the next [`SHORT`] bits: the symbol, and above it the length of its code; zero if the
    /// code is longer.
    short: [u16; 1 << SHORT],
    /// Symbols in the order of their codes.
    sorted: [u16; 257],
    /// By length: the first code, and the position of its symbol in `sorted`.
    first: [(u32, u16); LONGEST as usize + 1],
    /// By length: the first code that is longer, with zeros up to [`LONGEST`] bits.
    limit: [u32; LONGEST as usize + 1],
}

impl Tables {
    const fn new() -> Tables {
        let mut tables = Tables {
            codes: [0; 257],
            short: [0; 1 << SHORT],
            sorted: [0; 257],
            first: [(0, 0); LONGEST as usize + 1],
            limit: [0; LONGEST as usize + 1],
        };
        let mut code = 0u32;
        let mut place = 0;
        let mut length = 1;
        while length <= LONGEST {
            tables.first[length as usize] = (code, place as u16);
            let mut symbol = 0;
            while symbol < LENGTHS.len() {
                if LENGTHS[symbol] as u32 == length {
                    tables.codes[symbol] = code;
                    tables.sorted[place] = symbol as u16;
                    tables.fill_short(code, length, symbol as u16);
                    code += 1;
                    place += 1;
                }
                symbol += 1;
            }
            tables.limit[length as usize] = code << (LONGEST - length);
            code <<= 1;
            length += 1;
        }
        tables
    }

    const fn fill_short(&mut self, code: u32, length: u32, symbol: u16) {
        if length <= SHORT {
            let mut bits = code << (SHORT - length);
            while bits < (code + 1) << (SHORT - length) {
                self.short[bits as usize] = (length as u16) << 8 | symbol;
                bits += 1;
            }
        }
    }

    /// Returns the symbol and the length of the code that `bits` begin with.
    #[inline(always)]
    fn decode(&self, bits: u64) -> (u16, u32) {
        let entry = self.short[(bits >> (64 - SHORT)) as usize];
        if entry != 0 { (entry & 0xff, u32::from(entry >> 8)) } else { self.decode_long(bits) }
    }

    #[inline(never)]
    fn decode_long(&self, bits: u64) -> (u16, u32) {
        let bits = (bits >> (64 - LONGEST)) as u32;
        let mut length = SHORT + 1;
        while length < LONGEST && bits >= self.limit[length as usize] {
            length += 1;
        }
        let (code, place) = self.first[length as usize];
        let nth = (bits >> (LONGEST - length)) - code;
        (self.sorted[usize::from(place) + nth as usize], length)
    }
}

/// Appends the decoded string to `out`.
///
/// # Errors
/// If `bytes` contain EOS, or end with anything but at most seven bits of its start.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // No code has less than five bits.
    let begin = out.len();
    let most = bytes.len() * 8 / 5;
    out.resize(begin + most, 0);
    let room = &mut out[begin..];
    let mut input = Bits { bytes, bits: 0, count: 0 };
    let mut length = 0;
    let result = loop {
        input.refill();
        if input.count < LONGEST {
            break input.finish(room, &mut length);
        }
        while input.count >= LONGEST {
            let (symbol, bits) = TABLES.decode(input.bits);
            if symbol == EOS {
                return Err(HpackError::BadHuffman);
            }
            room[length] = symbol as u8;
            length += 1;
            input.skip(bits);
        }
    };
    out.truncate(begin + length);
    result
}

/// The next bits of a string, in the high bits of a word. The bits below them are zeros.
struct Bits<'a> {
    bytes: &'a [u8],
    bits: u64,
    count: u32,
}

impl Bits<'_> {
    /// Moves bytes into the word: there are at least [`LONGEST`] bits in it then, or all.
    #[inline(always)]
    fn refill(&mut self) {
        if let Some((word, rest)) = self.bytes.split_first_chunk::<4>() {
            self.bits |= u64::from(u32::from_be_bytes(*word)) << (32 - self.count);
            self.count += 32;
            self.bytes = rest;
            return;
        }
        while let [byte, rest @ ..] = self.bytes {
            self.bits |= u64::from(*byte) << (56 - self.count);
            self.count += 8;
            self.bytes = rest;
        }
    }

    #[inline(always)]
    fn skip(&mut self, count: u32) {
        self.bits <<= count;
        self.count -= count;
    }

    /// Decodes the last bits of the string, fewer than the longest code has.
    fn finish(&mut self, room: &mut [u8], length: &mut usize) -> Result<(), HpackError> {
        while self.count > 0 {
            // Padding is the start of EOS, which is all ones.
            let padded = self.bits | u64::MAX >> self.count;
            if padded == u64::MAX && self.count < 8 {
                return Ok(());
            }
            let (symbol, bits) = TABLES.decode(padded);
            if bits > self.count {
                return Err(HpackError::BadHuffman);
            }
            room[*length] = symbol as u8;
            *length += 1;
            self.skip(bits);
        }
        Ok(())
    }
}

/// Returns the length of the encoded string, in bytes.
pub(super) fn encoded_length(bytes: &[u8]) -> usize {
    let bits: usize = bytes.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the encoded string to `out`.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut count = 0u32;
    for byte in bytes {
        let symbol = usize::from(*byte);
        let length = u32::from(LENGTHS[symbol]);
        bits = bits << length | u64::from(TABLES.codes[symbol]);
        count += length;
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((bits >> count) as u32).to_be_bytes());
        }
    }
    let padding = (8 - count % 8) % 8;
    bits = bits << padding | ((1 << padding) - 1);
    let bytes = ((count + padding) / 8) as usize;
    out.extend_from_slice(&bits.to_be_bytes()[8 - bytes..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = b"before".to_vec();
        decode(bytes, &mut out)?;
        Ok(out.split_off(6))
    }

    #[test]
    fn codes_of_the_appendix() {
        // RFC 7541 appendix B.
        for (symbol, code) in [
            (0, 0x1ff8),
            (b' '.into(), 0x14),
            (b'0'.into(), 0x0),
            (b'a'.into(), 0x3),
            (b'X'.into(), 0xfc),
            (b'\\'.into(), 0x7fff0),
            (b'~'.into(), 0x1ffd),
            (127, 0xffffffc),
            (249, 0xffffffe),
            (255, 0x3ffffee),
            (256, 0x3fffffff),
        ] {
            assert_eq!(TABLES.codes[symbol], code, "{symbol}");
        }
    }

    #[test]
    fn strings_of_every_symbol() {
        for repeats in 0..40 {
            for symbol in 0..=255u8 {
                let mut text = vec![symbol; repeats];
                text.extend(b"/index.html");
                let mut bytes = Vec::new();
                encode(&text, &mut bytes);
                assert_eq!(bytes.len(), encoded_length(&text));
                assert_eq!(decoded(&bytes).as_deref(), Ok(&text[..]));
            }
        }
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let mut bytes = Vec::new();
        encode(&all, &mut bytes);
        assert_eq!(decoded(&bytes), Ok(all));
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        // `0` is five zeros.
        assert_eq!(decoded(&[0b0000_0111]), Ok(b"0".to_vec()));
        assert_eq!(decoded(&[]), Ok(vec![]));
        for bytes in [
            &[0b0000_0110][..],
            &[0b0000_0111, 0xff],
            &[0xff],
            &[0xff, 0xff],
            &[0b1111_1000, 0xff],
            &[0b1111_1110],
        ] {
            assert_eq!(decoded(bytes), Err(HpackError::BadHuffman), "{bytes:?}");
        }
        // `&` is eight bits, and no padding follows.
        assert_eq!(decoded(&[0b1111_1000]), Ok(b"&".to_vec()));
    }

    #[test]
    fn the_end_symbol_is_refused() {
        for before in 0..12 {
            let mut bytes = vec![0b1111_1000; before];
            bytes.extend([0xff, 0xff, 0xff, 0xff]);
            assert_eq!(decoded(&bytes), Err(HpackError::BadHuffman));
            bytes.extend([0; 12]);
            assert_eq!(decoded(&bytes), Err(HpackError::BadHuffman));
        }
    }
}
