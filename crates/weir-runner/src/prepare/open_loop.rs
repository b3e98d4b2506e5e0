//! The check of a plan whose requests in flight are limited.

use anyhow::{Result, bail};
use weir_engine::{ListRows, RequestList};
use weir_result::Plan;
use weir_text::setting::{DURATION, IN_FLIGHT, LIST, THREADS};

/// Checks that each thread of a plan may have a request in flight, and that the requests that are
/// shed can be kept: one by one, with the rows of a list that is held.
///
/// # Errors
/// When that is not so; the message has the remedy.
pub(super) fn check_in_flight(plan: &Plan, list: Option<&RequestList>) -> Result<()> {
    let Some(most) = plan.load.in_flight_max else { return Ok(()) };
    if most < plan.threads {
        let threads = plan.threads;
        bail!(
            "{IN_FLIGHT} {most} is less than the number of threads, {threads}, of which each needs \
             one: raise it to {threads}, or use {THREADS} {most}"
        );
    }
    if plan.load.length_ns().is_none() && plan.load.requests.is_none() {
        bail!(
            "{IN_FLIGHT} cannot be used with {DURATION} 0: requests that are shed are kept to the \
             end; give {DURATION} a length"
        );
    }
    match list.map(|list| &list.rows) {
        None | Some(ListRows::Prepared(_)) => Ok(()),
        Some(ListRows::Read(_) | ListRows::Streamed(_)) => bail!(
            "{IN_FLIGHT} cannot be used with a list that is read while the load runs: its rows \
             follow the requests that are sent; shorten {LIST}, or leave {IN_FLIGHT} out"
        ),
    }
}
