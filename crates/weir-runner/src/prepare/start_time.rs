//! The common start of the parts of a run on several machines.

use anyhow::{Result, bail};
use weir_machine::sys;
use weir_text::setting::START_AT;
use weir_text::units;

/// Longest wait for the start: a later one is a mistake.
const WAIT_MAX_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Checks that `--start-at`, in nanoseconds since 1970, lies ahead.
///
/// # Errors
/// When it has passed, or is more than a day ahead.
pub(crate) fn check_start(start_at: Option<u64>) -> Result<()> {
    let Some(at) = start_at else { return Ok(()) };
    let now = sys::realtime_ns();
    if at <= now {
        let ago = units::duration(now - at);
        bail!("{START_AT} was {ago} ago: give a time ahead, $(($(date +%s) + 10))");
    }
    if at - now > WAIT_MAX_NS {
        bail!("{START_AT} is more than a day ahead: give seconds since 1970, UTC");
    }
    Ok(())
}
