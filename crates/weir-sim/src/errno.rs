//! The error numbers of simulated sockets, as on Linux (errno(3)). This crate makes no system call
//! and so does without libc.

/// No descriptor left.
pub const EMFILE: i32 = 24;
/// The peer reset the connection.
pub const ECONNRESET: i32 = 104;
/// No send buffer left.
pub const ENOBUFS: i32 = 105;
/// No process listens at the address.
pub const ECONNREFUSED: i32 = 111;
