//! Token: the word by which the kernel's reports identify a connection.

/// Kind of report, generation and index, packed into one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Kind of object reported on; each backend defines its own kinds.
    pub(crate) kind: u8,
    /// Socket of the connection, so that reports on an older one are recognised.
    pub(crate) generation: u16,
    /// Connection, or entry of the table that belongs to the kind.
    pub(crate) index: u32,
}

impl Token {
    /// Returns the word of the token with these parts.
    #[inline]
    pub(crate) fn pack(kind: u8, generation: u16, index: u32) -> u64 {
        u64::from(kind) << 56 | u64::from(generation) << 32 | u64::from(index)
    }

    #[inline]
    pub(crate) fn unpack(word: u64) -> Token {
        let [kind, _, high, low, i0, i1, i2, i3] = word.to_be_bytes();
        Token {
            kind,
            generation: u16::from_be_bytes([high, low]),
            index: u32::from_be_bytes([i0, i1, i2, i3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_packing() {
        for (kind, generation, index) in
            [(0, 0, 0), (7, 0xfffe, 0xffff_fffe), (255, 0xffff, u32::MAX), (1, 0, 5)]
        {
            let token = Token { kind, generation, index };
            assert_eq!(Token::unpack(Token::pack(kind, generation, index)), token);
        }
    }
}
