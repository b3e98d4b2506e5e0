//! The precision of the calling thread's timers, and a short sleep on the monotonic clock.

use std::io;
use std::ptr;

use super::errno::check;

/// Sets the longest delay of the calling thread's timers, in nanoseconds
/// (PR_SET_TIMERSLACK(2const)). The default of 50 µs delays sends far too much; 1 ns is the
/// minimum.
///
/// # Errors
/// Errors of prctl(2).
pub fn set_timer_slack(ns: u32) -> io::Result<()> {
    // SAFETY: this prctl takes no pointers.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(ns)) };
    check(result).map(drop)
}

/// Returns the longest delay of the calling thread's timers, in nanoseconds
/// (PR_GET_TIMERSLACK(2const)).
///
/// # Errors
/// Errors of prctl(2).
pub fn timer_slack_ns() -> io::Result<u64> {
    // SAFETY: this prctl takes no pointers.
    let slack = check(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })?;
    Ok(u64::from(slack.unsigned_abs()))
}

/// Sleeps for `ns` nanoseconds, or less if interrupted (clock_nanosleep(2)).
pub fn nap(ns: u64) {
    let span = libc::timespec {
        tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the span lives until the call returns; the remaining time is not requested.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &span, ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slack_is_the_one_that_was_set() {
        set_timer_slack(1).expect("slack");
        assert_eq!(timer_slack_ns().expect("slack"), 1);
    }
}
