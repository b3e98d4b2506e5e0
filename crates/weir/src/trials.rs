//! Short runs beside the main run that assess the client: its noise floor, and the effect of one
//! more thread on the load. Their requests are in no accounting.

pub(crate) mod prove_client;
pub(crate) mod selfcheck;

use std::sync::Arc;

use anyhow::Result;
use weir_engine::Job;

use crate::interrupts::Interrupts;
use crate::live::Intervals;
use crate::load::{self, Epoch, Outcome};

/// Runs a job without a progress line; returns `None` if a signal arrived.
fn carry_out(job: Job, interrupts: &Interrupts) -> Result<Option<Outcome>> {
    let no_observer = None::<fn(&Intervals)>;
    let outcome = load::carry_out(&Arc::new(job), &Epoch::start(), interrupts, None, no_observer)?;
    Ok(interrupts.received().is_none().then_some(outcome))
}
