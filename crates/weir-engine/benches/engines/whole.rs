//! A client with everything on it: the worker as `weir` runs it.

use std::io;

use weir_engine::{Control, Extras, Job, run_on};
use weir_http::Prepared;
use weir_io::{Backend, Endpoint};
use weir_run::{
    ConnectionPlan, IoEngine, Load as Model, Pacing, Plan, RequestPlan, StampChoice, Target, Wait,
};

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
    let job = Job {
        plan: plan(load, stamps),
        endpoint: endpoint.clone(),
        destinations: Vec::new(),
        request: request.clone(),
        discard: load.discards(),
        cpus: Vec::new(),
        tls: None,
        late_answers: false,
        extras: Extras::default(),
        raw: None,
    };
    run_on(&job, 0, &Control::new(1, None), backend, None, None).map(drop)
}

fn plan(load: Load, stamps: StampChoice) -> Plan {
    Plan {
        url: "http://localhost/".to_owned(),
        target: Target {
            scheme: "http".to_owned(),
            host: "localhost".to_owned(),
            port: 80,
            path: "/".to_owned(),
            address: "127.0.0.1:80".to_owned(),
        },
        request: RequestPlan {
            method: "GET".to_owned(),
            headers: Vec::new(),
            body_bytes: 0,
            wire_bytes: 0,
        },
        load: Model::ClosedLoop,
        connections: load.connections,
        threads: 1,
        pipeline: load.depth,
        warmup_ns: 0,
        warmup_is_auto: false,
        duration_ns: Some(WINDOW_NS),
        requests: None,
        timeout_ns: TIMEOUT_NS,
        connect_timeout_ns: TIMEOUT_NS,
        pacing: Pacing::Hybrid,
        wait: Wait::Auto,
        tick_ns: None,
        connection: ConnectionPlan::default(),
        io: IoEngine::Simulated,
        stamps,
    }
}
