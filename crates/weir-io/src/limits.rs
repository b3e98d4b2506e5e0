//! Sizes and time spans shared by the backends that use the operating system.

/// Delay before retrying an operation whose readiness the kernel does not report, in nanoseconds:
/// room in a Unix listener's backlog, a free descriptor for an accept.
pub(crate) const RETRY_NS: u64 = 1_000_000;

/// Smallest remainder for which discarding in the kernel pays, in bytes; below it, copying costs no
/// more.
pub(crate) const DISCARD_MIN: u64 = 4096;

/// Most bytes that one call discards.
pub(crate) const DISCARD_MAX: u64 = 1 << 30;

/// Size of the first read of a response whose body will be discarded: enough for its head.
pub(crate) const HEAD_BYTES: u32 = 4096;

/// Most pieces sent in one message.
pub(crate) const PIECES: usize = 64;
