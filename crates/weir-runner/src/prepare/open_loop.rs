//! Checks of an open loop whose connections grow, or whose requests in flight are limited.

use anyhow::{Result, bail};
use weir_engine::{ListRows, RequestList};
use weir_result::Plan;
use weir_text::setting::{
    CONNECTIONS, CONNECTIONS_MAX, DURATION, IN_FLIGHT, LIST, RATE, SCRIPT, THREADS,
};

use crate::spec::RunSpec;

/// Checks what a specification says about both.
///
/// # Errors
/// When the load is no open loop of weir's own, the range of connections is empty, or a script
/// makes requests of which some would be shed. The message has the remedy.
pub(super) fn check_spec(spec: &RunSpec) -> Result<()> {
    let load = &spec.load;
    let given = [
        (CONNECTIONS_MAX, load.connections.grows_to().is_some()),
        (IN_FLIGHT, load.in_flight_max.is_some()),
    ];
    let Some((setting, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    if spec.compat.is_some() {
        bail!("{setting} cannot be used in a run of wrk or wrk2, whose connections are fixed");
    }
    if !load.is_open_loop() {
        bail!("{setting} needs planned times, which a closed loop has not: give {RATE}");
    }
    if load.connections.grows_to().is_some_and(|most| most <= load.connections.count()) {
        bail!(
            "the greatest number of connections ({CONNECTIONS_MAX}) is not above the number at the \
             start ({CONNECTIONS}): raise it, or leave it out"
        );
    }
    if load.in_flight_max.is_some() && spec.script.is_some() {
        bail!(
            "{IN_FLIGHT} cannot be used with {SCRIPT}, which makes requests ahead of their time, \
             also those that would be shed: leave one of them out"
        );
    }
    Ok(())
}

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
