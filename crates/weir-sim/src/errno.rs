//! The error numbers that simulated sockets fail with, as Linux numbers them (errno(3)). This crate
//! makes no system call and so does without libc.

/// No descriptor left.
pub const EMFILE: i32 = 24;
/// The peer reset the connection.
pub const ECONNRESET: i32 = 104;
/// No buffer left to send from.
pub const ENOBUFS: i32 = 105;
/// Nobody listens there.
pub const ECONNREFUSED: i32 = 111;
