//! Cost of scripts, the number of script states that fit, and the accuracy of the rate with a
//! script.

mod cost;
mod rate;
mod states;

use std::path::PathBuf;

use anyhow::Result;
use xtask::shell::root;

use super::Fixture;
use crate::rig::section::Section;

/// Directory of the scripts, from the root of the repository.
const DIRECTORY: &str = "lab/src/bench/scripts";

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

/// Returns the words `-s FILE`.
fn flag(script: &str) -> Result<[String; 2]> {
    let file: PathBuf = root()?.join(DIRECTORY).join(script);
    Ok(["-s".to_owned(), file.display().to_string()])
}
