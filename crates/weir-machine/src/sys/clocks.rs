//! Readings of the kernel's clocks, in nanoseconds. An epoch and instants are the caller's.

use std::io;

use super::errno::check;

/// Returns the time on `CLOCK_MONOTONIC`, which all processes of this machine share.
#[inline]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Returns the wall-clock time since 1970, the unit of the kernel's time stamps. No event is timed
/// by it.
#[inline]
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Returns the CPU time of the calling thread.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the resolution of the monotonic clock and of timers on it, in nanoseconds
/// (clock_getres(2)).
///
/// # Errors
/// Errors of clock_getres(2).
pub fn clock_resolution_ns() -> io::Result<u64> {
    let mut span = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    check(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut span) })?;
    Ok(span.tv_sec.unsigned_abs() * 1_000_000_000 + span.tv_nsec.unsigned_abs())
}

/// Reads a clock in nanoseconds (clock_gettime(2)).
#[inline]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to, and these clocks exist on every Linux.
    let failed = unsafe { libc::clock_gettime(clock, &mut now) };
    debug_assert_eq!(failed, 0, "a clock cannot be read");
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_clock_advances() {
        let before = (monotonic_ns(), realtime_ns(), thread_cpu_ns());
        while thread_cpu_ns() == before.2 || monotonic_ns() == before.0 {}
        assert!(before.1 > 1_700_000_000_000_000_000, "a wall clock before 2023");
        assert!(clock_resolution_ns().is_ok_and(|ns| ns > 0));
    }
}
