//! The laboratory: measures weir on this machine, beside its peers and against known truths, and
//! writes the committed pages of figures. It runs the programs as users do, and reads weir's
//! documents through weir-result; it imports nothing that makes the load.

#![forbid(unsafe_code)]

mod accuracy;
mod bench;
mod guides;
mod picture;
mod rig;
mod statistics;

use std::env;
use std::process::ExitCode;

use anyhow::{Result, bail};
use xtask::measured::{ACCURACY, PERFORMANCE};
use xtask::shell;

use rig::measure;

fn main() -> ExitCode {
    shell::run_task("lab", run)
}

/// Runs a task; `cargo xtask` calls this program, and its help lists them.
fn run(words: &[&str]) -> Result<()> {
    // Cargo starts it in the directory of its workspace; paths are from the repository's root.
    env::set_current_dir(shell::root()?)?;
    match words {
        ["accuracy", options @ ..] => measure(&ACCURACY, accuracy::CASES, options),
        ["bench", options @ ..] => measure(&PERFORMANCE, bench::CASES, options),
        ["guides", names @ ..] => guides::guides(names),
        ["interop", options @ ..] => {
            let options = accuracy::interop_options(options)?;
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            measure(&ACCURACY, accuracy::CASES, &options)
        }
        ["picture"] => picture::picture(),
        ["picture", "report"] => picture::report::pictures(),
        ["statistics"] => statistics::statistics(),
        _ => bail!("unknown task `{}`; `cargo xtask help` lists them", words.join(" ")),
    }
}
