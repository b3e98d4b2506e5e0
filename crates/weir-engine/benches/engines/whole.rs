//! The whole client: the worker as `weir` runs it.

use std::io;

use weir_engine::{Control, Job, run_on};
use weir_http::Prepared;
use weir_io::{Backend, Endpoint};
use weir_result::{IoEngine, Plan, StampChoice};

use crate::side::Load;

/// Longer than any comparison takes, in nanoseconds.
const WINDOW_NS: u64 = 600_000_000_000;

const TIMEOUT_NS: u64 = 60_000_000_000;

/// Runs until the backend fails, as it does when there are no more turns.
pub(crate) fn run<B: Backend>(
    backend: B,
    load: Load,
    endpoint: &Endpoint,
    request: &Prepared,
    stamps: StampChoice,
) -> io::Result<()> {
    let mut job = Job::new(plan(load, stamps), endpoint.clone(), request.clone());
    job.responses.discard = load.discards();
    run_on(&job, 0, &Control::new(1, None), backend, None, None).map(drop)
}

fn plan(load: Load, stamps: StampChoice) -> Plan {
    Plan {
        load: weir_result::Load {
            connections: load.connections.into(),
            pipeline: load.depth,
            duration_ns: Some(WINDOW_NS),
            timeout_ns: TIMEOUT_NS,
            connect_timeout_ns: TIMEOUT_NS,
            ..Plan::default().load
        },
        io: IoEngine::Simulated,
        stamps,
        ..Plan::default()
    }
}
