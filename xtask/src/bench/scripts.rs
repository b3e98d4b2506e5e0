//! What scripts cost, how many of them fit, and whether a rate is kept with one.

mod cost;
mod rate;
mod states;

use std::path::PathBuf;

use anyhow::Result;

use super::{Lab, Section};
use crate::shell::root;

/// Where the scripts are, from the root of the repository.
const DIRECTORY: &str = "xtask/src/bench/scripts";

pub(super) fn scripts(lab: &Lab) -> Result<Section> {
    let mut all = Section { title: "what scripts cost", text: String::new(), failures: Vec::new() };
    for (number, part) in [cost::cost, states::states, rate::rate].into_iter().enumerate() {
        let part = part(lab)?;
        let space = if number == 0 { "" } else { "\n" };
        all.text.push_str(&format!("{space}### {}\n\n{}", part.title, part.text));
        all.failures.extend(part.failures);
    }
    Ok(all)
}

/// The words `-s FILE`.
fn flag(script: &str) -> Result<[String; 2]> {
    let file: PathBuf = root()?.join(DIRECTORY).join(script);
    Ok(["-s".to_owned(), file.display().to_string()])
}

/// A script's name that leads to it from the page.
fn link(script: &str) -> String {
    format!("[{script}](../{DIRECTORY}/{script})")
}
