//! Limits and defaults of sizes (RFC 9113 §4.2, §6.5.2 and §6.9).

/// Length of a frame's header, in bytes.
pub const HEADER_BYTES: usize = 9;

/// Length of a frame's payload that every peer accepts (RFC 9113 §4.2), in bytes.
pub const FRAME_BYTES_DEFAULT: u32 = 16_384;

/// Greatest length that a peer may accept, in bytes.
pub const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;

/// Greatest window (RFC 9113 §6.9.1), in bytes.
pub const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// Window of the connection and of each stream before any setting (RFC 9113 §6.9.2), in bytes.
pub const WINDOW_BYTES_DEFAULT: u32 = 65_535;
