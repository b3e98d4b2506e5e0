//! The head that plain requests repeat. Load generators send the same bytes repeatedly, and
//! comparing is cheaper than parsing.

/// The last head that turned out to be plain; empty before the first.
#[derive(Debug, Default)]
pub(super) struct PlainHead(Vec<u8>);

impl PlainHead {
    /// Keeps a head whose bytes came in two pieces.
    pub(super) fn set(&mut self, start: &[u8], end: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(start);
        self.0.extend_from_slice(end);
    }

    /// Returns the number of its repetitions at the start of `bytes`, and the rest.
    #[inline(always)]
    pub(super) fn copies<'a>(&self, bytes: &'a [u8]) -> (u32, &'a [u8]) {
        let length = self.0.len();
        if length == 0 {
            return (0, bytes);
        }
        // Most often there is one.
        if bytes.len() < 2 * length {
            return bytes.strip_prefix(&self.0[..]).map_or((0, bytes), |rest| (1, rest));
        }
        self.many_copies(bytes)
    }

    /// Does the same, for more than one. A loop of its own keeps its values in registers.
    #[inline(never)]
    fn many_copies<'a>(&self, bytes: &'a [u8]) -> (u32, &'a [u8]) {
        let mut copies = 0;
        let mut rest = bytes;
        while let Some(behind) = rest.strip_prefix(&self.0[..]) {
            copies += 1;
            rest = behind;
        }
        (copies, rest)
    }

    /// Returns its end, behind a start of it.
    pub(super) fn behind(&self, start: &[u8]) -> Option<&[u8]> {
        self.0.strip_prefix(start)
    }

    /// True if `bytes` are a start of it, and not all.
    pub(super) fn has_start(&self, bytes: &[u8]) -> bool {
        bytes.len() < self.0.len() && self.0.starts_with(bytes)
    }
}
