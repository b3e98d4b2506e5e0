//! Short runs beside the main run that assess the client: its noise floor, and the effect of one
//! more thread on the load. Their requests are in no accounting.

use std::sync::Arc;

use anyhow::Result;
use weir_engine::Job;

use crate::interrupts::Interrupts;
use crate::observer::Silent;
use crate::run::load::{self, Epoch, Outcome};

/// Runs a job without an observer; returns `None` if a signal arrived.
pub(crate) fn carry_out(job: Job, interrupts: &Interrupts) -> Result<Option<Outcome>> {
    let outcome = load::carry_out(&Arc::new(job), &Epoch::start(), interrupts, None, &mut Silent)?;
    Ok(interrupts.received().is_none().then_some(outcome))
}
