//! Short runs beside the run, for those who doubt its client: what weir measures of nothing, and
//! what a thread more makes of the load. Their requests are in no accounting.

pub(crate) mod prove_client;
pub(crate) mod selfcheck;

use std::sync::Arc;

use anyhow::Result;
use weir_engine::Job;

use crate::interrupts::Interrupts;
use crate::live::Intervals;
use crate::load::{self, Epoch, Outcome};

/// Runs a job that nobody follows; `None` when a signal came.
fn carry_out(job: Job, interrupts: &Interrupts) -> Result<Option<Outcome>> {
    let nobody = None::<fn(&Intervals)>;
    let outcome = load::carry_out(&Arc::new(job), &Epoch::start(), interrupts, None, nobody)?;
    Ok(interrupts.received().is_none().then_some(outcome))
}
