//! Cost of scripts, the number of script states that fit, and the accuracy of the rate with a
//! script.

mod cost;
mod rate;
mod states;

mod flag;

use anyhow::Result;

use crate::rig::{Fixture, Section};

const METHOD: &str = "The cost of a script, the memory of a thousand states, and a constant rate.";

pub(super) fn scripts(fixture: &Fixture) -> Result<Section> {
    let mut section =
        Section::new("what scripts cost", "What do Lua scripts cost, beside wrk's?", METHOD);
    for part in [cost::cost, states::states, rate::rate] {
        part(fixture, &mut section)?;
    }
    section.verdict("Requests per CPU-second, divided by wrk's with the same script:");
    Ok(section)
}
