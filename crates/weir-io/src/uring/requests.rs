//! Requests of one connection that the io_uring backend has pending.

use crate::slab::NONE;

/// Value of `armed` if the kernel has no pending request that reports received bytes.
pub(super) const NOTHING: u8 = u8::MAX;

/// Requests of one connection.
pub(super) struct Requests {
    /// Entry in the table of slow sends, as bytes, which need no alignment.
    slow: [u8; 4],
    /// True if the connection is in `notes.receives`.
    pub(super) unarmed: bool,
    /// Pending request that reports received bytes: a kind of token, or [`NOTHING`].
    pub(super) armed: u8,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests { slow: NONE.to_ne_bytes(), unarmed: false, armed: NOTHING }
    }
}

impl Requests {
    /// Returns the entry in the table of slow sends, or [`NONE`].
    #[inline]
    pub(super) fn slow(&self) -> u32 {
        u32::from_ne_bytes(self.slow)
    }

    /// Changes the entry in the table of slow sends, and returns the last one.
    #[inline]
    pub(super) fn replace_slow(&mut self, slot: u32) -> u32 {
        u32::from_ne_bytes(std::mem::replace(&mut self.slow, slot.to_ne_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket_core::Conn;

    #[test]
    fn a_million_are_thirty_six_megabytes() {
        assert_eq!(size_of::<Conn<Requests>>(), 36);
    }
}
