//! The convention of system calls: a negative result, and the reason in `errno`.

use std::io;

use libc::c_int;

/// Returns the result of a system call, or the reason of its failure if it is negative.
///
/// # Errors
/// The value of `errno`, which the call must have set last.
#[inline]
pub fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
