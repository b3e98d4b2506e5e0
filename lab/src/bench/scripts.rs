//! Cost of scripts, the number of script states that fit, and the accuracy of the rate with a
//! script.

mod cost;
mod rate;
mod states;

use std::path::PathBuf;

use anyhow::Result;
use xtask::shell::root;

use super::{Fixture, Section};

/// Directory of the scripts, from the root of the repository.
const DIRECTORY: &str = "lab/src/bench/scripts";

pub(super) fn scripts(fixture: &Fixture) -> Result<Section> {
    let mut all = Section { title: "what scripts cost", text: String::new(), failures: Vec::new() };
    for (number, part) in [cost::cost, states::states, rate::rate].into_iter().enumerate() {
        let part = part(fixture)?;
        let space = if number == 0 { "" } else { "\n" };
        all.text.push_str(&format!("{space}### {}\n\n{}", part.title, part.text));
        all.failures.extend(part.failures);
    }
    Ok(all)
}

/// Returns the words `-s FILE`.
fn flag(script: &str) -> Result<[String; 2]> {
    let file: PathBuf = root()?.join(DIRECTORY).join(script);
    Ok(["-s".to_owned(), file.display().to_string()])
}

/// Returns a Markdown link from the page to the script.
fn link(script: &str) -> String {
    format!("[{script}](../{DIRECTORY}/{script})")
}
