//! The primitives of a header block (RFC 7541 §5): integers and strings, read with limits and
//! written. Independent of the tables.

use super::{HpackError, huffman};

/// Bits of the largest integer accepted. Lengths and indexes are far below.
const INTEGER_BITS: u32 = 28;

/// Bytes of a block that are left to read.
#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn new(block: &'a [u8]) -> Input<'a> {
        Input { rest: block }
    }

    /// Returns the next byte without consuming it.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Consumes an integer with a prefix of `bits` bits (RFC 7541 §5.1).
    #[inline(always)]
    pub(super) fn integer(&mut self, bits: u32) -> Result<u32, HpackError> {
        let [first, rest @ ..] = self.rest else { return Err(HpackError::Truncated) };
        self.rest = rest;
        let most = (1u32 << bits) - 1;
        let prefix = u32::from(*first) & most;
        if prefix < most { Ok(prefix) } else { self.long_integer(prefix) }
    }

    #[inline(never)]
    fn long_integer(&mut self, prefix: u32) -> Result<u32, HpackError> {
        let mut value = u64::from(prefix);
        let mut shift = 0;
        loop {
            let [byte, rest @ ..] = self.rest else { return Err(HpackError::Truncated) };
            self.rest = rest;
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if value >> INTEGER_BITS != 0 || shift > INTEGER_BITS {
                return Err(HpackError::IntegerTooLarge);
            }
            if byte & 0x80 == 0 {
                return Ok(value as u32);
            }
        }
    }

    /// Consumes a string (RFC 7541 §5.2). `scratch` is overwritten if it is Huffman-encoded.
    #[inline(always)]
    pub(super) fn string<'b>(&mut self, scratch: &'b mut Vec<u8>) -> Result<&'b [u8], HpackError>
    where
        'a: 'b,
    {
        let is_huffman = self.peek().is_some_and(|byte| byte & 0x80 != 0);
        let length = self.integer(7)? as usize;
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(HpackError::Truncated);
        };
        self.rest = rest;
        if !is_huffman {
            return Ok(bytes);
        }
        scratch.clear();
        huffman::decode(bytes, scratch)?;
        Ok(scratch)
    }
}

/// Appends an integer with a prefix of `bits` bits; `pattern` has the bits above it.
pub(super) fn push_integer(out: &mut Vec<u8>, pattern: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a string, in the shorter of its two forms.
pub(super) fn push_string(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = huffman::encoded_length(bytes);
    if length < bytes.len() {
        push_integer(out, 0x80, 7, length);
        huffman::encode(bytes, out);
    } else {
        push_integer(out, 0, 7, bytes.len());
        out.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_appendix() {
        // RFC 7541 appendices C.1.1 to C.1.3.
        for (bits, value, bytes) in
            [(5, 10, &[0b01010][..]), (5, 1337, &[0b11111, 0b1001_1010, 0b1010]), (8, 42, &[42])]
        {
            let mut out = Vec::new();
            push_integer(&mut out, 0, bits, value);
            assert_eq!(out, bytes);
            assert_eq!(Input::new(bytes).integer(bits), Ok(value as u32));
        }
    }

    #[test]
    fn written_integers_are_read() {
        for bits in 4..8 {
            for value in (0..20).map(|shift| 1usize << shift).flat_map(|v| [v - 1, v, v + 1]) {
                let mut out = Vec::new();
                push_integer(&mut out, 0, bits, value);
                let mut input = Input::new(&out);
                assert_eq!((input.integer(bits), input.peek()), (Ok(value as u32), None));
                let cut = Input::new(&out[..out.len() - 1]).integer(bits);
                assert_eq!(cut, Err(HpackError::Truncated));
            }
        }
    }

    #[test]
    fn integers_have_a_limit() {
        let check = |bytes: &[u8], expected| assert_eq!(Input::new(bytes).integer(7), expected);
        check(&[0x7f, 0x80, 0xff, 0xff, 0x7f], Ok(0x7f + (0x0fff_ff80)));
        check(&[0x7f, 0xff, 0xff, 0xff, 0x7f], Err(HpackError::IntegerTooLarge));
        check(&[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00], Err(HpackError::IntegerTooLarge));
        check(&[0x7f, 0x80, 0x80, 0x80], Err(HpackError::Truncated));
    }

    #[test]
    fn strings_end_within_the_block() {
        let mut scratch = Vec::new();
        assert_eq!(Input::new(b"\x03abcd").string(&mut scratch), Ok(&b"abc"[..]));
        assert_eq!(Input::new(b"\x03ab").string(&mut scratch), Err(HpackError::Truncated));
        assert_eq!(Input::new(b"").string(&mut scratch), Err(HpackError::Truncated));
    }
}
