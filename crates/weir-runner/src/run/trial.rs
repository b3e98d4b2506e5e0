//! Short runs beside the main run that assess the client: its noise floor, and the effect of one
//! more thread on the load. Their requests are in no accounting. And the load over one connection,
//! as the probe and the witness make it.

use std::sync::Arc;

use anyhow::Result;
use weir_engine::{Extras, Job, JobRequests};
use weir_result::{ConnectionLoad, ConnectionPlan, HttpPlan, Plan};

use crate::interrupts::Interrupts;
use crate::observer::Silent;
use crate::run::load::{self, Epoch, LoadEnds, LoadOutcome};

/// Runs a job without an observer; returns `None` if a signal arrived.
pub(crate) fn carry_out(job: Job, interrupts: &Interrupts) -> Result<Option<LoadOutcome>> {
    let outcome = load::carry_out(
        &Arc::new(job),
        &Epoch::start(),
        interrupts,
        None,
        LoadEnds::default(),
        &mut Silent,
    )?;
    Ok(interrupts.received().is_none().then_some(outcome))
}

/// Returns the job with one connection of one thread, without rows and optional measurements. It
/// is a closed loop, as long as the load.
pub(crate) fn single(job: &Job) -> Job {
    let plan = Plan {
        threads: 1,
        http: job.plan.http.map(HttpPlan::one_at_a_time),
        tick_ns: None,
        part: None,
        // The connect rate applies to the load's connections only.
        connection: ConnectionPlan { rate: None, ..job.plan.connection.clone() },
        ..job.plan.clone()
    }
    .with_load(|load| {
        load.duration_ns = job.plan.load.length_ns();
        load.connections = ConnectionLoad::Fixed(1);
        load.in_flight_max = None;
        load.pipeline = 1;
        load.warmup.is_auto = false;
        load.due = None;
    });
    let requests = JobRequests { times: None, ..job.requests.clone() };
    Job { plan, requests, extras: Extras::default(), raw: None, ..job.clone() }
}
