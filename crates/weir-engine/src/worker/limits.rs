//! Limits of a worker's connections, derived from the job's plan and the script's callbacks alone.

use weir_result::Load;

use crate::job::Job;
use crate::pool::Limits;
use crate::script::Script;

/// Connections of a worker from which on they lease their protocol and request slots, so that idle
/// ones take next to no memory.
const LEASED_FROM: u32 = 512;

/// Returns the limits and options of a worker's connections.
pub(super) fn limits(job: &Job, connections: u32, script: Option<&Script<'_>>) -> Limits {
    let calls = script.map(Script::calls).unwrap_or_default();
    let shows = script.and_then(Script::interest);
    let streams = job.protocol.is_multiplexed();
    Limits {
        connections,
        depth: job.plan.pipeline,
        timeout_ns: job.plan.timeout_ns,
        connect_timeout_ns: job.plan.connect_timeout_ns,
        streams,
        discard: job.discard && job.tls.is_none() && shows.is_none() && !streams,
        fill: job.plan.load == Load::ClosedLoop && !streams,
        batches: calls.request || calls.delay || calls.knows_connections,
        rests: calls.delay,
        shows,
        late_answers: job.ending.late_answers,
        success: job.plan.success,
        // A script reads responses after they have arrived and needs slots for a whole batch, and
        // a multiplexed protocol has state between requests: their connections keep it.
        leases: connections >= LEASED_FROM && script.is_none() && !streams,
    }
}
