//! Parts of a run on several machines: their specification, and their common start.

use anyhow::{Result, bail};
use weir_text::setting::{PROVE_CLIENT, START_AT};
use weir_text::units;

use crate::spec::RunSpec;

/// Longest wait for the start: a later one is a mistake.
const WAIT_MAX_NS: u64 = 24 * 3_600 * 1_000_000_000;

/// Checks that the specification of a part gives every machine the same plan.
///
/// # Errors
/// When the number of threads is missing or too small, or the warm-up has no fixed length.
pub(crate) fn check_spec(spec: &RunSpec) -> Result<()> {
    let Some(part) = spec.part else { return Ok(()) };
    let threads =
        spec.engine.threads.map_or(0, |threads| threads.min(spec.load.connections.count()));
    let needed = part.workers_min();
    if threads < needed {
        bail!(
            "part {part}: {needed} threads and as many connections are needed for all parts to get \
             their shares"
        );
    }
    if spec.load.warmup.is_auto || spec.checks.prove_client {
        bail!("part {part}: warm-up detection and {PROVE_CLIENT} need the whole run");
    }
    Ok(())
}

/// Checks that `--start-at`, in nanoseconds since 1970, lies ahead.
///
/// # Errors
/// When it has passed, or is more than a day ahead.
pub(crate) fn check_start(start_at: Option<u64>) -> Result<()> {
    let Some(at) = start_at else { return Ok(()) };
    let now = weir_sys::realtime_ns();
    if at <= now {
        let ago = units::duration(now - at);
        bail!("{START_AT} was {ago} ago: give a time ahead, $(($(date +%s) + 10))");
    }
    if at - now > WAIT_MAX_NS {
        bail!("{START_AT} is more than a day ahead: give seconds since 1970, UTC");
    }
    Ok(())
}
