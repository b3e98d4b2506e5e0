//! Sizes and spans that the backends of the real machine have in common.

/// How long to wait before trying again what the kernel will not announce: room in a Unix
/// listener's backlog, a free descriptor for an accept.
pub(crate) const RETRY_NS: u64 = 1_000_000;

/// From here on discarding in the kernel pays; below, the bytes are as well copied and lent.
pub(crate) const DISCARD_MIN: u64 = 4096;

/// Most bytes that one call discards.
pub(crate) const DISCARD_MAX: u64 = 1 << 30;

/// The first read of an answer whose body will be discarded: enough for its head.
pub(crate) const HEAD_BYTES: u32 = 4096;

/// Most pieces that leave in one message.
pub(crate) const PIECES: usize = 64;
