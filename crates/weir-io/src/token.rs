//! What a backend gives the kernel to recognise a connection by when the kernel reports on it.

/// A kind of report, a generation and an index, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What is reported on; each backend has its own kinds.
    pub(crate) kind: u8,
    /// Which socket of the connection, so that reports on an older one are known for what they are.
    pub(crate) generation: u16,
    /// Which connection, or which entry of the table that the kind says.
    pub(crate) index: u32,
}

impl Token {
    #[inline]
    pub(crate) fn new(kind: u8, generation: u16, index: u32) -> Token {
        Token { kind, generation, index }
    }

    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.kind) << 56 | u64::from(self.generation) << 32 | u64::from(self.index)
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
        for token in [
            Token::new(0, 0, 0),
            Token::new(7, 0xfffe, 0xffff_fffe),
            Token::new(255, 0xffff, u32::MAX),
            Token::new(1, 0, 5),
        ] {
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
